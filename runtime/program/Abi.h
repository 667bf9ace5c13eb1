//===- Abi.h - what a compiled program and the runtime agree on -----*- C -*-===//
//
// A program file `model.smet` is an ELF shared object followed by a 32-byte trailer (smet_trailer). It exports
//
//   smet_manifest        the JSON manifest, `smet_manifest_size` bytes (see Manifest.h for its fields)
//   smet_<entry point>   int32_t (smet_context *context, char *arena)
//
// and imports nothing from the runtime: whatever generated code needs from it is reached through the function
// pointers at the head of smet_context. Every tensor of the program is a fixed byte range of one arena; loss,
// learning rate and step are tensors too. An entry point is a list of calls of kernels and routines, each
//
//   (smet_context *context, char *arena, const int64_t *table)
//
// where `table` is constant data of the program: first one byte offset into the arena per operand (inputs, then
// outputs), for kernels each followed by the operand's dynamic sizes, then the attribute words. This header is
// plain C and knows nothing of LLVM; lib/Compiler and runtime/ both include it.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_RUNTIME_PROGRAM_ABI_H
#define SMET_RUNTIME_PROGRAM_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Version of everything in this file and of the manifest. A program of another version is refused.
#define SMET_ABI_VERSION 5

/// Alignment of the arena and of every tensor in it, in bytes.
#define SMET_ALIGNMENT 64

typedef struct smet_context smet_context;
struct smet_kernel;
struct smet_launch;

/// A loop body: work items [begin, end).
typedef void (*smet_body)(void *env, int64_t begin, int64_t end);

/// A host routine; `table` holds operand offsets, then attribute words, in the order listed at its slot below.
/// Returns SMET_OK, or another status after writing a message to context->error.
typedef int32_t (*smet_routine)(smet_context *context, char *arena, const int64_t *table);

/// What an entry point returns.
enum smet_status {
  SMET_OK = 0,
  /// The loss is NaN or infinite; nothing that the optimizer owns has been written.
  SMET_LOSS_NOT_FINITE = 1,
  /// A routine failed; context->error says why.
  SMET_ROUTINE_FAILED = 2,
};

/// The head of the context: the runtime's services, reached by generated code by their index (SMET_SLOT_*), so
/// that a program needs no dynamic symbol of the host. Only append.
struct smet_context {
  /// Runs body over [0, n), split among the threads in any way, and returns when all of it is done. Not nested.
  void (*parallel_for)(smet_context *context, smet_body body, void *env, int64_t n);

  /// Row-major C[m x n] = alpha op(A) op(B) + beta C on the calling thread. transa / transb: 0 or 1; with
  /// transa = 0, A is m x k with leading dimension lda, with transa = 1 it is k x m.
  void (*sgemm)(int64_t transa, int64_t transb, int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                int64_t lda, const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

  /// Draws an initial topology: exactly nnz blocks, uniformly, those with the smallest Philox keys.
  /// table: seed(i64) | positions(i32) coordinates t_positions t_coordinates t_perm(i32) |
  ///        rows cols block_rows block_cols nnz layer
  smet_routine topology_init;

  /// Fills with N(0, std^2), each element keyed by (seed, layer, its index in the dense N x K matrix), so that a
  /// sparse layer starts as a subset of the dense one.
  /// table: seed(i64) positions(i32) coordinates | values(f32 or bf16) | rows cols block_rows block_cols nnz layer
  /// std(f64 bits) is_bf16
  smet_routine init_normal_sparse;
  /// table: seed(i64) | values(f32 or bf16) | count layer std(f64 bits) is_bf16
  smet_routine init_normal_dense;
  /// Fills with a 32-bit pattern. Zeros are not written to pages that nothing has touched: those read as zero, since the
  /// arena is private anonymous memory.
  /// table: | array | bytes pattern(32 bits)
  smet_routine fill;

  /// Marks k = min(floor(rate * nnz), inactive blocks) slots with the smallest score: keep = 0 there, 1 elsewhere.
  /// Ties go to the lower slot. A NaN score is an error.
  /// table: score(f32) rate(f64) | keep(i8) | nnz blocks
  smet_routine prune;

  /// Draws as many inactive blocks as `keep` pruned: those with the smallest Philox key by (seed, layer, update,
  /// block), among the blocks inactive before the update (regrow_pruned != 0: and those just pruned). Writes their
  /// linear block indices ascending, then -1 up to nnz.
  /// table: positions(i32) coordinates keep(i8) seed(i64) update(i64) | grown(i32) |
  ///        rows cols block_rows block_cols nnz layer regrow_pruned
  smet_routine grow_random;

  /// Merges kept and grown blocks in row-major order; slot_map[new slot] = old slot, or -1 where regrown.
  /// table: keep(i8) grown(i32) | positions(i32) coordinates t_positions t_coordinates t_perm(i32) slot_map(i32) |
  ///        rows cols block_rows block_cols nnz
  smet_routine update_topology;

  /// Carries an array of nnz slots through a slot map, in place, with bounded scratch; regrown slots get zero bytes.
  /// table: slot_map(i32) | array | nnz bytes_per_slot
  smet_routine remap;

  /// Where a routine writes its message (zero-terminated).
  char *error;
  int64_t error_size;

  /// The blocks of an N x K mask in which any element is not zero become the active ones. Another number of them than
  /// nnz is an error.
  /// table: mask(i8) | positions(i32) coordinates t_positions t_coordinates t_perm(i32) |
  ///        rows cols block_rows block_cols nnz
  smet_routine topology_from_mask;

  /// Null, or called by entry points before each of their calls with its index in the manifest's list of the entry
  /// point's calls, and with -1 behind the last one: the hook of a profile.
  void (*trace)(smet_context *context, int64_t call);

  /// Runs a GPU kernel. Once one has failed, those after it do nothing, and whatever the entry point returns, its run is
  /// an error: context->error says why.
  void (*launch)(smet_context *context, const struct smet_kernel *kernel, const struct smet_launch *launch);

  /// Copies bytes of the arena to the host, once what was launched before is done: how an entry point looks at the loss.
  void (*read)(smet_context *context, void *host, const void *array, int64_t bytes);

  /// Fails as `prune` does where its kernel on a GPU has pruned nothing because of a bad rate or score.
  /// table: rate(f64) nan(i64: the first slot with a NaN score, or -1) | |
  smet_routine check_prune;
};

/// Indices of the function pointers above, in units of pointers.
enum smet_slot {
  SMET_SLOT_PARALLEL_FOR = 0,
  SMET_SLOT_SGEMM = 1,
  SMET_SLOT_TOPOLOGY_INIT = 2,
  SMET_SLOT_INIT_NORMAL_SPARSE = 3,
  SMET_SLOT_INIT_NORMAL_DENSE = 4,
  SMET_SLOT_FILL = 5,
  SMET_SLOT_PRUNE = 6,
  SMET_SLOT_GROW_RANDOM = 7,
  SMET_SLOT_UPDATE_TOPOLOGY = 8,
  SMET_SLOT_REMAP = 9,
  SMET_SLOT_TOPOLOGY_FROM_MASK = 12,
  SMET_SLOT_TRACE = 13,
  SMET_SLOT_LAUNCH = 14,
  SMET_SLOT_READ = 15,
  SMET_SLOT_CHECK_PRUNE = 16,
};

struct smet_emulator;

/// A GPU kernel of a program, an exported constant.
struct smet_kernel {
  const char *name;
  /// For the target gpu-emulator: what a thread executes (runtime/emulator/Abi.h).
  void (*emulated)(struct smet_emulator *emulator, void *const *arguments);
  /// Of a block, besides what a launch asks for; that lies behind it.
  int64_t shared_bytes;
  /// What the sites in emulated code stand for: places in the source.
  int64_t num_sites;
  const char *const *sites;
  /// For the target cuda: the function's name in the image, and that: a cubin, a fatbin or the text of PTX. Null on the
  /// emulator.
  const char *entry;
  const void *image;
  int64_t image_bytes;
};

/// What a GPU kernel is run on.
struct smet_launch {
  int64_t grid[3];      ///< blocks
  int64_t block[3];     ///< threads of a block
  int64_t shared_bytes; ///< of a block, besides those of the kernel
  int64_t num_arguments;
  void *const *arguments; ///< arguments[i] points at the value of argument i
  const int64_t *bytes;   ///< of the array that argument i points at; where it is no array, minus those of its value
};

/// An entry point of a program.
typedef int32_t (*smet_entry)(smet_context *context, char *arena);

/// The last 32 bytes of a program file. Verified before dlopen, which would answer a truncated file with SIGBUS.
struct smet_trailer {
  char magic[8];         ///< "SMETPROG"
  uint64_t payload_size; ///< bytes before the trailer
  uint32_t crc32;        ///< of the payload (zlib's polynomial)
  uint32_t abi_version;  ///< SMET_ABI_VERSION
  char reserved[8];      ///< zero
};

#ifdef __cplusplus
} // extern "C"
#endif

#endif // SMET_RUNTIME_PROGRAM_ABI_H
