//===- EmulatedKernel.h - compile and run a gpu.module ----------*- C++ -*-===//
#ifndef SMET_TEST_UNIT_GPU_EMULATEDKERNEL_H
#define SMET_TEST_UNIT_GPU_EMULATEDKERNEL_H

#include "runtime/emulator/Emulator.h"
#include "runtime/program/Abi.h"
#include "test/unit/support/CompileGPUText.h"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <filesystem>
#include <unistd.h>

namespace smet::test {

inline std::string replaced(std::string text, const std::string &what, const std::string &by) {
  size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), by);
}

class EmulatedKernel : public testing::Test {
public:
  void SetUp() override {
    auto created = rt::ThreadPool::create(2);
    ASSERT_TRUE(created) << created.error().message;
    pool = std::move(*created);
  }
  void TearDown() override {
    if (library)
      dlclose(library);
    std::filesystem::remove(path);
  }

  /// Compiles `m.<name>` and runs it on the arguments.
  rt::Status run(const std::string &text, const std::string &name, std::array<uint32_t, 3> grid,
                 std::array<uint32_t, 3> block, rt::EmulatorOptions options, rt::KernelCounters *counters = nullptr) {
    if (library)
      dlclose(library);
    library = nullptr;
    if (std::string wrong = compileGPUText(text, options.check, path); !wrong.empty())
      return rt::fail("{}", wrong);
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!library)
      return rt::fail("{}", dlerror());
    auto *kernel = static_cast<const smet_kernel *>(dlsym(library, ("m." + name + ".kernel").c_str()));
    if (!kernel)
      return rt::fail("no kernel {}", name);
    std::vector<void *> arguments;
    for (rt::KernelBuffer &buffer : buffers)
      arguments.push_back(&buffer.data);
    rt::KernelLaunch launch{
        kernel->name,         kernel->emulated, grid,    block,
        kernel->shared_bytes, arguments,        buffers, {kernel->sites, size_t(kernel->num_sites)}};
    return emulate(*pool, launch, options, counters);
  }

  std::string path = std::filesystem::temp_directory_path() / fmt::format("smet-emulated-{}.so", getpid());
  void *library = nullptr;
  std::unique_ptr<rt::ThreadPool> pool;
  std::vector<rt::KernelBuffer> buffers;
};

} // namespace smet::test

#endif // SMET_TEST_UNIT_GPU_EMULATEDKERNEL_H
