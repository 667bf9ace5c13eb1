//===- Processor.h - can this machine run a program? ------------*- C++ -*-===//
#ifndef SMET_RUNTIME_PROGRAM_PROCESSOR_H
#define SMET_RUNTIME_PROGRAM_PROCESSOR_H

#include "runtime/program/Manifest.h"

namespace smet::rt {

/// Whether processor and operating system have an instruction set of InstructionSets.h; false for other names.
bool machineHas(std::string_view instructionSet);

/// An error that names what this machine lacks, where an illegal instruction would end the process.
Status checkProcessor(const Manifest &manifest);

} // namespace smet::rt

#endif // SMET_RUNTIME_PROGRAM_PROCESSOR_H
