//===- Instance.cpp -------------------------------------------------------===//

#include "runtime/program/Instance.h"

#include "runtime/program/Processor.h"

namespace smet::rt {

Expected<std::unique_ptr<Instance>> Instance::load(const std::filesystem::path &path, ThreadPool &pool) {
  auto program = Program::load(path);
  if (!program)
    return std::unexpected(program.error());
  if (Status runs = checkProcessor(program->manifest()); !runs)
    return fail("'{}' cannot run here: {}", path.string(), runs.error().message);
  auto arena = Arena::create(program->manifest());
  if (!arena)
    return std::unexpected(arena.error());
  auto context = Context::create(pool);
  if (!context)
    return std::unexpected(context.error());
  return std::unique_ptr<Instance>(new Instance(std::move(*program), std::move(*arena), std::move(*context)));
}

Expected<Outcome> Instance::run(std::string_view entry, Profile *profile) {
  auto function = program.entry(entry);
  if (!function)
    return std::unexpected(function.error());
  context->setTrace(profile);
  int32_t status = (*function)(context->abi(), theArena.base());
  context->setTrace(nullptr);
  if (profile)
    profile->mark(-1); // it may have ended early
  if (context->takeFailure())
    return fail("{}: {}", entry, context->message());
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
