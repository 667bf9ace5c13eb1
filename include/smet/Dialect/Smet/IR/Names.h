//===- Names.h - attributes that stages tell each other ---------*- C++ -*-===//
//
// Discardable attributes of functions' arguments and results, of ops and of the module. Each stage keeps those that it
// does not know. Names of tensors are those of the manifest (runtime/program/Manifest.h).
//
//===----------------------------------------------------------------------===//
#ifndef SMET_DIALECT_SMET_IR_NAMES_H
#define SMET_DIALECT_SMET_IR_NAMES_H

#include "llvm/ADT/StringRef.h"

namespace smet::names {

// Arguments and results.
constexpr llvm::StringLiteral name = "smet.name";   ///< string: which tensor of the program it is
constexpr llvm::StringLiteral role = "smet.role";   ///< string: one of the roles below
constexpr llvm::StringLiteral layer = "smet.layer"; ///< i64 on parameters: key of their random numbers
constexpr llvm::StringLiteral init = "smet.init";   ///< dictionary on parameters: {normal = std} or {fill = value}
constexpr llvm::StringLiteral topology = "smet.topology"; ///< string on sparse values: the name of their topology

// Roles.
constexpr llvm::StringLiteral param = "param";
constexpr llvm::StringLiteral state = "state"; ///< optimizer state, age, KV cache
constexpr llvm::StringLiteral topologyRole = "topology";
constexpr llvm::StringLiteral input = "input";
constexpr llvm::StringLiteral output = "output";
constexpr llvm::StringLiteral workspace = "workspace"; ///< in the manifest only: activations, gradients, scratch

// The module.
constexpr llvm::StringLiteral adamw = "smet.adamw";       ///< #smet.adamw: the optimizer of the training steps
constexpr llvm::StringLiteral growth = "smet.growth";     ///< #smet.growth: the topology is dynamic and grows so
constexpr llvm::StringLiteral layers = "smet.layers";     ///< JSON string: the manifest's "layers"
constexpr llvm::StringLiteral config = "smet.config";     ///< JSON string: the manifest's "config"
constexpr llvm::StringLiteral manifest = "smet.manifest"; ///< JSON string: the manifest

// Ops.
constexpr llvm::StringLiteral choice = "smet.choice"; ///< dictionary on sparse products: the kernel to take on the CPU
constexpr llvm::StringLiteral remat = "smet.remat";   ///< integer on recomputed ops: they stay apart from the first ones

/// The function of a kernel module that a dispatch calls.
constexpr llvm::StringLiteral kernelMain = "main";

} // namespace smet::names

#endif // SMET_DIALECT_SMET_IR_NAMES_H
