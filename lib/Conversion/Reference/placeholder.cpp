#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SparseTensor/IR/SparseTensor.h"
#include "smet/Conversion/Reference.h"
#include "smet/Dialect/Smet/IR/Smet.h"
namespace smet {
#define GEN_PASS_DEF_CONVERTKERNELSTOREFERENCEPASS
#include "smet/Conversion/Passes.h.inc"
} // namespace smet
namespace {
struct P : smet::impl::ConvertKernelsToReferencePassBase<P> {
  void runOnOperation() final {}
};
} // namespace
