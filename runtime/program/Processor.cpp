//===- Processor.cpp ------------------------------------------------------===//

#include "runtime/program/Processor.h"

#include "runtime/program/InstructionSets.h"

namespace smet::rt {

bool machineHas(std::string_view instructionSet) {
#if defined(__x86_64__)
#define SMET_CHECK(name)                                                                                               \
  if (instructionSet == name)                                                                                          \
    return __builtin_cpu_supports(name);
  SMET_X86_INSTRUCTION_SETS(SMET_CHECK)
#undef SMET_CHECK
#endif
  return false;
}

Status checkProcessor(const Manifest &manifest) {
  std::vector<std::string_view> missing;
  for (const std::string &name : manifest.instructionSets)
    if (!machineHas(name))
      missing.push_back(name);
  if (missing.empty())
    return {};
  return fail(
      "compiled for the processor {}: this machine lacks {}; compile it again here, or elsewhere with --cpu and "
      "a processor that has no more than this one, such as x86-64-v3",
      manifest.cpu, fmt::join(missing, ", "));
}

} // namespace smet::rt
