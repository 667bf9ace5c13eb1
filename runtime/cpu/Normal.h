//===- Normal.h - numbers of the normal distribution ------------*- C++ -*-===//
//
// Pairs of independent numbers of N(0, 1) from Philox, by Box and Muller in double: sqrt(-2 log u) (cos 2 pi v,
// sin 2 pi v). Logarithm, sine and cosine are those of FDLIBM (Sun Microsystems, 1993; errors below 1 ulp) without
// their branches, so that loops over pairs become vectors. Nothing is contracted: any instruction set gives the same
// bits, which those of a C library need not.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_CPU_NORMAL_H
#define SMET_RUNTIME_CPU_NORMAL_H

#include "runtime/cpu/Philox.h"

#include <span>
#include <vector>

namespace smet::rt {

/// Writes the pairs with the given indices: both numbers of one, then of the next.
using NormalPairsFunction = void (*)(const RandomSource &source, std::span<const uint64_t> indices, double *pairs);

/// One function for each instruction set that this machine has, widest first; all compute the same.
std::span<const NormalPairsFunction> normalPairsFunctions();

} // namespace smet::rt

#endif // SMET_RUNTIME_CPU_NORMAL_H
