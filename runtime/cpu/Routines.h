//===- Routines.h - the host routines of a program --------------*- C++ -*-===//
//
// Puts the routines of Abi.h into a context: each reads its operands and words from the table, in the order that is
// written there, and calls the function of Topology.h that does the work.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_CPU_ROUTINES_H
#define SMET_RUNTIME_CPU_ROUTINES_H

#include "runtime/program/Abi.h"

namespace smet::rt {

void setRoutines(smet_context &context);

} // namespace smet::rt

#endif // SMET_RUNTIME_CPU_ROUTINES_H
