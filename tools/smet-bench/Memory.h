//===- Memory.h - the memory of this process --------------------*- C++ -*-===//
#ifndef SMET_TOOLS_BENCH_MEMORY_H
#define SMET_TOOLS_BENCH_MEMORY_H

namespace smet::bench {

/// The most bytes of this process in memory while it lives: what came before is not counted. Where the system keeps no
/// such mark or cannot reset it, bytes() are what is resident when it is called.
class PeakMemory {
public:
  PeakMemory();
  double bytes() const;

private:
  bool isReset;
};

} // namespace smet::bench

#endif // SMET_TOOLS_BENCH_MEMORY_H
