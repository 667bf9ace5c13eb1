//===- FakeCard.h - the stand-in of NVIDIA's driver in a test ---*- C++ -*-===//
#ifndef SMET_TEST_UNIT_RUNTIME_FAKECARD_H
#define SMET_TEST_UNIT_RUNTIME_FAKECARD_H

#include "test/fakecuda/FakeCuda.h"

#include <cstdlib>
#include <dlfcn.h>
#include <string>

namespace smet::test {

/// While it lives, the runtime finds the stand-in, with these settings of FakeCuda.h.
class FakeCard {
public:
  explicit FakeCard(const std::string &settings = "") {
    setenv("SMET_CUDA_DRIVER", SMET_FAKE_CUDA_LIBRARY, 1);
    set(settings);
  }
  ~FakeCard() {
    unsetenv("SMET_CUDA_DRIVER");
    unsetenv("SMET_FAKE_CUDA");
  }
  FakeCard(const FakeCard &) = delete;

  /// For what is opened from now on.
  void set(const std::string &settings) { setenv("SMET_FAKE_CUDA", settings.c_str(), 1); }

  fake_counts counts() const {
    void *library = dlopen(SMET_FAKE_CUDA_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    return reinterpret_cast<fake_cuda_counts>(dlsym(library, "fake_cuda_counts_now"))();
  }
};

} // namespace smet::test

#endif // SMET_TEST_UNIT_RUNTIME_FAKECARD_H
