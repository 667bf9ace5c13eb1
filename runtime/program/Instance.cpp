//===- Instance.cpp -------------------------------------------------------===//

#include "runtime/program/Instance.h"

#include "runtime/cuda/CudaDevice.h"
#include "runtime/program/Processor.h"

namespace smet::rt {

Expected<std::unique_ptr<Instance>> Instance::load(const std::filesystem::path &path, ThreadPool &pool) {
  auto program = Program::load(path);
  if (!program)
    return std::unexpected(program.error());
  if (Status runs = checkProcessor(program->manifest()); !runs)
    return fail("'{}' cannot run here: {}", path.string(), runs.error().message);
  bool onCard = program->manifest().target == "cuda";
  auto arena = Arena::create(program->manifest(), onCard ? Arena::Use::Image : Arena::Use::Memory);
  if (!arena)
    return std::unexpected(arena.error());
  std::unique_ptr<Device> gpu;
  if (onCard) {
    auto device = cuda::CudaDevice::create(program->manifest(), arena->base());
    if (!device)
      return fail("'{}' cannot run here: {}", path.string(), device.error().message);
    gpu = std::move(*device);
  }
  auto context = Context::create(pool);
  if (!context)
    return std::unexpected(context.error());
  bool checks = program->manifest().config.value("check", false);
  std::unique_ptr<Instance> instance(
      new Instance(std::move(*program), std::move(*arena), std::move(*context), std::move(gpu)));
  // What is checked may depend on an order of threads: not on the one that hides it best.
  if (checks)
    instance->emulator().options = {.check = true, .seed = 1};
  return instance;
}

static std::vector<int64_t> offsetsOf(std::span<const TensorInfo *const> tensors) {
  std::vector<int64_t> offsets;
  for (const TensorInfo *tensor : tensors)
    offsets.push_back(tensor->offset);
  return offsets;
}

Status Instance::toHost(std::span<const TensorInfo *const> tensors) { return device().toHost(offsetsOf(tensors)); }
Status Instance::toDevice(std::span<const TensorInfo *const> tensors) { return device().toDevice(offsetsOf(tensors)); }

Expected<Outcome> Instance::run(std::string_view entry, Profile *profile) {
  auto function = program.entry(entry);
  if (!function)
    return std::unexpected(function.error());
  if (Status begun = device().begin(entry, /*traced=*/profile != nullptr); !begun)
    return fail("{}: {}", entry, begun.error().message);
  context->setTrace(profile);
  int32_t status = (*function)(context->abi(), device().arena(theArena.base()));
  context->setTrace(nullptr);
  Status ended = device().end();
  if (profile)
    profile->mark(-1); // it may have ended early
  if (context->takeFailure())
    return fail("{}: {}", entry, context->message());
  if (status != SMET_ROUTINE_FAILED && !ended)
    return fail("{}: {}", entry, ended.error().message);
  switch (status) {
  case SMET_OK:
    return Outcome::Ok;
  case SMET_LOSS_NOT_FINITE:
    return Outcome::LossNotFinite;
  case SMET_ROUTINE_FAILED:
    return fail("{}: {}", entry, context->message());
  default:
    return fail("{}: the program returned the unknown status {}; compile it again", entry, status);
  }
}

} // namespace smet::rt
