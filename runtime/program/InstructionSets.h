//===- InstructionSets.h - what generated code may use ----------*- C++ -*-===//
//
// The extensions of x86-64 that LLVM may use on its own for code as kernels have it, by LLVM's names. The compiler
// records which of them a program was compiled for, the runtime looks whether this machine has them. Header-only C++20
// that both include.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_PROGRAM_INSTRUCTIONSETS_H
#define SMET_RUNTIME_PROGRAM_INSTRUCTIONSETS_H

/// A macro, since __builtin_cpu_supports wants literals.
#define SMET_X86_INSTRUCTION_SETS(X)                                                                                   \
  X("sse3")                                                                                                            \
  X("ssse3") X("sse4.1") X("sse4.2") X("sse4a") X("popcnt") X("lzcnt") X("movbe") X("bmi") X("bmi2") X("avx")          \
      X("f16c") X("fma") X("fma4") X("xop") X("avx2") X("avxvnni") X("gfni") X("avx512f") X("avx512cd") X("avx512bw")  \
          X("avx512dq") X("avx512vl") X("avx512ifma") X("avx512vbmi") X("avx512vbmi2") X("avx512vnni")                 \
              X("avx512bitalg") X("avx512vpopcntdq") X("avx512bf16") X("avx512fp16")

namespace smet {

#define SMET_ELEMENT(name) name,
inline constexpr const char *x86InstructionSets[] = {SMET_X86_INSTRUCTION_SETS(SMET_ELEMENT)};
#undef SMET_ELEMENT

} // namespace smet

#endif // SMET_RUNTIME_PROGRAM_INSTRUCTIONSETS_H
