//===- NN.cpp - the nn dialect --------------------------------------------===//
#include "smet/Dialect/NN/IR/NN.h"

using namespace mlir;
using namespace smet::nn;

#include "smet/Dialect/NN/IR/NNDialect.cpp.inc"
#define GET_OP_CLASSES
#include "smet/Dialect/NN/IR/NNOps.cpp.inc"

void NNDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "smet/Dialect/NN/IR/NNOps.cpp.inc"
      >();
}
