//===- Driver.cpp ---------------------------------------------------------===//
#include "runtime/cuda/Driver.h"

#include <cstdlib>
#include <dlfcn.h>

namespace smet::rt::cuda {

std::string versionText(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

static std::unexpected<Error> tooOld(std::string_view why) {
  return fail("the NVIDIA driver is too old: {}, and smet needs CUDA {} (driver 525 or newer); update the driver", why,
              versionText(kMinVersion));
}

/// The library of the driver comes with it, not with CUDA's toolkit.
static Expected<void *> openLibrary() {
  const char *chosen = std::getenv("SMET_CUDA_DRIVER");
  if (chosen && *chosen) {
    if (void *library = dlopen(chosen, RTLD_NOW | RTLD_LOCAL))
      return library;
    return fail("$SMET_CUDA_DRIVER names '{}', which cannot be opened: {}", chosen, dlerror());
  }
  if (void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL))
    return library;
  return fail("there is no NVIDIA driver: {}; install one (525 or newer), or take --target cpu", dlerror());
}

Expected<Driver> Driver::open() {
  auto library = openLibrary();
  if (!library)
    return std::unexpected(library.error());
  Driver driver;
  auto getVersion = reinterpret_cast<Result (*)(int *)>(dlsym(*library, "cuDriverGetVersion"));
  if (!getVersion)
    return fail("the library of the NVIDIA driver has no cuDriverGetVersion; install the driver anew");
  if (getVersion(&driver.version) != kSuccess || driver.version < kMinVersion)
    return tooOld(fmt::format("it knows CUDA {}", versionText(driver.version)));
#define SMET_LOAD(member, symbol, arguments)                                                                           \
  if (!(driver.member = reinterpret_cast<Result(*) arguments>(dlsym(*library, symbol))))                               \
    return tooOld(fmt::format("it has no {}", symbol));
  SMET_CUDA_DRIVER_FUNCTIONS(SMET_LOAD)
#undef SMET_LOAD
  Result started = driver.init(0);
  int count = 0;
  if (started == kSuccess)
    started = driver.deviceGetCount(&count);
  if (started == kNoDevice || (started == kSuccess && count == 0))
    return fail("the NVIDIA driver (CUDA {}) finds no GPU; look at `nvidia-smi` and $CUDA_VISIBLE_DEVICES, or take "
                "--target cpu",
                versionText(driver.version));
  if (Status good = driver.check(started, "the NVIDIA driver does not start"); !good)
    return fail("{}; `nvidia-smi` may say more", good.error().message);
  return driver;
}

Status Driver::check(Result result, std::string_view what) const {
  if (result == kSuccess)
    return {};
  const char *name = nullptr, *text = nullptr;
  if (getErrorName(result, &name) != kSuccess || getErrorString(result, &text) != kSuccess)
    return fail("{}: error {} of the driver", what, result);
  return fail("{}: {} ({}, {})", what, text, name, result);
}

} // namespace smet::rt::cuda
