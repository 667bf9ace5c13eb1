//===- Objects.cpp - the object files of a program ------------------------===//
#include "Objects.h"

#include "CodeGen.h"

#include "llvm/Support/Threading.h"

#include <thread>

using namespace mlir;
using namespace smet;

Objects::Objects(ModuleOp module, const CompileOptions &options, std::string identity)
    : module(module), options(options) {
  if (!options.kernelCache.empty())
    cache.emplace(options.kernelCache, std::move(identity));
}

void Objects::findKernels() {
  for (auto op : module.getOps<ModuleOp>()) {
    Kernel &kernel = kernels.emplace_back(Kernel{op, "", std::nullopt});
    if (!cache)
      continue;
    kernel.key = cache->key(op);
    if (options.dumpDirectory.empty())
      kernel.found = cache->find(kernel.key);
  }
}

void Objects::eraseFound() {
  for (Kernel &kernel : kernels)
    if (kernel.found)
      kernel.module.erase();
}

CompileReport Objects::report() const {
  int64_t found = llvm::count_if(kernels, [](const Kernel &kernel) { return kernel.found.has_value(); });
  return {int64_t(kernels.size()) - found, found};
}

llvm::Expected<std::string> Objects::emit(Kernel &kernel, llvm::TargetMachine &machine) {
  if (kernel.found)
    return std::move(*kernel.found);
  auto object = emitObject(kernel.module, machine);
  if (object && cache)
    cache->store(kernel.key, *object);
  return object;
}

llvm::Expected<std::vector<std::string>> Objects::emit() {
  // Kernels leave the module: each is translated on its own.
  std::vector<OwningOpRef<ModuleOp>> owned;
  for (Kernel &kernel : kernels) {
    if (kernel.found)
      continue;
    kernel.module->remove();
    owned.emplace_back(kernel.module);
  }
  std::vector<std::string> objects(1 + kernels.size());
  std::atomic<size_t> next = 0;
  std::mutex mutex;
  llvm::Error errors = llvm::Error::success();
  auto worker = [&] {
    auto machine = createTargetMachine(options.cpu);
    llvm::Error error = machine ? llvm::Error::success() : machine.takeError();
    for (size_t i; !error && (i = next++) < objects.size();) {
      auto object = i == 0 ? emitObject(module, **machine) : emit(kernels[i - 1], **machine);
      if (object)
        objects[i] = std::move(*object);
      else
        error = object.takeError();
    }
    std::lock_guard lock(mutex);
    errors = llvm::joinErrors(std::move(errors), std::move(error));
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < llvm::hardware_concurrency().compute_thread_count(); ++i)
    threads.emplace_back(worker);
  worker();
  for (std::thread &thread : threads)
    thread.join();
  if (errors)
    return std::move(errors);
  return objects;
}
