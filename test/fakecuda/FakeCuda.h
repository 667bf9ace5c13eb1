//===- FakeCuda.h - images for the stand-in of NVIDIA's driver --*- C -*-===//
//
// libfakecuda.so exports the functions of libcuda.so.1 that the runtime uses, on host memory, for tests on machines
// without a GPU; SMET_CUDA_DRIVER names it. An "image" of it is a table of host functions. What would go wrong on a
// card goes wrong here: memory of the device is not accessible but inside the driver; kernels and copies from pinned
// memory happen when they are waited for; argument values are taken when a kernel is launched or captured.
//
// $SMET_FAKE_CUDA, read by cuInit, is a list of settings such as "version=11040,devices=0":
//
//   version, devices, major, minor   what it reports; CUDA 12.4, one device of compute capability 9.0
//   memory                           bytes of the device, all free; 1 GiB
//   init                             the result of cuInit
//   fail-alloc                       != 0: cuMemAlloc answers that memory is out
//   fail-launch                      n > 0: the n-th kernel to run ends with an illegal address, and everything after
//   it
//
//===----------------------------------------------------------------------===//
#ifndef SMET_TEST_FAKECUDA_FAKECUDA_H
#define SMET_TEST_FAKECUDA_FAKECUDA_H

#include <stdint.h>

/// Of the whole grid.
struct fake_launch {
  unsigned grid[3], block[3];
  unsigned shared_bytes;
};

struct fake_function {
  const char *name;
  void (*run)(const struct fake_launch *launch, void **arguments);
  int count;             ///< arguments
  const int32_t *widths; ///< bytes of each
};

struct fake_image {
  char magic[8]; ///< "FAKECUDA"
  int32_t major; ///< the only compute capability that it is for; 0: any
  int32_t count;
  const struct fake_function *functions;
};

/// What the driver has done since cuInit, and what it holds.
struct fake_counts {
  int64_t kernels;        ///< that ran
  int64_t launches;       ///< outside of captures
  int64_t graph_launches; ///< of whole graphs
  int64_t captures;
  int64_t modules; ///< loaded in all
  int64_t live;    ///< contexts, allocations, streams, modules and graphs that were not given back
};

/// Exported by the library.
typedef struct fake_counts (*fake_cuda_counts)(void); // fake_cuda_counts_now

#endif // SMET_TEST_FAKECUDA_FAKECUDA_H
