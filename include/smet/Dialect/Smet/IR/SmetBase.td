//===- SmetBase.td - the smet dialect ----------------------*- tablegen -*-===//
#ifndef SMET_DIALECT_SMET_SMETBASE
#define SMET_DIALECT_SMET_SMETBASE

include "mlir/IR/OpBase.td"

def Smet_Dialect : Dialect {
  let name = "smet";
  let cppNamespace = "::smet";
  let summary = "masked weights, topology updates and sparse optimizer steps";
  let description = [{
    One topology value says which R x C blocks of an N x K weight are active. Weight values, gradient, moments and age
    are plain dense arrays indexed by the same slot, so "same pattern" holds by construction, optimizer maths is
    ordinary arithmetic, and only SpMM, SDDMM and the topology ops know sparsity. No op of this dialect has an N x K
    operand but `to_dense`, `from_dense` and `from_mask`, which exist for export, import and tests.

    Letters in shapes: N x K the matrix, R x C a block, nnz the active blocks (slots), T tokens. Activations are
    `[T, F]` or packed token tiles, as in the `nn` dialect; a scalar is an array of rank 0. Kernel ops are destination
    style, on tensors with results, on memrefs without, and the float arrays of one have one element type, f32 or f64;
    bf16 may stand wherever f32 may: it is a form of storage, everything is computed in f32.

    Discardable attributes that begin with `smet.` and that the dialect does not know are errors on ops. `smet.choice` on
    `spmm`, `sddmm` and `sddmm_adam` says how the target `cpu` computes the op, in place of what its cost model would
    choose; other targets verify and ignore it. What an op or a processor cannot take is an error at the op. All numbers
    are i64 from 1 to 65,536, and 1 where they are left out.

    | `kernel` of `spmm` | what it does | its fields |
    |---|---|---|
    | `"tiles"` | an output block in register tiles, over all its entries | `columns`, `rows`, `chains`, `pieces` |
    | `"scatter"` | inputs in registers, added to the outputs of a panel; blocks with one output | `columns`, `rows`, `features`, `panel` |
    | `"panels"` | panels of inputs, an output's sums in registers; 1 x 1 blocks | `columns`, `panel`, `sparse_panels`, `tiles`, `pieces` |

    `columns`: token vectors of a register tile; `rows`: outputs of one; `chains`: independent sums of an accumulator;
    `features`: inputs in registers; `panel`: features of a panel; `sparse_panels`: so many of them are one where the
    density is at most 1/3; `tiles`: token tiles taken together; `pieces`: ranges of outputs that are items of work.

    Fields of `sddmm` and `sddmm_adam`: `by_columns` (false): segments are column blocks, the rows of dy are gathered;
    `height`, `width`: a tile of dot products is `width` rows of one side times `height` of the other; `chunk_tiles`: token
    tiles that all entries use before the next ones; `dense_percent` (100, which is also its limit), for 1 x 1 blocks: where
    more of the weights are active, all are computed and these picked; `items`: items of work of a chunk.

    ```mlir
    smet.spmm ins(...) outs(...) {smet.choice = {kernel = "tiles", columns = 4, rows = 6, pieces = 8}}
    smet.sddmm ins(...) outs(...) {smet.choice = {height = 4, width = 4, chunk_tiles = 2, items = 64}}
    ```
  }];
  let hasOperationAttrVerify = 1;
  let dependentDialects = ["::mlir::tensor::TensorDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

#endif // SMET_DIALECT_SMET_SMETBASE
