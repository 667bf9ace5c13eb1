//===- smet-opt.cpp - run passes and pipelines on IR ----------------------===//
#include "smet/InitAll.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  smet::registerAllDialects(registry);
  smet::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "smet optimizer driver\n", registry));
}
