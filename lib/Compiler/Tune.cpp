//===- Tune.cpp - kernels chosen by measuring -----------------------------===//
#include "smet/Compiler/Tune.h"

#include "CodeGen.h"
#include "Identity.h"
#include "smet/Conversion/CPU.h"
#include "smet/Dialect/Smet/IR/Names.h"
#include "smet/Dialect/Smet/IR/Smet.h"
#include "smet/Pipelines/Pipelines.h"

#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/Signals.h"
#include "llvm/TargetParser/Host.h"

using namespace mlir;
using namespace smet;
using llvm::createStringError;
using llvm::Expected;

namespace json = llvm::json;

/// How much faster than the model's choice another one must be: what repeated measurements differ by, doubled.
static constexpr double margin = 1.05;

//===----------------------------------------------------------------------===//
// What is measured
//===----------------------------------------------------------------------===//

/// A function that only computes the op's product, in a form that equal products share: the weight gradient without its
/// optimizer, and overwriting. Its tensors live from call to call, activations packed.
static OwningOpRef<func::FuncOp> isolate(Operation *op) {
  auto spmm = dyn_cast<SpmmOp>(op);
  SmallVector<Type> types(op->getOperandTypes());
  if (auto adam = dyn_cast<SddmmAdamOp>(op))
    types = {adam.getTopology().getType(), adam.getX().getType(), adam.getDy().getType(), adam.getM().getType()};
  OpBuilder b(op->getContext());
  Location loc = b.getUnknownLoc();
  auto function = func::FuncOp::create(loc, "product", b.getFunctionType(types, types.back()));
  b.setInsertionPointToEnd(function.addEntryBlock());
  Operation *product;
  if (spmm)
    product =
        SpmmOp::create(b, loc, types.back(), function.getArguments(),
                       spmm.getTranspose() ? b.getNamedAttr("transpose", b.getUnitAttr()) : ArrayRef<NamedAttribute>());
  else
    product = SddmmOp::create(b, loc, types.back(), function.getArguments());
  func::ReturnOp::create(b, loc, product->getResults());

  static constexpr StringLiteral spmmNames[] = {"t", "w", "x", "y"}, sddmmNames[] = {"t", "x", "dy", "w"};
  auto kernel = cast<KernelOpInterface>(product);
  for (auto [i, name] : llvm::enumerate(spmm ? spmmNames : sddmmNames)) {
    StringRef role = i == 0 ? names::topologyRole : kernel.isTokens(i) ? names::state : names::param;
    function.setArgAttr(i, names::name, b.getStringAttr(name));
    function.setArgAttr(i, names::role, b.getStringAttr(role));
    function.setArgAttr(i, bufferization::BufferizationDialect::kWritableAttrName, b.getBoolAttr(i == 3));
  }
  function.setResultAttr(0, names::name, function.getArgAttr(3, names::name));
  return function;
}

static std::string textOf(Operation *op) {
  std::string text;
  llvm::raw_string_ostream os(text);
  op->print(os, OpPrintingFlags().useLocalScope());
  return text;
}

namespace {

/// A distinct sparse product.
struct Product {
  OwningOpRef<func::FuncOp> function;
  SmallVector<DictionaryAttr> candidates;
  SmallVector<Operation *> ops;
  std::string file; ///< of the measurements
  std::optional<TuningSeconds> seconds;

  Operation *op() { return &function->getBody().front().front(); }
  TopologyType topology() { return cast<TopologyType>(op()->getOperand(0).getType()); }

  /// Entry points @c0, @c1, ..., a candidate each.
  OwningOpRef<ModuleOp> module() {
    OwningOpRef<ModuleOp> module = ModuleOp::create(function->getLoc());
    for (auto [i, candidate] : llvm::enumerate(candidates)) {
      func::FuncOp entry = function->clone();
      entry.setName(("c" + Twine(i)).str());
      entry.getBody().front().front().setDiscardableAttr(names::choice, candidate);
      module->push_back(entry);
    }
    return module;
  }

  json::Object describe(const CPUTarget &target) {
    TopologyType type = topology();
    auto spmm = dyn_cast<SpmmOp>(op());
    auto x = cast<ShapedType>((spmm ? spmm.getX() : cast<SddmmOp>(op()).getX()).getType());
    return json::Object{{"op", op()->getName().getStringRef()},
                        {"transpose", spmm && spmm.getTranspose()},
                        {"rows", type.getRows()},
                        {"cols", type.getCols()},
                        {"block", json::Array{type.getBlockRows(), type.getBlockCols()}},
                        {"nnz", type.getNnz()},
                        {"tokens", x.getDimSize(0)},
                        {"vector_bits", target.vectorBits},
                        {"num_registers", target.numRegisters}};
  }
};

//===----------------------------------------------------------------------===//
// Measurements
//===----------------------------------------------------------------------===//

double median(std::vector<double> samples) {
  llvm::sort(samples);
  size_t last = samples.size() - 1;
  return (samples[last / 2] + samples[(last + 1) / 2]) / 2;
}

/// The candidate to take: the fastest if it beats the first, the model's, by the margin, and in all rounds but one.
/// Compared round by round, since machines change their speed.
size_t fastest(const TuningSeconds &seconds) {
  size_t best = 0;
  double bestGain = margin;
  for (size_t i = 1; i < seconds.size(); ++i) {
    std::vector<double> gains;
    for (auto [model, candidate] : llvm::zip_equal(seconds[0], seconds[i]))
      gains.push_back(model / candidate);
    llvm::sort(gains);
    if (double gain = median(gains); gain > bestGain && gains[std::min<size_t>(1, gains.size() - 1)] > 1) {
      best = i;
      bestGain = gain;
    }
  }
  return best;
}

json::Value toJson(Attribute attr) {
  if (auto text = dyn_cast<StringAttr>(attr))
    return text.getValue();
  if (auto flag = dyn_cast<BoolAttr>(attr))
    return flag.getValue();
  return cast<IntegerAttr>(attr).getInt();
}

/// The times in a file; none where that is not as writeMeasurements makes it for so many candidates.
std::optional<TuningSeconds> parseMeasurements(StringRef text, size_t candidates) {
  auto value = json::parse(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const json::Object *object = value->getAsObject();
  const json::Array *list = object ? object->getArray("candidates") : nullptr;
  if (!list || list->size() != candidates)
    return std::nullopt;
  TuningSeconds seconds;
  for (const json::Value &entry : *list) {
    const json::Object *candidate = entry.getAsObject();
    const json::Array *samples = candidate ? candidate->getArray("seconds") : nullptr;
    if (!samples || samples->empty())
      return std::nullopt;
    std::vector<double> &times = seconds.emplace_back();
    for (const json::Value &sample : *samples)
      times.push_back(sample.getAsNumber().value_or(0));
    if (times.size() != seconds[0].size() || !llvm::all_of(times, [](double time) { return time > 0; }))
      return std::nullopt;
  }
  return seconds;
}

/// Finds and measures the products of a module.
class Tuning {
public:
  Tuning(const CompileOptions &options, const Tuner &tuner, StringRef folder, const llvm::TargetMachine &machine)
      : options(options), tuner(tuner), folder(folder), identity(compilerIdentity(options, machine)) {
    VectorUnit unit = vectorUnit(machine);
    target = {unit.bits, unit.numRegisters};
  }

  llvm::Error run(ModuleOp module) {
    collect(module);
    TuningReport report;
    report.products = products.size();
    for (auto &[text, product] : products)
      report.measured += !find(product);
    int64_t done = 0;
    for (auto &[text, product] : products) {
      if (!product.seconds) {
        tuner.progress(done++, report.measured);
        if (auto error = measure(product))
          return error;
      }
      size_t best = fastest(*product.seconds);
      report.changed += best > 0;
      for (Operation *op : product.ops)
        if (best > 0) // so that a program which is as the model has it is the same program
          op->setDiscardableAttr(names::choice, product.candidates[best]);
    }
    tuner.finished(report);
    return llvm::Error::success();
  }

private:
  void collect(ModuleOp module) {
    int64_t tile = CPUPipelineOptions().tile;
    module.walk([&](Operation *op) {
      SmallVector<DictionaryAttr> candidates = sparseProductCandidates(op, target, tile);
      if (candidates.size() < 2 || op->hasAttr(names::choice))
        return;
      OwningOpRef<func::FuncOp> function = isolate(op);
      Product &product = products[textOf(*function)];
      product.ops.push_back(op);
      if (product.function)
        return;
      product.function = std::move(function);
      product.candidates = std::move(candidates);
    });
  }

  /// Reads what was measured before; false where nothing was.
  bool find(Product &product) {
    if (folder.empty())
      return false;
    std::string key = identity + "\n" + llvm::sys::getHostCPUName().str() + "\n" + textOf(*product.module());
    std::string hash = llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(key)), /*LowerCase=*/true);
    product.file = folder + "/" + hash.substr(0, 32) + ".json";
    auto text = llvm::MemoryBuffer::getFile(product.file);
    if (!text)
      return false;
    product.seconds = parseMeasurements((*text)->getBuffer(), product.candidates.size());
    if (!product.seconds)
      llvm::errs() << "warning: '" << product.file << "' is damaged; it is measured again\n";
    return product.seconds.has_value();
  }

  llvm::Error measure(Product &product) {
    llvm::SmallString<128> path;
    if (std::error_code error = llvm::sys::fs::createTemporaryFile("smet-tuning", "smet", path))
      return createStringError("cannot make a temporary file: " + error.message());
    llvm::FileRemover remover(path);
    llvm::sys::RemoveFileOnSignal(path);
    CompileOptions quiet = options;
    quiet.dumpDirectory.clear();
    OwningOpRef<ModuleOp> module = product.module();
    if (auto report = compileProgram(*module, /*modelLevel=*/false, quiet, path); !report)
      return report.takeError();
    TopologyType type = product.topology();
    auto seconds = tuner.measure({std::string(path), int64_t(product.candidates.size()), type.getRows(), type.getCols(),
                                  type.getBlockRows(), type.getBlockCols(), type.getNnz()});
    if (!seconds)
      return seconds.takeError();
    product.seconds = std::move(*seconds);
    store(product);
    return llvm::Error::success();
  }

  /// Where it cannot be written, it is measured again next time, which is said once.
  void store(Product &product) {
    if (product.file.empty())
      return;
    llvm::Error error = write(product);
    if (!error)
      return;
    std::string reason = llvm::toString(std::move(error));
    if (!std::exchange(warned, true))
      llvm::errs() << "warning: measurements cannot be kept in '" << folder
                   << "' and are made again at every start: " << reason
                   << "; make it a folder that can be written, or choose another cache\n";
  }

  llvm::Error write(Product &product) {
    if (std::error_code error = llvm::sys::fs::create_directories(folder))
      return llvm::errorCodeToError(error);
    json::Array list;
    for (auto [candidate, seconds] : llvm::zip_equal(product.candidates, *product.seconds)) {
      json::Object choice;
      for (NamedAttribute field : candidate)
        choice[field.getName().strref()] = toJson(field.getValue());
      list.push_back(json::Object{{"choice", std::move(choice)}, {"seconds", json::Array(seconds)}});
    }
    json::Object object{{"compiler", identity},
                        {"measured_on", llvm::sys::getHostCPUName()},
                        {"product", product.describe(target)},
                        {"candidates", std::move(list)}};
    return llvm::writeToOutput(product.file, [&](raw_ostream &os) {
      os << llvm::formatv("{0:2}", json::Value(std::move(object))) << "\n";
      return llvm::Error::success();
    });
  }

  const CompileOptions &options;
  const Tuner &tuner;
  std::string folder, identity;
  CPUTarget target;
  bool warned = false;
  llvm::MapVector<std::string, Product, std::map<std::string, unsigned>> products; ///< by the text of their function
};

} // namespace

llvm::Error smet::tuneSparseProducts(ModuleOp module, const CompileOptions &options, const Tuner &tuner,
                                     StringRef folder) {
  if (options.target != Target::CPU)
    return createStringError("only the kernels of the target cpu can be tuned");
  auto machine = createTargetMachine(options.cpu);
  if (!machine)
    return machine.takeError();
  return Tuning(options, tuner, folder, **machine).run(module);
}
