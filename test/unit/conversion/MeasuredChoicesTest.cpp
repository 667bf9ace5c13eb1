//===- MeasuredChoicesTest.cpp - the cost model beside measurements -------===//
//
// measured-choices.json has, for sparse products of LLaMA layers, the time of every candidate over that of one of them,
// measured by benchmarks/tune-table on the processor that it names. What the model chooses must be among the fastest.
//
//===----------------------------------------------------------------------===//
#include "lib/Conversion/CPU/SparseKernelChoice.h"

#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <set>

using namespace smet;
namespace json = llvm::json;

namespace {

/// How much longer than the fastest the model's choice may take. Measurements of one kernel differ by 5 %, and the
/// least of a dozen is low by chance.
constexpr double tolerance = 1.15;

json::Object parseTable() {
  auto text = llvm::MemoryBuffer::getFile(SMET_SOURCE_DIR "/test/unit/conversion/measured-choices.json");
  if (!text)
    return {};
  auto value = json::parse((*text)->getBuffer());
  if (value && value->getAsObject())
    return std::move(*value->getAsObject());
  llvm::consumeError(value.takeError());
  return {};
}

/// As the tuner writes it.
template <typename Choice> json::Value toJson(const Choice &choice) {
  json::Object object;
  visitFields(choice, [&](const char *name, const auto &value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, SpmmChoice::Kernel>)
      object[name] = kernelNames[size_t(value)];
    else
      object[name] = value;
  });
  return object;
}

/// A product of the table.
struct Row {
  explicit Row(const json::Object &object) : object(object) {
    auto number = [&](const char *name) { return object.getInteger(name).value_or(0); };
    const json::Array *block = object.getArray("block");
    problem = {number("rows"), number("cols"),       *(*block)[0].getAsInteger(), *(*block)[1].getAsInteger(),
               /*width=*/64,   number("tokens") / 64};
    target = {number("vector_bits"), number("num_registers")};
    transpose = object.getBoolean("transpose").value_or(false);
    isSpmm = object.getString("op") == "smet.spmm";
    density = double(number("nnz")) / double((problem.rows / problem.blockRows) * (problem.cols / problem.blockCols));
  }

  json::Value model() const {
    return isSpmm ? toJson(chooseSpmm(problem, transpose, target)) : toJson(chooseSddmm(problem, target));
  }
  std::string block() const { return std::to_string(problem.blockRows) + "x" + std::to_string(problem.blockCols); }
  std::string describe() const {
    return std::string(isSpmm ? transpose ? "dx" : "fwd" : "dw") + " of " + std::to_string(problem.rows) + "x" +
           std::to_string(problem.cols) + ", block " + block() + ", density " + std::to_string(density);
  }

  const json::Object &object;
  SparseProblem problem;
  CPUTarget target;
  bool transpose, isSpmm;
  double density;
};

TEST(MeasuredChoices, ModelIsNearTheFastest) {
  json::Object table = parseTable();
  ASSERT_TRUE(table.getArray("rows"));
  std::set<std::string> blocks;
  for (const json::Value &value : *table.getArray("rows")) {
    Row row(*value.getAsObject());
    blocks.insert(row.block());
    double model = 0, least = 1e9;
    json::Value chosen = row.model();
    for (const json::Value &entry : *row.object.getArray("candidates")) {
      double time = *entry.getAsObject()->getNumber("time");
      least = std::min(least, time);
      if (*entry.getAsObject()->get("choice") == chosen)
        model = time;
    }
    std::string text;
    llvm::raw_string_ostream(text) << row.describe() << ": " << chosen;
    EXPECT_GT(model, 0) << text
                        << " is far from the fastest, or was not measured; benchmarks/tune-table measures again";
    EXPECT_LE(model / least, tolerance) << text;
  }
  for (const char *block : {"16x16", "8x8", "1x16", "1x32", "1x1"})
    EXPECT_TRUE(blocks.count(block)) << block;
}

} // namespace
