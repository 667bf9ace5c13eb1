//===- Abi.h - what an emulated GPU kernel and the emulator agree on -*- C -*-===//
//
// For the target gpu-emulator, a GPU kernel is compiled for the host: what a thread of the GPU would execute is a
// function of a `smet_emulator`, through which it reaches its place in the grid, the shared memory of its block and
// everything that a host has no instruction for. Plain loads and stores stay what they are; a kernel compiled for
// checking announces each by `access` first. `site` is an index into the kernel's table of source locations.
//
// This header is plain C; lib/Conversion and runtime/ both include it. Operations are those of PTX ISA 8.0, sections
// named at each.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_EMULATOR_ABI_H
#define SMET_RUNTIME_EMULATOR_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct smet_emulator smet_emulator;

/// One thread from its first instruction to its last; arguments[i] points at the value of argument i.
typedef void (*smet_emulated_kernel)(smet_emulator *emulator, void *const *arguments);

enum smet_access_kind { SMET_ACCESS_LOAD = 0, SMET_ACCESS_STORE = 1 };

/// shfl.sync's modes (9.7.9.6).
enum smet_shuffle_mode { SMET_SHUFFLE_UP = 0, SMET_SHUFFLE_DOWN = 1, SMET_SHUFFLE_XOR = 2, SMET_SHUFFLE_INDEX = 3 };

struct smet_emulator {
  /// Of the running thread: x, y, z.
  uint32_t thread[3], block_size[3], block[3], grid_size[3];
  /// The shared memory of its block; 256 KiB-aligned, so that an address's lower 18 bits are its offset.
  char *shared;
  /// Kernels compiled for checking add the floating-point operations that they execute.
  int64_t flops;

  /// bar.sync id, threads (9.7.13.1). threads = 0: all of the block.
  void (*barrier)(smet_emulator *, int32_t site, int32_t id, int32_t threads);
  /// bar.warp.sync (9.7.13.2).
  void (*warp_sync)(smet_emulator *, int32_t site, uint32_t mask);
  /// shfl.sync: the value in the low half, bit 32 says whether the source lane was in range.
  uint64_t (*shuffle)(smet_emulator *, int32_t site, int32_t mode, uint32_t mask, uint32_t value, uint32_t lane,
                      uint32_t clamp);
  /// mma.sync.m16n8k16.row.col.f32.bf16.bf16.f32 (9.7.14.4.8): d = a b + c. Fragments: a 4, b 2 words, c and d 4
  /// floats.
  void (*mma_m16n8k16_bf16)(smet_emulator *, int32_t site, const uint32_t *a, const uint32_t *b, const float *c,
                            float *d);
  /// ldmatrix.m8n8.x{count}[.trans].shared.b16 (9.7.14.4.15): `row` of lanes 8 i to 8 i + 7 are those of matrix i;
  /// `count` words to `fragment`.
  void (*ldmatrix)(smet_emulator *, int32_t site, int32_t count, int32_t transposed, const void *row,
                   uint32_t *fragment);
  /// cp.async of 4, 8 or 16 bytes (9.7.8.22.1): `valid` of them from global memory, zeros behind. Complete at any time
  /// up to the wait for their group.
  void (*cp_async)(smet_emulator *, int32_t site, void *shared, const void *global, int32_t bytes, int32_t valid);
  void (*cp_async_commit)(smet_emulator *, int32_t site);
  /// Waits for all committed groups but the last `pending`.
  void (*cp_async_wait)(smet_emulator *, int32_t site, int32_t pending);
  /// Before a load or store of `bytes` bytes. `argument`: the kernel argument that the address comes from, if known,
  /// else -1.
  void (*access)(smet_emulator *, int32_t site, const void *address, int32_t bytes, int32_t kind, int32_t argument);
};

/// Indices of the functions above, in units of pointers from `barrier` on.
enum smet_emulator_slot {
  SMET_EMULATOR_BARRIER = 0,
  SMET_EMULATOR_WARP_SYNC = 1,
  SMET_EMULATOR_SHUFFLE = 2,
  SMET_EMULATOR_MMA_M16N8K16_BF16 = 3,
  SMET_EMULATOR_LDMATRIX = 4,
  SMET_EMULATOR_CP_ASYNC = 5,
  SMET_EMULATOR_CP_ASYNC_COMMIT = 6,
  SMET_EMULATOR_CP_ASYNC_WAIT = 7,
  SMET_EMULATOR_ACCESS = 8,
};

#ifdef __cplusplus
}
#endif

#endif // SMET_RUNTIME_EMULATOR_ABI_H
