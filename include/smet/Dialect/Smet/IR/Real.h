//===- Real.h - a double as an attribute parameter --------------*- C++ -*-===//
//
// A double that hashes and compares by its bits, as attribute storage needs.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_DIALECT_SMET_IR_REAL_H
#define SMET_DIALECT_SMET_IR_REAL_H

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/APFloat.h"

namespace smet {

struct Real {
  double value;

  Real(double value) : value(value) {}
  uint64_t bits() const { return llvm::bit_cast<uint64_t>(value); }
  bool operator==(const Real &other) const { return bits() == other.bits(); }
};

inline llvm::hash_code hash_value(const Real &real) { return llvm::hash_value(real.bits()); }

inline mlir::AsmPrinter &operator<<(mlir::AsmPrinter &printer, const Real &real) {
  printer.printFloat(llvm::APFloat(real.value));
  return printer;
}

} // namespace smet

template <> struct mlir::FieldParser<smet::Real> {
  static FailureOr<smet::Real> parse(AsmParser &parser) {
    double value;
    if (parser.parseFloat(value))
      return failure();
    return smet::Real(value);
  }
};

#endif // SMET_DIALECT_SMET_IR_REAL_H
