//===- Driver.h - NVIDIA's driver, opened at run time -----------*- C++ -*-===//
//
// The functions of the CUDA driver API that the runtime uses, declared here, so that it is built without CUDA's headers
// and runs where there is no driver. Types and numbers are those of cuda.h (CUDA 12), whose documentation holds; the
// symbols are versions of its functions that do not change any more.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_CUDA_DRIVER_H
#define SMET_RUNTIME_CUDA_DRIVER_H

#include "runtime/support/Error.h"

#include <cstddef>
#include <cstdint>

namespace smet::rt::cuda {

using Result = int;
using DeviceId = int;
using Address = unsigned long long; ///< in the card's memory
using PrimaryContext = struct PrimaryContextTag *;
using Stream = struct StreamTag *;
using Module = struct ModuleTag *;
using Function = struct FunctionTag *;
using Graph = struct GraphTag *;
using GraphExec = struct GraphExecTag *;

inline constexpr Result kSuccess = 0, kOutOfMemory = 2, kNoDevice = 100, kInvalidImage = 200, kNoBinaryForGpu = 209,
                        kInvalidPtx = 218, kUnsupportedPtxVersion = 222;
/// Attributes of a device and of a function.
inline constexpr int kComputeCapabilityMajor = 75, kComputeCapabilityMinor = 76, kMaxDynamicSharedBytes = 8;
inline constexpr unsigned kNonBlocking = 1; ///< a stream that does not wait for the default one
inline constexpr int kThreadLocalCapture = 1;

/// The first version that will do: cubins and PTX are those of CUDA 12.0, whose first driver for Linux is 525.
inline constexpr int kMinVersion = 12000;

/// X(member, symbol, arguments)
#define SMET_CUDA_DRIVER_FUNCTIONS(X)                                                                                  \
  X(init, "cuInit", (unsigned flags))                                                                                  \
  X(getErrorName, "cuGetErrorName", (Result, const char **))                                                           \
  X(getErrorString, "cuGetErrorString", (Result, const char **))                                                       \
  X(deviceGetCount, "cuDeviceGetCount", (int *))                                                                       \
  X(deviceGet, "cuDeviceGet", (DeviceId *, int ordinal))                                                               \
  X(deviceGetName, "cuDeviceGetName", (char *, int bytes, DeviceId))                                                   \
  X(deviceGetAttribute, "cuDeviceGetAttribute", (int *, int attribute, DeviceId))                                      \
  X(contextRetain, "cuDevicePrimaryCtxRetain", (PrimaryContext *, DeviceId))                                           \
  X(contextRelease, "cuDevicePrimaryCtxRelease_v2", (DeviceId))                                                        \
  X(contextSetCurrent, "cuCtxSetCurrent", (PrimaryContext))                                                            \
  X(memGetInfo, "cuMemGetInfo_v2", (size_t * free, size_t * total))                                                    \
  X(memAlloc, "cuMemAlloc_v2", (Address *, size_t))                                                                    \
  X(memFree, "cuMemFree_v2", (Address))                                                                                \
  X(memHostAlloc, "cuMemHostAlloc", (void **, size_t, unsigned flags))                                                 \
  X(memFreeHost, "cuMemFreeHost", (void *))                                                                            \
  X(memcpyToDevice, "cuMemcpyHtoDAsync_v2", (Address, const void *, size_t, Stream))                                   \
  X(memcpyToHost, "cuMemcpyDtoHAsync_v2", (void *, Address, size_t, Stream))                                           \
  X(memset, "cuMemsetD8Async", (Address, unsigned char, size_t, Stream))                                               \
  X(streamCreate, "cuStreamCreate", (Stream *, unsigned flags))                                                        \
  X(streamDestroy, "cuStreamDestroy_v2", (Stream))                                                                     \
  X(streamSynchronize, "cuStreamSynchronize", (Stream))                                                                \
  X(moduleLoadData, "cuModuleLoadData", (Module *, const void *image))                                                 \
  X(moduleUnload, "cuModuleUnload", (Module))                                                                          \
  X(moduleGetFunction, "cuModuleGetFunction", (Function *, Module, const char *))                                      \
  X(funcSetAttribute, "cuFuncSetAttribute", (Function, int attribute, int value))                                      \
  X(launchKernel, "cuLaunchKernel",                                                                                    \
    (Function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ,      \
     unsigned sharedBytes, Stream, void **arguments, void **extra))                                                    \
  X(streamBeginCapture, "cuStreamBeginCapture_v2", (Stream, int mode))                                                 \
  X(streamEndCapture, "cuStreamEndCapture", (Stream, Graph *))                                                         \
  X(graphInstantiate, "cuGraphInstantiateWithFlags", (GraphExec *, Graph, unsigned long long flags))                   \
  X(graphLaunch, "cuGraphLaunch", (GraphExec, Stream))                                                                 \
  X(graphDestroy, "cuGraphDestroy", (Graph))                                                                           \
  X(graphExecDestroy, "cuGraphExecDestroy", (GraphExec))

struct Driver {
  /// Opens $SMET_CUDA_DRIVER, or libcuda.so.1, and starts it. Errors: there is none, it is older than kMinVersion, it
  /// does not start, it finds no card. The library stays open.
  static Expected<Driver> open();

  /// An error that says what was being done, and the driver's name and text for it.
  Status check(Result result, std::string_view what) const;

  int version = 0; ///< of CUDA: 12040 is 12.4
#define SMET_MEMBER(member, symbol, arguments) Result(*member) arguments = nullptr;
  SMET_CUDA_DRIVER_FUNCTIONS(SMET_MEMBER)
#undef SMET_MEMBER
};

/// "12.4"
std::string versionText(int version);

} // namespace smet::rt::cuda

#endif // SMET_RUNTIME_CUDA_DRIVER_H
