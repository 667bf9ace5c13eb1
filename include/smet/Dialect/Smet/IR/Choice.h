//===- Choice.h - how a sparse product is computed --------------*- C++ -*-===//
//
// What smet.choice says, an attribute of smet.spmm, smet.sddmm and smet.sddmm_adam: how the target cpu computes the op,
// in place of what its cost model would choose. A field that is left out has the value below.
//
//   smet.spmm ... {smet.choice = {kernel = "tiles", columns = 4, rows = 6, chains = 1, pieces = 8}}
//   smet.sddmm ... {smet.choice = {by_columns = false, height = 4, width = 4, chunk_tiles = 2, items = 64}}
//
// The dialect verifies names, types and ranges of the fields; the conversion to the CPU, what op and target can take.
// The attribute is a part of the kernel, and so of the key that its object is kept under.
//
//===----------------------------------------------------------------------===//
#ifndef SMET_DIALECT_SMET_IR_CHOICE_H
#define SMET_DIALECT_SMET_IR_CHOICE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

namespace mlir {
class Attribute;
class DictionaryAttr;
class MLIRContext;
} // namespace mlir

namespace smet {

/// How SpMM is computed. "Outputs" are the features of y, "inputs" those of x. What a kernel does not read is 1.
struct SpmmChoice {
  enum class Kernel {
    Tiles,   ///< an output block in register tiles, over all its entries
    Scatter, ///< inputs in registers, added to the outputs of a panel
    Panels,  ///< panels of inputs, an output's sums in registers over its entries in the panel
  } kernel = Kernel::Tiles;
  int64_t columns = 1;      ///< token vectors of a register tile
  int64_t rows = 1;         ///< outputs of a register tile (Tiles: some tiles have one less)
  int64_t chains = 1;       ///< Tiles: independent sums an accumulator is split into
  int64_t features = 1;     ///< Scatter: inputs in registers
  int64_t panel = 1;        ///< features of a panel: outputs of Scatter, inputs of Panels
  int64_t sparsePanels = 1; ///< Panels: so many are one where the density is at most 1/3
  int64_t tiles = 1;        ///< Panels: token tiles taken together
  int64_t pieces = 1;       ///< ranges of outputs that are separate items of work

  bool operator==(const SpmmChoice &) const = default;
};
inline constexpr const char *kernelNames[] = {"tiles", "scatter", "panels"};

/// How SDDMM walks the matrix and the tokens.
struct SddmmChoice {
  bool byColumns = false;        ///< segments are column blocks; the rows of dy are gathered
  int64_t height = 1, width = 1; ///< a tile of dot products: `width` rows of one side times `height` of the other
  int64_t chunkTiles = 1;        ///< token tiles that all entries use before the next ones
  int64_t densePercent = 100;    ///< 1 x 1: where more of the weights are active, all are computed, and these picked
  int64_t items = 1;             ///< work items of a chunk, where there are enough entries

  bool operator==(const SddmmChoice &) const = default;
};

/// visit(name, field) for all that the chosen kernel reads, in the words of IR and of tuning results.
template <typename Choice, typename Visitor> void visitFields(Choice &choice, Visitor &&visit) {
  if constexpr (std::is_same_v<std::remove_const_t<Choice>, SddmmChoice>) {
    visit("by_columns", choice.byColumns);
    visit("height", choice.height);
    visit("width", choice.width);
    visit("chunk_tiles", choice.chunkTiles);
    visit("dense_percent", choice.densePercent);
    visit("items", choice.items);
  } else {
    using Kernel = SpmmChoice::Kernel;
    visit("kernel", choice.kernel);
    visit("columns", choice.columns);
    if (choice.kernel != Kernel::Panels)
      visit("rows", choice.rows);
    if (choice.kernel == Kernel::Tiles)
      visit("chains", choice.chains);
    if (choice.kernel == Kernel::Scatter)
      visit("features", choice.features);
    if (choice.kernel != Kernel::Tiles)
      visit("panel", choice.panel);
    if (choice.kernel == Kernel::Panels) {
      visit("sparse_panels", choice.sparsePanels);
      visit("tiles", choice.tiles);
    }
    if (choice.kernel != Kernel::Scatter)
      visit("pieces", choice.pieces);
  }
}

/// The numbers that a field can have are from 1 to this. Larger ones would divide nothing, and could overflow.
constexpr int64_t maxNumber(std::string_view field) { return field == "dense_percent" ? 100 : 1 << 16; }

/// What is wrong with the first number that a field cannot have; empty where there is none.
template <typename Choice> std::string checkNumbers(const Choice &choice) {
  std::string wrong;
  visitFields(choice, [&](const char *name, const auto &value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, int64_t>)
      if (wrong.empty() && (value < 1 || value > maxNumber(name)))
        wrong = std::string(name) + " must be from 1 to " + std::to_string(maxNumber(name));
  });
  return wrong;
}

/// Reads a value of smet.choice. What is wrong with it; empty where nothing is.
std::string readChoice(mlir::Attribute attr, SpmmChoice &choice);
std::string readChoice(mlir::Attribute attr, SddmmChoice &choice);
mlir::DictionaryAttr writeChoice(mlir::MLIRContext *context, const SpmmChoice &choice);
mlir::DictionaryAttr writeChoice(mlir::MLIRContext *context, const SddmmChoice &choice);

} // namespace smet

#endif // SMET_DIALECT_SMET_IR_CHOICE_H
