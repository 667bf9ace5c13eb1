//===- Images.h - programs for GPUs and what ptxas says of them -*- C++ -*-===//
#ifndef SMET_TEST_UNIT_CUDA_IMAGES_H
#define SMET_TEST_UNIT_CUDA_IMAGES_H

#include "runtime/report/KernelReport.h"
#include "test/unit/support/CompileText.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace smet::test {

/// Compiles a request for a chip; the reports of its kernels. `cache`: a folder that shares kernels between programs.
/// A failure to compile is a test failure.
inline std::vector<rt::KernelReport> compileImages(nlohmann::json request, const std::string &chip,
                                                   const std::string &cache = "") {
  namespace fs = std::filesystem;
  static int count = 0;
  fs::path path = fs::temp_directory_path() / fmt::format("smet-images-{}-{}.smet", getpid(), count++);
  request["target"] = "cuda";
  request["chip"] = chip;
  if (std::string errors = compileModel(request.dump(), path, cache); !errors.empty()) {
    ADD_FAILURE() << errors;
    return {};
  }
  auto kernels = rt::readKernelReports(path);
  fs::remove(path);
  if (!kernels) {
    ADD_FAILURE() << kernels.error().message;
    return {};
  }
  return *kernels;
}

/// Everything is in registers and shared memory.
inline void expectNoSpills(const std::vector<rt::KernelReport> &kernels) {
  for (const rt::KernelReport &k : kernels) {
    EXPECT_GT(k.registers, 0) << k.kernel;
    EXPECT_EQ(k.spillBytes(), 0) << k.kernel << " with " << k.registers << " registers";
    EXPECT_EQ(k.stackBytes, 0) << k.kernel;
    EXPECT_EQ(k.localAccesses, 0) << k.kernel;
    EXPECT_GT(k.threads, 0) << k.kernel;
  }
}

} // namespace smet::test

#endif // SMET_TEST_UNIT_CUDA_IMAGES_H
