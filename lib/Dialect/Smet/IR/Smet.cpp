//===- Smet.cpp - the smet dialect ----------------------------------------===//
#include "smet/Dialect/Smet/IR/Smet.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace smet;

#include "smet/Dialect/Smet/IR/SmetDialect.cpp.inc"
#include "smet/Dialect/Smet/IR/SmetEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "smet/Dialect/Smet/IR/SmetAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "smet/Dialect/Smet/IR/SmetTypes.cpp.inc"

void SmetDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "smet/Dialect/Smet/IR/SmetAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "smet/Dialect/Smet/IR/SmetTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "smet/Dialect/Smet/IR/SmetOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// TopologyType
//===----------------------------------------------------------------------===//

// <NxK, block = [R, C], nnz = n>
Type TopologyType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t> shape;
  int64_t blockRows, blockCols, nnz = ShapedType::kDynamic;
  if (parser.parseLess() || parser.parseDimensionList(shape, /*allowDynamic=*/false, /*withTrailingX=*/false))
    return {};
  if (shape.size() != 2) {
    parser.emitError(loc, "expected a topology shape of rank 2, got rank ") << shape.size();
    return {};
  }
  if (parser.parseComma() || parser.parseKeyword("block") || parser.parseEqual() || parser.parseLSquare() ||
      parser.parseInteger(blockRows) || parser.parseComma() || parser.parseInteger(blockCols) ||
      parser.parseRSquare() || parser.parseComma() || parser.parseKeyword("nnz") || parser.parseEqual())
    return {};
  if (failed(parser.parseOptionalQuestion()) && parser.parseInteger(nnz))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<TopologyType>(loc, parser.getContext(), shape[0], shape[1], blockRows, blockCols, nnz);
}

void TopologyType::print(AsmPrinter &printer) const {
  printer << '<' << getRows() << 'x' << getCols() << ", block = [" << getBlockRows() << ", " << getBlockCols()
          << "], nnz = ";
  if (ShapedType::isDynamic(getNnz()))
    printer << '?';
  else
    printer << getNnz();
  printer << '>';
}

LogicalResult TopologyType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows, int64_t cols,
                                   int64_t blockRows, int64_t blockCols, int64_t nnz) {
  if (rows <= 0 || cols <= 0 || blockRows <= 0 || blockCols <= 0)
    return emitError() << "topology: shape and block must be positive";
  if (rows % blockRows || cols % blockCols)
    return emitError() << "topology: block [" << blockRows << ", " << blockCols << "] does not divide shape " << rows
                       << "x" << cols;
  int64_t rowBlocks = rows / blockRows, colBlocks = cols / blockCols;
  if (rowBlocks > std::numeric_limits<int32_t>::max() / colBlocks)
    return emitError() << "topology: " << rowBlocks << " x " << colBlocks
                       << " blocks are more than a 32-bit index can count";
  if (rows > std::numeric_limits<int64_t>::max() / cols)
    return emitError() << "topology: " << rows << "x" << cols << " elements are more than a 64-bit index can count";
  int64_t blocks = rowBlocks * colBlocks;
  if (!ShapedType::isDynamic(nnz) && (nnz < 0 || nnz > blocks))
    return emitError() << "topology: nnz = " << nnz << " is outside [0, " << blocks << "]";
  return success();
}

ArrayRef<StringLiteral> TopologyType::getArrayNames() {
  static constexpr StringLiteral names[numArrays] = {"positions", "coordinates", "t_positions", "t_coordinates",
                                                     "t_perm"};
  return names;
}

SmallVector<RankedTensorType> TopologyType::getArrayTypes() {
  Builder b(getContext());
  auto coordinates = [&](int64_t blocks) {
    return RankedTensorType::get({getNnz()}, blocks <= 65536 ? b.getIntegerType(16) : b.getIntegerType(32));
  };
  Type i32 = b.getIntegerType(32);
  return {RankedTensorType::get({getRowBlocks() + 1}, i32), coordinates(getColBlocks()),
          RankedTensorType::get({getColBlocks() + 1}, i32), coordinates(getRowBlocks()),
          RankedTensorType::get({getNnz()}, i32)};
}

TopologyType TopologyType::eraseNnz() {
  return get(getContext(), getRows(), getCols(), getBlockRows(), getBlockCols(), ShapedType::kDynamic);
}

RankedTensorType TopologyType::getValuesType(Type element) {
  return RankedTensorType::get({getNnz(), getBlockRows(), getBlockCols()}, element);
}
