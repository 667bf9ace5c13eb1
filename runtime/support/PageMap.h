//===- PageMap.h - which memory has been touched ----------------*- C++ -*-===//
#ifndef SMET_RUNTIME_SUPPORT_PAGEMAP_H
#define SMET_RUNTIME_SUPPORT_PAGEMAP_H

#include <span>
#include <vector>

namespace smet::rt {

/// The parts of a range of private anonymous memory that may hold other bytes than zero, ascending: without the pages
/// that nothing has touched since they were mapped. The whole range where the kernel does not tell.
/// Source: proc_pid_pagemap(5).
std::vector<std::span<char>> touchedParts(std::span<char> bytes);

} // namespace smet::rt

#endif // SMET_RUNTIME_SUPPORT_PAGEMAP_H
