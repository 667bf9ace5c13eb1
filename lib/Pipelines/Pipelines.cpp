//===- Pipelines.cpp - from a module to a program, stage by stage ---------===//
#include "smet/Pipelines/Pipelines.h"

#include "smet/Conversion/CPU.h"
#include "smet/Conversion/CUDA.h"
#include "smet/Conversion/Emulator.h"
#include "smet/Conversion/GPU.h"
#include "smet/Conversion/Program.h"
#include "smet/Conversion/Reference.h"
#include "smet/Transforms/Passes.h"

#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;
using namespace smet;

void smet::buildEntryPointPipeline(OpPassManager &pm, bool widenValues) {
  pm.addPass(createDifferentiatePass());
  pm.addPass(createBuildStepsPass());
  LowerLinearPassOptions linear;
  linear.widenValues = widenValues;
  pm.addNestedPass<func::FuncOp>(createLowerLinearPass(linear));
  pm.addNestedPass<func::FuncOp>(createFuseOptimizerPass());
  pm.addNestedPass<func::FuncOp>(createFuseLossPass());
}

static void addBufferization(OpPassManager &pm) {
  bufferization::OneShotBufferizePassOptions options;
  options.bufferizeFunctionBoundaries = true;
  options.functionBoundaryTypeConversion = bufferization::LayoutMapOption::IdentityLayoutMap;
  pm.addPass(bufferization::createOneShotBufferizePass(options));
  pm.addPass(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(createVerifyContractPass());
}

// No CSE before bufferization: it would merge the destinations of different outputs and with them their lifetimes.
void smet::buildKernelPipeline(OpPassManager &pm, TopologyUpdates updates) {
  pm.addPass(createOutlineKernelsPass());
  pm.addPass(createExpandTopologyPass());
  if (updates == TopologyUpdates::Device)
    pm.addPass(createOutlineRoutinesPass());
  pm.addPass(createCanonicalizerPass());
  pm.addNestedPass<func::FuncOp>(createSchedulePass());
  addBufferization(pm);
  addBufferization(pm.nest<ModuleOp>()); // bufferization does not enter nested modules
}

void smet::buildMemoryPipeline(OpPassManager &pm) {
  pm.addPass(createHoistWorkspacePass());
  pm.addPass(createPlanMemoryPass());
  pm.addPass(createCanonicalizerPass());
}

void smet::buildCallsPipeline(OpPassManager &pm, bool onDevice) {
  LowerEntryPointsPassOptions options;
  options.onDevice = onDevice;
  pm.addPass(createLowerEntryPointsPass(options));
}

/// What is around the launches of a kernel, after smet-lower-kernel.
static void addHostToLLVM(OpPassManager &kernel) {
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  kernel.addPass(memref::createExpandStridedMetadataPass());
  kernel.addPass(createLowerAffinePass());
  kernel.addPass(arith::createArithExpandOpsPass());
  kernel.addPass(createSCFToControlFlowPass());
  ConvertVectorToLLVMPassOptions vector;
  vector.x86Vector = false;
  kernel.addPass(createConvertVectorToLLVMPass(vector));
  kernel.addPass(createConvertToLLVMPass());
  kernel.addPass(createReconcileUnrealizedCastsPass());
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
}

void smet::buildKernelToLLVMPipeline(OpPassManager &kernel) {
  kernel.addPass(createLowerKernelPass());
  kernel.addPass(createExpandMathPass());
  addHostToLLVM(kernel);
}

void smet::buildLLVMPipeline(OpPassManager &pm) {
  buildCallsPipeline(pm);
  buildKernelToLLVMPipeline(pm.nest<ModuleOp>());
}

void smet::buildReferencePipeline(OpPassManager &pm) {
  buildKernelPipeline(pm);
  buildReferenceKernelPipeline(pm.nest<ModuleOp>());
  buildMemoryPipeline(pm);
}

void smet::buildCPUPipeline(OpPassManager &pm, const CPUPipelineOptions &options) {
  PackTokensPassOptions pack;
  pack.tile = options.tile;
  pm.addNestedPass<func::FuncOp>(createPackTokensPass(pack));
  buildKernelPipeline(pm);
  ConvertKernelsToCPUPassOptions cpu;
  cpu.vectorBits = options.vectorBits;
  cpu.numRegisters = options.numRegisters;
  OpPassManager &kernel = pm.nest<ModuleOp>();
  kernel.addPass(createConvertKernelsToCPUPass(cpu));
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  buildMemoryPipeline(pm);
}

void smet::buildGPUPipeline(OpPassManager &pm) {
  PackTokensPassOptions pack;
  pack.whole = true;
  pm.addNestedPass<func::FuncOp>(createPackTokensPass(pack));
  buildKernelPipeline(pm, TopologyUpdates::Device);
  OpPassManager &kernel = pm.nest<ModuleOp>();
  kernel.addPass(createConvertKernelsToGPUPass());
  kernel.addPass(createCanonicalizerPass());
  kernel.addPass(createCSEPass());
  buildMemoryPipeline(pm);
}

void smet::buildGPUToNVVMPipeline(OpPassManager &gpuModule) {
  gpuModule.addPass(createConvertMathToIntrinsicsPass());
  gpuModule.addPass(createCanonicalizerPass());
  gpuModule.addPass(createCSEPass());
  gpuModule.addPass(memref::createExpandStridedMetadataPass());
  gpuModule.addPass(createLowerAffinePass());
  gpuModule.addPass(arith::createArithExpandOpsPass());
  gpuModule.addPass(createSCFToControlFlowPass());
  gpuModule.addPass(createConvertVectorToLLVMPass());
  gpuModule.addPass(createConvertNVGPUToNVVMPass());
  ConvertGpuOpsToNVVMOpsOptions nvvm;
  nvvm.useBarePtrCallConv = true;
  gpuModule.addPass(createConvertGpuOpsToNVVMOps(nvvm));
  gpuModule.addPass(createReconcileUnrealizedCastsPass());
  gpuModule.addPass(createCanonicalizerPass());
  gpuModule.addPass(createCSEPass());
}

void smet::buildGPUToEmulatorPipeline(OpPassManager &pm, const EmulatorPipelineOptions &options) {
  buildGPUToNVVMPipeline(pm.nest<gpu::GPUModuleOp>());
  ConvertGPUToEmulatorPassOptions emulator;
  emulator.check = options.check;
  pm.addPass(createConvertGPUToEmulatorPass(emulator));
}

void smet::buildGPUToCUDAPipeline(OpPassManager &pm, const CUDAPipelineOptions &options) {
  buildGPUToNVVMPipeline(pm.nest<gpu::GPUModuleOp>());
  ConvertGPUToCUDAPassOptions cuda;
  cuda.chip = options.chip;
  cuda.features = options.features;
  cuda.format = options.format;
  pm.addPass(createConvertGPUToCUDAPass(cuda));
}

/// Launches of a kernel become calls, their bodies kernels of a gpu.module.
static void addLaunches(OpPassManager &kernel) {
  kernel.addPass(createOutlineLaunchesPass());
  kernel.addPass(createLowerKernelPass());
  kernel.addPass(createExpandMathPass());
}

// convert-to-llvm would make text of PTX of some instructions: they are gone by then.
void smet::buildEmulatedKernelToLLVMPipeline(OpPassManager &kernel, const EmulatorPipelineOptions &options) {
  addLaunches(kernel);
  buildGPUToEmulatorPipeline(kernel, options);
  addHostToLLVM(kernel);
}

void smet::buildCUDAKernelToLLVMPipeline(OpPassManager &kernel, const CUDAPipelineOptions &options) {
  addLaunches(kernel);
  buildGPUToCUDAPipeline(kernel, options);
  addHostToLLVM(kernel);
}

void smet::registerPipelines() {
  PassPipelineRegistration<>("smet-to-entry-points",
                             "a forward function becomes the entry points of a program (model level, tensors)",
                             [](OpPassManager &pm) { buildEntryPointPipeline(pm); });
  PassPipelineRegistration<>("smet-to-kernels", "entry points become dispatches of kernels, in place on memrefs",
                             [](OpPassManager &pm) { buildKernelPipeline(pm); });
  PassPipelineRegistration<>("smet-to-reference",
                             "entry points to kernels through sparse_tensor and linalg, and the arena",
                             buildReferencePipeline);
  PassPipelineRegistration<CPUPipelineOptions>(
      "smet-to-cpu", "entry points to vector kernels on packed token tiles, and the arena", buildCPUPipeline);
  PassPipelineRegistration<>("smet-to-llvm", "what smet-to-reference or smet-to-cpu left becomes LLVM dialect",
                             buildLLVMPipeline);
  PassPipelineRegistration<>("smet-to-gpu",
                             "entry points to launches of GPU kernels on feature-major arrays, and the arena",
                             buildGPUPipeline);
  PassPipelineRegistration<EmulatorPipelineOptions>(
      "smet-to-emulator",
      "what smet-to-gpu left becomes LLVM dialect, its GPU kernels functions of the host's emulator",
      [](OpPassManager &pm, const EmulatorPipelineOptions &options) {
        buildCallsPipeline(pm);
        buildEmulatedKernelToLLVMPipeline(pm.nest<ModuleOp>(), options);
      });
  PassPipelineRegistration<CUDAPipelineOptions>(
      "smet-to-cuda", "what smet-to-gpu left becomes LLVM dialect, its GPU kernels images for a chip",
      [](OpPassManager &pm, const CUDAPipelineOptions &options) {
        buildCallsPipeline(pm, /*onDevice=*/true);
        buildCUDAKernelToLLVMPipeline(pm.nest<ModuleOp>(), options);
      });
  PassPipelineRegistration<CUDAPipelineOptions>("smet-gpu-to-cuda", "kernels of gpu.modules become images for a chip",
                                                buildGPUToCUDAPipeline);
  PassPipelineRegistration<EmulatorPipelineOptions>("smet-gpu-to-emulator",
                                                    "kernels of gpu.modules become functions of the host's emulator",
                                                    buildGPUToEmulatorPipeline);
}
