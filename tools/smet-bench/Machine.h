//===- Machine.h - what this machine can do ---------------------*- C++ -*-===//
#ifndef SMET_TOOLS_BENCH_MACHINE_H
#define SMET_TOOLS_BENCH_MACHINE_H

#include "runtime/cpu/ThreadPool.h"

#include <nlohmann/json.hpp>

#include <string>

namespace smet::bench {

/// Limits of `threads` cores working at once, the best of a few tries.
struct Machine {
  std::string processor; ///< its name
  int threads = 1;
  double fmaPeak = 0;   ///< f32 FMAs in registers, FLOP/s
  double bandwidth = 0; ///< bytes/s read from an array of 256 MiB, beyond the caches of most machines

  static Machine measure(rt::ThreadPool &pool);
  std::string describe() const;
  nlohmann::json toJson() const;
};

} // namespace smet::bench

#endif // SMET_TOOLS_BENCH_MACHINE_H
