//===- smet-opt.cpp - run passes and pipelines on IR ----------------------===//
#include "smet/Dialect/NN/IR/NN.h"
#include "smet/Dialect/Smet/IR/Smet.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  registry.insert<smet::SmetDialect, smet::nn::NNDialect>();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "smet optimizer driver\n", registry));
}
