//===- Machine.h - what this machine can do ---------------------*- C++ -*-===//
#ifndef SMET_TOOLS_BENCH_MACHINE_H
#define SMET_TOOLS_BENCH_MACHINE_H

#include "runtime/cpu/ThreadPool.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <string>

namespace smet::bench {

/// Limits of `threads` cores working at once, the best of a few tries.
struct Machine {
  std::string processor; ///< its name
  int threads = 1;
  double fmaPeak = 0;         ///< f32 FMAs in registers, FLOP/s
  double readBandwidth = 0;   ///< bytes/s of the sum of an array of four times the last-level cache
  double updateBandwidth = 0; ///< bytes/s, read and written, of y = a x + y on the halves of this array

  /// What an op's bytes are held against: the larger one.
  double bandwidth() const { return std::max(readBandwidth, updateBandwidth); }

  static Machine measure(rt::ThreadPool &pool);
  std::string describe() const;
  nlohmann::json toJson() const;
};

} // namespace smet::bench

#endif // SMET_TOOLS_BENCH_MACHINE_H
