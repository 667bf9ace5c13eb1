//===- Fiber.cpp - a stack of its own, entered and left at will -----------===//
#include "runtime/emulator/Fiber.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <sys/mman.h>
#include <utility>

#ifndef __x86_64__
#error "fibers are written for x86-64"
#endif

// void smet_fiber_switch(void **from, void *to): keeps this stack's pointer in *from and goes on at `to`.
// smet_fiber_start: the first instruction of a fiber, with its argument in r12 and its function in r13.
asm(R"(
  .text
  .type smet_fiber_switch, @function
  .hidden smet_fiber_switch
  .globl smet_fiber_switch
smet_fiber_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  retq
  .size smet_fiber_switch, . - smet_fiber_switch
  .type smet_fiber_start, @function
  .hidden smet_fiber_start
  .globl smet_fiber_start
smet_fiber_start:
  movq %r12, %rdi
  callq *%r13
  ud2
  .size smet_fiber_start, . - smet_fiber_start
)");
extern "C" void smet_fiber_switch(void **from, void *to);
extern "C" void smet_fiber_start();

namespace smet::rt {

static constexpr size_t guardBytes = 4 << 10, pitch = FiberStacks::stackBytes + guardBytes;

Expected<FiberStacks> FiberStacks::create(size_t count) {
  void *data = mmap(nullptr, count * pitch, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED)
    return fail("cannot allocate {} stacks of emulated threads: {}", count, std::strerror(errno));
  FiberStacks stacks(static_cast<std::byte *>(data), count);
  for (size_t i = 0; i < count; ++i)
    mprotect(stacks.data + i * pitch, guardBytes, PROT_NONE);
  return stacks;
}

FiberStacks::FiberStacks(FiberStacks &&other) noexcept
    : data(std::exchange(other.data, nullptr)), number(std::exchange(other.number, 0)) {}

FiberStacks &FiberStacks::operator=(FiberStacks &&other) noexcept {
  std::swap(data, other.data);
  std::swap(number, other.number);
  return *this;
}

FiberStacks::~FiberStacks() {
  if (data)
    munmap(data, number * pitch);
}

std::span<std::byte> FiberStacks::stack(size_t i) const { return {data + i * pitch + guardBytes, stackBytes}; }

void Fiber::start(std::span<std::byte> stack, void (*body)(void *), void *argument) {
  // What smet_fiber_switch pops: r15, r14, r13, r12, rbx, rbp and the return address. The stack is aligned to 16 bytes
  // before smet_fiber_start's call, as the convention asks.
  auto *top = reinterpret_cast<uintptr_t *>(stack.data() + stack.size());
  uintptr_t *saved = top - 7;
  std::memset(saved, 0, 7 * sizeof(uintptr_t));
  saved[2] = reinterpret_cast<uintptr_t>(body);
  saved[3] = reinterpret_cast<uintptr_t>(argument);
  saved[6] = reinterpret_cast<uintptr_t>(&smet_fiber_start);
  inside = saved;
}

void Fiber::enter() { smet_fiber_switch(&outside, inside); }
void Fiber::leave() { smet_fiber_switch(&inside, outside); }

} // namespace smet::rt
