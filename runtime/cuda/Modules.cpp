//===- Modules.cpp --------------------------------------------------------===//
#include "runtime/cuda/Modules.h"

namespace smet::rt::cuda {

Modules::~Modules() {
  for (auto [image, module] : modules)
    driver.moduleUnload(module);
}

Expected<Module> Modules::load(const smet_kernel &kernel) {
  if (!kernel.image || !kernel.entry)
    return fail("kernel '{}' was not compiled for a GPU", kernel.name);
  if (auto known = modules.find(kernel.image); known != modules.end())
    return known->second;
  Module module = nullptr;
  Result result = driver.moduleLoadData(&module, kernel.image);
  if (result == kNoBinaryForGpu)
    return fail("kernel '{}' has no image for {}, which is {}: the program was compiled for another chip; compile it "
                "again with --chip {}",
                kernel.name, card.name, card.chip(), card.chip());
  Status loaded = driver.check(result, fmt::format("kernel '{}'", kernel.name));
  if (result == kInvalidImage || result == kInvalidPtx || result == kUnsupportedPtxVersion)
    return fail("{}; the driver is that of CUDA {}: update it, or compile with a ptxas that is not newer ($SMET_PTXAS)",
                loaded.error().message, versionText(driver.version));
  if (!loaded)
    return std::unexpected(loaded.error());
  return modules[kernel.image] = module;
}

Expected<Modules::Loaded *> Modules::find(const smet_kernel &kernel) {
  if (auto known = functions.find(&kernel); known != functions.end())
    return &known->second;
  auto module = load(kernel);
  if (!module)
    return std::unexpected(module.error());
  Loaded loaded;
  Result result = driver.moduleGetFunction(&loaded.function, *module, kernel.entry);
  if (Status found = driver.check(result, fmt::format("kernel '{}': '{}' in its image", kernel.name, kernel.entry));
      !found)
    return std::unexpected(found.error());
  return &(functions[&kernel] = loaded);
}

Expected<Function> Modules::function(const smet_kernel &kernel, int64_t dynamicSharedBytes) {
  auto loaded = find(kernel);
  if (!loaded)
    return std::unexpected(loaded.error());
  if (dynamicSharedBytes > (*loaded)->sharedBytes) {
    Result result = driver.funcSetAttribute((*loaded)->function, kMaxDynamicSharedBytes, int(dynamicSharedBytes));
    if (Status allowed = driver.check(result, fmt::format("kernel '{}': {} bytes of shared memory on {}", kernel.name,
                                                          dynamicSharedBytes, card.name));
        !allowed)
      return std::unexpected(allowed.error());
    (*loaded)->sharedBytes = dynamicSharedBytes;
  }
  return (*loaded)->function;
}

} // namespace smet::rt::cuda
