//===- InitAll.cpp - everything that tools register -----------------------===//
#include "smet/InitAll.h"

#include "smet/Conversion/CPU.h"
#include "smet/Conversion/CUDA.h"
#include "smet/Conversion/Emulator.h"
#include "smet/Conversion/GPU.h"
#include "smet/Conversion/Program.h"
#include "smet/Conversion/Reference.h"
#include "smet/Pipelines/Pipelines.h"
#include "smet/Transforms/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

namespace smet {
#define GEN_PASS_REGISTRATION
#include "smet/Conversion/Passes.h.inc"
} // namespace smet

void smet::registerAllDialects(mlir::DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  registry.insert<SmetDialect, nn::NNDialect>();
  registerBufferizableOpInterfaceExternalModels(registry);
  mlir::registerBuiltinDialectTranslation(registry);
  mlir::registerLLVMDialectTranslation(registry);
  mlir::registerGPUDialectTranslation(registry);
  mlir::registerNVVMDialectTranslation(registry);
}

void smet::registerAllPasses() {
  mlir::registerAllPasses();
  registerSmetTransformsPasses();
  registerSmetConversionPasses();
  registerPipelines();
}
