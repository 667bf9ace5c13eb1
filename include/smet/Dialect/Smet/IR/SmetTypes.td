//===- SmetTypes.td - the topology type --------------------*- tablegen -*-===//
#ifndef SMET_DIALECT_SMET_SMETTYPES
#define SMET_DIALECT_SMET_SMETTYPES

include "smet/Dialect/Smet/IR/SmetBase.td"
include "mlir/IR/AttrTypeBase.td"

def Smet_TopologyType : TypeDef<Smet_Dialect, "Topology"> {
  let mnemonic = "topology";
  let summary = "topology: the active R x C blocks of an N x K matrix";
  let description = [{
    `!smet.topology<NxK, block = [R, C], nnz = 8192>`: a CSR of blocks in row-major block order. `[1, 1]` is
    unstructured, `[1, B]` runs, `[R, C]` blocks. `nnz` counts blocks and may be `?`. The value carries what both
    orientations need: positions and coordinates and, for the transposed walk, t_positions, t_coordinates and t_perm
    (entry -> slot). Coordinates are as narrow as the shape allows (i16, zero-extended, up to 65,536 blocks).
    `smet-expand-topology` turns it into these five arrays.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$cols, "int64_t":$blockRows, "int64_t":$blockCols, "int64_t":$nnz);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr unsigned numArrays = 5;
    /// Names of the arrays: positions, coordinates, t_positions, t_coordinates, t_perm.
    static ::llvm::ArrayRef<::llvm::StringLiteral> getArrayNames();
    /// Their tensor types: i32 [N/R + 1], i16|i32 [nnz], i32 [K/C + 1], i16|i32 [nnz], i32 [nnz].
    ::llvm::SmallVector<::mlir::RankedTensorType> getArrayTypes();
    int64_t getRowBlocks() { return getRows() / getBlockRows(); }
    int64_t getColBlocks() { return getCols() / getBlockCols(); }
    int64_t getNumBlocks() { return getRowBlocks() * getColBlocks(); }
    int64_t getBlockSize() { return getBlockRows() * getBlockCols(); }
    /// nnz / blocks; nnz must be static.
    double getDensity() { return static_cast<double>(getNnz()) / getNumBlocks(); }
    /// The same with nnz = ?.
    TopologyType eraseNnz();
    /// `[nnz, R, C]` with this element type.
    ::mlir::RankedTensorType getValuesType(::mlir::Type element);
  }];
}

#endif // SMET_DIALECT_SMET_SMETTYPES
