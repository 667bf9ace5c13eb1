//===- EntryPoint.h - a function under construction by names ----*- C++ -*-===//
//
// An entry point of a program: every argument is a tensor of the program, known by its name, and every result is what
// one of them holds afterwards.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_LIB_TRANSFORMS_ENTRYPOINT_H
#define SMET_LIB_TRANSFORMS_ENTRYPOINT_H

#include "smet/Transforms/Passes.h"

#include "mlir/IR/IRMapping.h"

namespace smet {

class EntryPoint {
public:
  /// A new public function at the builder's position, without arguments and results.
  EntryPoint(mlir::OpBuilder &module, mlir::Location loc, llvm::StringRef name);

  /// Appends a read-only argument; `attrs` are carried along. A name that is taken is an error of `finish`.
  mlir::Value add(llvm::StringRef name, llvm::StringRef role, mlir::Type type, mlir::DictionaryAttr attrs = {});
  mlir::Value get(llvm::StringRef name) const { return byName.lookup(name); }

  /// Appends the arguments of `source` that are not there yet, with their attributes.
  mlir::LogicalResult addArgumentsOf(mlir::func::FuncOp source);

  /// Copies the body of `source`, whose arguments are all there; returns what it returns. The result that `source`
  /// calls R is written to the argument of that name, appended where it is missing, and is returned by this function
  /// too if `isOutput` says so of R.
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> inlineBody(mlir::func::FuncOp source,
                                                             llvm::function_ref<bool(llvm::StringRef)> isOutput);

  /// The argument `name` is written and holds `value` at the end. A second value for it is an error of `finish`.
  void returns(llvm::StringRef name, mlir::Value value);

  /// Emits the return; the function is complete. Fails where two arguments or two results had one name.
  mlir::LogicalResult finish();

  mlir::OpBuilder b; ///< at the end of the body

private:
  mlir::LogicalResult setDestination(mlir::Value result, llvm::StringRef name, mlir::DictionaryAttr attrs);

  mlir::func::FuncOp function;
  llvm::StringMap<mlir::Value> byName;
  llvm::SmallVector<mlir::Value> results;
  llvm::SmallVector<llvm::StringRef> resultNames;
  bool good = true;
};

} // namespace smet

#endif // SMET_LIB_TRANSFORMS_ENTRYPOINT_H
