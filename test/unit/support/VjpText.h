//===- VjpText.h - the vector-Jacobian product of an op as text -*- C++ -*-===//
//
// What buildVjp emits, without the compiler's headers (see CompileText.h).
//
//===----------------------------------------------------------------------===//
#ifndef SMET_TEST_UNIT_SUPPORT_VJPTEXT_H
#define SMET_TEST_UNIT_SUPPORT_VJPTEXT_H

#include <string>

namespace smet::test {

/// `module` holds an entry point `@main` of one differentiable op on the arguments, as KernelHarness.h's `entry` writes
/// it. Adds `@vjp`: the arguments of `@main`, the gradient "dR" of the op's first result R, and the outputs "dX", the
/// gradients of every input X that has one.
std::string vjpText(const std::string &module);

} // namespace smet::test

#endif // SMET_TEST_UNIT_SUPPORT_VJPTEXT_H
