//===- Modules.h - the kernels of a program on a card -----------*- C++ -*-===//
#ifndef SMET_RUNTIME_CUDA_MODULES_H
#define SMET_RUNTIME_CUDA_MODULES_H

#include "runtime/cuda/Card.h"
#include "runtime/program/Abi.h"

#include <unordered_map>

namespace smet::rt::cuda {

/// Loads each image once, when its first kernel is asked for, and unloads them in the end.
class Modules {
public:
  /// `driver` and `card` must outlive this; a context is current wherever it is used.
  Modules(const Driver &driver, const Card &card) : driver(driver), card(card) {}
  Modules(const Modules &) = delete;
  ~Modules();

  /// The function that a launch with this much dynamic shared memory runs. Errors: no image for this card, one that the
  /// driver does not take, more shared memory than the card has.
  Expected<Function> function(const smet_kernel &kernel, int64_t dynamicSharedBytes);

private:
  /// The most dynamic shared memory that has been allowed; the driver allows this much on its own.
  static constexpr int64_t kDefaultSharedBytes = 48 << 10;
  struct Loaded {
    Function function = nullptr;
    int64_t sharedBytes = kDefaultSharedBytes;
  };

  Expected<Module> load(const smet_kernel &kernel);
  Expected<Loaded *> find(const smet_kernel &kernel);

  const Driver &driver;
  const Card &card;
  std::unordered_map<const void *, Module> modules; ///< by image
  std::unordered_map<const smet_kernel *, Loaded> functions;
};

} // namespace smet::rt::cuda

#endif // SMET_RUNTIME_CUDA_MODULES_H
