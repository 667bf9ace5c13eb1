//===- Request.cpp - what to compile, as JSON -----------------------------===//
#include "smet/Compiler/Request.h"

#include "CodeGen.h"
#include "Identity.h"
#include "smet/Dialect/Smet/IR/Names.h"
#include "smet/InitAll.h"
#include "smet/Pipelines/Pipelines.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SHA256.h"

using namespace smet;
using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace json = llvm::json;

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

namespace {

/// Reads members one by one; collects what is wrong.
class Reader {
public:
  explicit Reader(const json::Object &object) : object(object) {}

  void read(StringRef key, int64_t &value) {
    take(key, "an integer", value, [](auto &v) { return v.getAsInteger(); });
  }
  void read(StringRef key, double &value) {
    take(key, "a number", value, [](auto &v) { return v.getAsNumber(); });
  }
  void read(StringRef key, bool &value) {
    take(key, "true or false", value, [](auto &v) { return v.getAsBoolean(); });
  }

  template <typename Enum>
  void read(StringRef key, Enum &value, std::initializer_list<std::pair<StringRef, Enum>> names) {
    std::string expected;
    for (auto &[name, _] : names)
      expected += (expected.empty() ? "\"" : ", \"") + name.str() + "\"";
    take(key, "one of " + expected, value, [&](const json::Value &v) -> std::optional<Enum> {
      for (auto &[name, item] : names)
        if (v.getAsString() == name)
          return item;
      return std::nullopt;
    });
  }

  void read(StringRef key, std::string &value) {
    take(key, "a string", value, [](auto &v) -> std::optional<std::string> {
      auto text = v.getAsString();
      return text ? std::optional(text->str()) : std::nullopt;
    });
  }

  void readBlock(StringRef key, int64_t &rows, int64_t &cols) {
    std::pair<int64_t, int64_t> block{rows, cols};
    take(key, "[rows, columns]", block, [](const json::Value &v) -> std::optional<std::pair<int64_t, int64_t>> {
      auto *array = v.getAsArray();
      if (!array || array->size() != 2 || !(*array)[0].getAsInteger() || !(*array)[1].getAsInteger())
        return std::nullopt;
      return std::pair(*(*array)[0].getAsInteger(), *(*array)[1].getAsInteger());
    });
    std::tie(rows, cols) = block;
  }

  const json::Object *readObject(StringRef key) {
    const json::Object *result = nullptr;
    take(key, "an object", result, [](const json::Value &v) -> std::optional<const json::Object *> {
      return v.getAsObject() ? std::optional(v.getAsObject()) : std::nullopt;
    });
    if (!result && !object.get(key))
      problem("'" + key + "' is missing");
    return result;
  }

  /// Everything that was wrong, unknown keys included.
  Error finish() {
    for (auto &[key, value] : object)
      if (!known.contains(key))
        problem("'" + StringRef(key) + "' is unknown");
    return problems.empty() ? Error::success() : createStringError("compile request: " + problems);
  }

private:
  template <typename T, typename F> void take(StringRef key, const llvm::Twine &what, T &value, F read) {
    known.insert(key);
    const json::Value *member = object.get(key);
    if (!member)
      return;
    if (auto result = read(*member))
      value = *result;
    else
      problem("'" + key + "' must be " + what);
  }
  void problem(const llvm::Twine &text) { problems += (problems.empty() ? "" : "; ") + text.str(); }

  const json::Object &object;
  llvm::StringSet<> known;
  std::string problems;
};

} // namespace

Expected<CompileRequest> CompileRequest::parse(StringRef text) {
  auto value = json::parse(text);
  if (!value)
    return value.takeError();
  const json::Object *object = value->getAsObject();
  if (!object)
    return createStringError("compile request: expected a JSON object");
  CompileRequest request;
  ModelRequest &model = request.model;
  Reader reader(*object);
  reader.read("target", request.target,
              {{"cpu", Target::CPU}, {"reference", Target::Reference}, {"gpu-emulator", Target::GPUEmulator}, {"cuda", Target::CUDA}});
  reader.read("cpu", request.cpu);
  reader.read("tune", request.tune);
  reader.read("check", request.check);
  reader.read("chip", request.chip.name);
  reader.read("ptx_features", request.chip.features);
  reader.read("image_format", request.chip.format);
  if (object->get("module")) {
    reader.read("module", request.module.emplace());
    if (Error error = reader.finish())
      return std::move(error);
    return request;
  }
  reader.read("kind", model.kind, {{"train", ProgramKind::Train}, {"infer", ProgramKind::Infer}});
  reader.read("method", model.method, {{"smet", Method::Smet}, {"static", Method::Static}, {"dense", Method::Dense}});
  reader.read("dtype", model.dtype, {{"f32", DType::F32}, {"bf16", DType::BF16}});
  reader.read("density", model.density);
  reader.readBlock("block", model.blockRows, model.blockCols);
  reader.read("batch", model.batch);
  reader.read("seq_len", model.seqLen);
  reader.read("warmup_updates", model.warmupUpdates);
  reader.read("beta1", model.adamw.beta1);
  reader.read("beta2", model.adamw.beta2);
  reader.read("eps", model.adamw.eps);
  reader.read("weight_decay", model.adamw.weightDecay);
  reader.read("lr_scaling", model.adamw.lrScaling);
  const json::Object *config = reader.readObject("model");
  if (Error error = reader.finish())
    return std::move(error);
  auto llama = LlamaConfig::parse(*config);
  if (!llama)
    return llama.takeError();
  model.model = *llama;
  return request;
}

//===----------------------------------------------------------------------===//
// Compilation
//===----------------------------------------------------------------------===//

namespace {

/// A module of its own context, with the diagnostics of its compilation.
class Compilation {
public:
  Compilation(const CompileRequest &request, StringRef cache, StringRef dumpDirectory) : context(registry()) {
    options.target = request.target;
    options.check = request.check;
    options.cpu = request.cpu;
    options.chip = request.chip;
    options.dumpDirectory = dumpDirectory;
    if (!cache.empty()) {
      options.kernelCache = (cache + "/kernels").str();
      tuningFolder = (cache + "/tuning").str();
    }
    context.getDiagEngine().registerHandler([&](mlir::Diagnostic &diagnostic) {
      std::lock_guard lock(mutex);
      if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Warning)
        llvm::errs() << "warning: " << diagnostic.str() << "\n"; // else lost when all goes well
      else
        diagnostics += "\n" + diagnostic.str();
    });
  }

  Error build(const CompileRequest &request, const Tuner *tuner) {
    isModel = !request.module;
    if (Error error = isModel ? buildModel(request) : parseModule(*request.module))
      return error;
    return request.tune ? tune(tuner) : Error::success();
  }

  Expected<std::string> hash() {
    auto machine = createTargetMachine(options.cpu);
    if (!machine)
      return machine.takeError();
    std::string text = compilerIdentity(options, **machine) + "\n";
    llvm::raw_string_ostream os(text);
    module->print(os);
    return llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)), /*LowerCase=*/true).substr(0, 32);
  }

  Expected<CompileReport> compile(StringRef path) {
    auto report = compileProgram(*module, /*modelLevel=*/isModel, options, path);
    if (!report)
      return createStringError(llvm::toString(report.takeError()) + diagnostics);
    return report;
  }

private:
  /// The module becomes entry points whose sparse products say how they are computed, which is part of its hash then.
  Error tune(const Tuner *tuner) {
    if (!tuner)
      return createStringError("this compiler is part of a program that cannot measure; run smet-compile --tune");
    mlir::PassManager pm(&context);
    buildEntryPointPipeline(pm);
    if (std::exchange(isModel, false) && failed(pm.run(*module)))
      return createStringError("compilation failed in stage 'entry-points'" + diagnostics);
    Error error = tuneSparseProducts(*module, options, *tuner, tuningFolder);
    return error ? createStringError("--tune: " + llvm::toString(std::move(error)) + diagnostics) : Error::success();
  }

  Error parseModule(StringRef text) {
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    return module ? Error::success() : createStringError("the module cannot be parsed" + diagnostics);
  }

  Error buildModel(const CompileRequest &request) {
    auto built = buildLlama(&context, request.model);
    if (!built)
      return built.takeError();
    module = std::move(*built);
    // The manifest says which target it is for, and whether its kernels are checked.
    auto config = json::parse(module->getOperation()->getAttrOfType<mlir::StringAttr>(names::config).getValue());
    if (!config)
      return config.takeError();
    (*config->getAsObject())["target"] = name(request.target);
    if (request.check)
      (*config->getAsObject())["check"] = true;
    std::string text;
    llvm::raw_string_ostream(text) << *config;
    module->getOperation()->setAttr(names::config, mlir::StringAttr::get(&context, text));
    return Error::success();
  }

  static mlir::DialectRegistry registry() {
    mlir::DialectRegistry registry;
    registerAllDialects(registry);
    return registry;
  }

  CompileOptions options;
  std::string tuningFolder;
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  bool isModel = true; ///< at model level, not entry points
  std::mutex mutex;
  std::string diagnostics;
};

} // namespace

Expected<CompileReport> smet::compileRequest(const CompileRequest &request, StringRef path, StringRef cache,
                                             StringRef dumpDirectory, const Tuner *tuner) {
  Compilation compilation(request, cache, dumpDirectory);
  if (Error error = compilation.build(request, tuner))
    return std::move(error);
  return compilation.compile(path);
}

Expected<CachedProgram> smet::compileCached(const CompileRequest &request, StringRef cache, StringRef dumpDirectory,
                                            const Tuner *tuner) {
  if (std::error_code error = llvm::sys::fs::create_directories(cache))
    return createStringError("cannot make the cache folder '" + cache + "': " + error.message());
  Compilation compilation(request, cache, dumpDirectory);
  if (Error error = compilation.build(request, tuner))
    return std::move(error);
  auto hash = compilation.hash();
  if (!hash)
    return hash.takeError();
  llvm::SmallString<128> path(cache);
  llvm::sys::path::append(path, *hash + ".smet");
  CachedProgram program{std::string(path), std::nullopt};
  if (dumpDirectory.empty() && llvm::sys::fs::exists(path))
    return program;
  auto report = compilation.compile(path);
  if (!report)
    return report.takeError();
  program.report = *report;
  return program;
}
