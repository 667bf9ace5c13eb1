//===- TuningProgram.h - a sparse product in many ways ----------*- C++ -*-===//
//
// Without headers of LLVM, for those who run it.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_COMPILER_TUNINGPROGRAM_H
#define SMET_COMPILER_TUNINGPROGRAM_H

#include <cstdint>
#include <string>
#include <vector>

namespace smet {

/// A program file whose entry points "c0", "c1", ... compute the same sparse product. Its topology is the tensor "t":
/// nnz blocks [blockRows x blockCols] of a matrix of rows x cols.
struct TuningProgram {
  std::string path;
  int64_t entryPoints;
  int64_t rows, cols, blockRows, blockCols, nnz;
};

/// Seconds of every entry point, round by round: as many rounds for each, at least one.
using TuningSeconds = std::vector<std::vector<double>>;

} // namespace smet

#endif // SMET_COMPILER_TUNINGPROGRAM_H
