//===- Manifest.h - the tensors and entry points of a program ---*- C++ -*-===//
//
// The manifest of a program file is JSON:
//
//   {
//     "abi": 5,
//     "kind": "train" | "infer",
//     "target": "cpu" | "reference" | "gpu-emulator" | "cuda",
//     "cpu": "x86-64-v3",                       the processor that it was compiled for, and what that has of
//     "instruction_sets": ["avx2", "fma", ...], runtime/program/InstructionSets.h
//     "arena_bytes": 123456,
//     "entry_points": ["init", "train_step", "eval_step", "update_topology"],
//     "calls": {
//       "train_step": [
//         {"callee": "k_smet_spmm_83b1c2d4e5f6", "op": "smet.spmm", "flops": 262144, "bytes": 53300,
//          "cache_bytes": 69684}, ...], ...},
//     "tensors": [
//       {"name": "model.layers.0.mlp.up_proj.weight", "role": "param", "dtype": "f32", "shape": [22, 16, 16],
//        "offset": 4096, "bytes": 22528}, ...],
//     "layers": [
//       {"name": "model.layers.0.mlp.up_proj.weight", "id": 5, "rows": 688, "cols": 256, "block": [16, 16],
//        "nnz": 69}, ...],
//     "config": { ... what was compiled: "model" (the Hugging Face config), "batch", "seq_len", "padded_seq_len",
//                 "method", "density", "block", "warmup_updates", "check" (kernels of a GPU announce
//                 what they access, for the emulator), ... }
//   }
//
// Calls of every entry point, in order: smet_context::trace gives their indices. `callee` is a kernel, named as in the
// IR, with the op that it is made of; or a routine of Abi.h, which is also its op. `flops` are floating-point
// operations, a multiply-add two, any other operation or function one (routines: 0); `bytes` those that must at least
// move: every operand once, what is updated twice;
// `cache_bytes` the same where every active block reads its own activations, as from a GPU's L2 cache.
//
// Names. A parameter has its Hugging Face name W. Its optimizer state is "W.m", "W.v" and, in a sparse layer,
// "W.age"; the topology of a sparse layer is "W.topology.positions", ".coordinates", ".t_positions",
// ".t_coordinates", ".t_perm". A sparse layer's values are [nnz, R, C], a dense parameter has its dense shape.
//
// Inputs and outputs of `train`: tokens, targets i32 [batch * padded_seq_len], num_valid i32 [] (targets >= 0),
// seed i64 [], step i64 [] (from 1), update i64 [] (step / update interval), lr f32 [], prune_rate f64 [];
// loss f32 [] (mean over the valid targets). Padding: token 0, target -1.
// Inputs and outputs of `infer`: prefill reads tokens i32 [padded_seq_len] and position i32 [] (the last prompt
// token's index), decode reads token i32 [1] and position i32 [] (its index); both write logits f32 [vocab] and
// the KV cache (state).
//
// Roles: param, state (optimizer state, age, KV cache), topology, input, output, workspace (activations, gradients
// and scratch: one range shared by the entry points, reused by liveness). All but workspace persist between calls.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_PROGRAM_MANIFEST_H
#define SMET_RUNTIME_PROGRAM_MANIFEST_H

#include "runtime/support/Error.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace smet::rt {

enum class Role { Param, State, Topology, Input, Output, Workspace };
enum class DType { F32, F64, BF16, I8, I16, I32, I64 };

/// A tensor of the arena: `bytes` bytes from `offset`.
struct TensorInfo {
  std::string name;
  Role role;
  DType dtype;
  std::vector<int64_t> shape;
  int64_t offset = 0;
  int64_t bytes = 0;
};

/// A sparse layer: which blocks [blockRows x blockCols] of a rows x cols matrix are active.
struct SparseLayer {
  std::string name; ///< of its weight
  int64_t id = 0;   ///< key of its random numbers
  int64_t rows = 0, cols = 0, blockRows = 0, blockCols = 0;
  int64_t nnz = 0; ///< active blocks

  int64_t blocks() const { return (rows / blockRows) * (cols / blockCols); }
};

/// A call of an entry point.
struct CallInfo {
  std::string callee, op;
  int64_t flops = 0, bytes = 0, cacheBytes = 0;
};

struct Manifest {
  std::string kind, target, cpu;
  std::vector<std::string> instructionSets;
  int64_t arenaBytes = 0;
  std::vector<std::string> entryPoints;
  std::map<std::string, std::vector<CallInfo>, std::less<>> calls; ///< by entry point
  std::vector<TensorInfo> tensors;
  std::vector<SparseLayer> layers;
  nlohmann::json config;

  /// Parses and checks: known fields and types, offsets aligned, inside the arena, bytes = shape * dtype, calls of
  /// every entry point.
  static Expected<Manifest> parse(std::string_view json);
  const TensorInfo *find(std::string_view name) const;
};

std::string_view name(Role role);
std::string_view name(DType dtype);
int64_t byteWidth(DType dtype);

} // namespace smet::rt

#endif // SMET_RUNTIME_PROGRAM_MANIFEST_H
