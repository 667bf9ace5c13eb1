//===- Traffic.h - what a kernel moves through memory -----------*- C++ -*-===//
//
// The accesses of a warp's threads to one instruction, taken together as the hardware takes them: global memory in
// sectors of 32 bytes, shared memory in passes over 32 banks of 4 bytes.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_EMULATOR_TRAFFIC_H
#define SMET_RUNTIME_EMULATOR_TRAFFIC_H

#include <array>
#include <cstdint>
#include <map>
#include <vector>

namespace smet::rt {

/// What a launch did, all of its blocks together.
struct KernelCounters {
  int64_t globalLoadBytes = 0, globalStoreBytes = 0;     ///< asked for
  int64_t globalLoadSectors = 0, globalStoreSectors = 0; ///< moved, 32 bytes each
  int64_t sharedPasses = 0;                              ///< over the banks
  int64_t sharedConflicts = 0;                           ///< of these, more than the bytes need
  int64_t flops = 0;                                     ///< on vectors and scalars
  int64_t mmas = 0;                                      ///< mma.sync of 16 x 8 x 16, 4,096 FLOPs each

  KernelCounters &operator+=(const KernelCounters &other);
};

class Traffic {
public:
  /// Execution number `turn` of an instruction by a lane of a warp.
  struct Access {
    int warp, lane;
    int32_t site;
    uint32_t turn;
    uint64_t address; ///< shared: the offset
    int32_t bytes;
    bool isStore, isShared;
  };
  void add(const Access &access);
  /// A block has ended: what its warps did is counted.
  void finishBlock();

  KernelCounters counters;

private:
  struct Key {
    int warp;
    int32_t site;
    uint32_t turn;
    auto operator<=>(const Key &) const = default;
  };
  static constexpr int warpLanes = 32;
  struct Lanes {
    std::array<uint64_t, warpLanes> addresses; ///< by lane: threads run in any order
    uint32_t present = 0;                      ///< lanes, a bit each
    int32_t bytes = 0;
    bool isStore = false, isShared = false;
  };
  static int64_t passes(const Lanes &lanes);
  void count(const Lanes &lanes);

  std::map<Key, Lanes> open;
};

} // namespace smet::rt

#endif // SMET_RUNTIME_EMULATOR_TRAFFIC_H
