//===- KernelReport.h - what the compiler knows of GPU kernels --*- C++ -*-===//
//
// A program for the target cuda has a section `.smet.report`: for each kernel a JSON object, followed by a zero byte,
//
//   {"kernel": "k_smet_spmm_83b1c2d4e5f6.device.launch0", "chip": "sm_90a", "threads": 128,
//    "registers": 40, "shared_bytes": 0, "stack_bytes": 0, "spill_store_bytes": 0, "spill_load_bytes": 0,
//    "global_loads": {"16": 1, "4": 22}, "global_stores": {"16": 1}, "async_copies": {}, "local_accesses": 0, "mma": 0}
//
// `threads` of a block; the next five as ptxas -v says (missing where ptxas did not run); of loads, stores and
// cp.async.cg how many of each width in bytes stand in the PTX; loads and stores of a thread's own memory; instructions
// for the tensor cores. With the work of the calls in the manifest and a card's figures this becomes times.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_REPORT_KERNELREPORT_H
#define SMET_RUNTIME_REPORT_KERNELREPORT_H

#include "runtime/program/Manifest.h"
#include "runtime/report/GPU.h"

#include <filesystem>
#include <map>

namespace smet::rt {

/// One kernel, which a call of `callee` launches.
struct KernelReport {
  std::string kernel, callee, chip;
  int64_t threads = 0;
  bool assembled = false; ///< the next five are known
  int64_t registers = 0, sharedBytes = 0, stackBytes = 0, spillStoreBytes = 0, spillLoadBytes = 0;
  std::map<int64_t, int64_t> globalLoads, globalStores, asyncCopies; ///< how many by width in bytes
  int64_t localAccesses = 0, mma = 0;

  int64_t spillBytes() const { return spillStoreBytes + spillLoadBytes; }
  /// From global memory, to registers or shared memory.
  std::map<int64_t, int64_t> loads() const;
};

/// The reports in a program file, sorted by kernel. An error where the file has none: it is for another target.
Expected<std::vector<KernelReport>> readKernelReports(const std::filesystem::path &program);

/// Threads that a multiprocessor holds at a time, of those that it could; none where registers or threads are not
/// known.
std::optional<double> occupancy(const KernelReport &kernel, const GPU &gpu);

/// What bounds a call, and for how long. A model: everything overlaps, nothing is started or waited for.
struct CallTime {
  double memory, cache, shared, compute; ///< seconds
  double seconds() const;
  std::string_view bound() const;
};
/// `kernels` are those that the call launches.
CallTime modelTime(const CallInfo &call, const std::vector<const KernelReport *> &kernels, const GPU &gpu);

/// A table of kernels and the modelled time of each entry point.
std::string reportText(const Manifest &manifest, const std::vector<KernelReport> &kernels, const GPU &gpu);
nlohmann::json reportJson(const Manifest &manifest, const std::vector<KernelReport> &kernels, const GPU &gpu);

} // namespace smet::rt

#endif // SMET_RUNTIME_REPORT_KERNELREPORT_H
