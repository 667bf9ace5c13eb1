//===- Pipelines.h - from a module to a program, stage by stage -*- C++ -*-===//
//
// Named pipelines of smet-opt and the compiler. Each is a sequence of stages:
//
//   kernels    entry points on tensors -> dispatches of kernel modules, everything on memrefs, state in place (checked)
//   target     the bodies of the kernels -> loops
//   memory     scratch and buffers get their place in the arena; the manifest is written
//   llvm       entry points and kernels -> LLVM dialect
//
// `smet-to-reference`, `smet-to-cpu` and `smet-to-gpu` run kernels, target and memory; `smet-to-llvm` follows the first
// two, `smet-to-emulator` or `smet-to-cuda` the third.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_PIPELINES_PIPELINES_H
#define SMET_PIPELINES_PIPELINES_H

#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassOptions.h"

namespace smet {

/// What generated code is shaped by.
struct CPUPipelineOptions : mlir::PassPipelineOptions<CPUPipelineOptions> {
  Option<int64_t> tile{*this, "tile", llvm::cl::desc("tokens in a packed tile"), llvm::cl::init(64)};
  Option<int64_t> vectorBits{*this, "vector-bits", llvm::cl::desc("width of vector registers"), llvm::cl::init(512)};
  Option<int64_t> numRegisters{*this, "num-registers", llvm::cl::desc("number of vector registers"),
                               llvm::cl::init(32)};
};

/// Model level to entry points: forward -> init, train_step, eval_step, update_topology (or prefill and decode).
/// `widenValues`: sparse products get values in f32; GPUs multiply what is stored.
void buildEntryPointPipeline(mlir::OpPassManager &pm, bool widenValues = true);
/// Where topologies are updated.
enum class TopologyUpdates { Host, Device };
/// Entry points to dispatches on memrefs, in place; ends with the contract.
void buildKernelPipeline(mlir::OpPassManager &pm, TopologyUpdates updates = TopologyUpdates::Host);
/// Workspace and arena.
void buildMemoryPipeline(mlir::OpPassManager &pm);
/// Entry points to lists of calls in the LLVM dialect; the kernels that they call can be apart from then on.
/// `onDevice`: the arena is a device's memory.
void buildCallsPipeline(mlir::OpPassManager &pm, bool onDevice = false);
/// The module of one kernel to the LLVM dialect.
void buildKernelToLLVMPipeline(mlir::OpPassManager &kernel);
/// Both: the entry points in the top module, each kernel in its own.
void buildLLVMPipeline(mlir::OpPassManager &pm);

void buildReferencePipeline(mlir::OpPassManager &pm);
void buildCPUPipeline(mlir::OpPassManager &pm, const CPUPipelineOptions &options);

/// Kernels that launch others on a GPU.
void buildGPUPipeline(mlir::OpPassManager &pm);

/// Kernels of a gpu.module on memrefs of static shape to the LLVM and NVVM dialects, as they go to PTX: memrefs become
/// bare pointers.
void buildGPUToNVVMPipeline(mlir::OpPassManager &gpuModule);

struct EmulatorPipelineOptions : mlir::PassPipelineOptions<EmulatorPipelineOptions> {
  Option<bool> check{*this, "check", llvm::cl::desc("announce every load and store, count operations"),
                     llvm::cl::init(false)};
};
/// The same, then to functions of the host.
void buildGPUToEmulatorPipeline(mlir::OpPassManager &pm, const EmulatorPipelineOptions &options);
/// The module of one kernel that smet-to-gpu left to the LLVM dialect, with the kernels that it launches for the
/// emulator.
void buildEmulatedKernelToLLVMPipeline(mlir::OpPassManager &kernel, const EmulatorPipelineOptions &options);

struct CUDAPipelineOptions : mlir::PassPipelineOptions<CUDAPipelineOptions> {
  Option<std::string> chip{*this, "chip", llvm::cl::desc("the chip, as sm_80 or sm_90a"), llvm::cl::init("sm_90a")};
  Option<std::string> features{*this, "features", llvm::cl::desc("version of PTX, as +ptx80 (default: by the chip)")};
  Option<std::string> format{*this, "format", llvm::cl::desc("isa, bin or fatbin"), llvm::cl::init("bin")};
};
/// Kernels of gpu.modules to images in the module around them.
void buildGPUToCUDAPipeline(mlir::OpPassManager &pm, const CUDAPipelineOptions &options);
/// The module of one kernel that smet-to-gpu left to the LLVM dialect, with the images of the kernels that it launches.
void buildCUDAKernelToLLVMPipeline(mlir::OpPassManager &kernel, const CUDAPipelineOptions &options);

/// Makes the pipelines known by name to smet-opt.
void registerPipelines();

} // namespace smet

#endif // SMET_PIPELINES_PIPELINES_H
