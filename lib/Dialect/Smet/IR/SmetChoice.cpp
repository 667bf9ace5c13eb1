//===- SmetChoice.cpp - how a sparse product is computed ------------------===//
#include "smet/Dialect/Smet/IR/Choice.h"

#include "smet/Dialect/Smet/IR/Names.h"
#include "smet/Dialect/Smet/IR/Smet.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace smet;

namespace {

/// Takes the fields of a choice out of a dictionary. `wrong` says what the first bad one should be.
struct FieldReader {
  NamedAttrList left;
  std::string wrong;

  void operator()(StringRef name, SpmmChoice::Kernel &kernel) {
    auto text = dyn_cast_or_null<StringAttr>(left.erase(name));
    const auto *known = llvm::find_if(kernelNames, [&](StringRef known) { return text && text == known; });
    if (known == std::end(kernelNames))
      wrong = "kernel must be one of \"tiles\", \"scatter\", \"panels\"";
    else
      kernel = SpmmChoice::Kernel(known - kernelNames);
  }
  void operator()(StringRef name, bool &value) {
    take<BoolAttr>(name, "true or false", [&](BoolAttr attr) { value = attr.getValue(); });
  }
  void operator()(StringRef name, int64_t &value) {
    take<IntegerAttr>(name, "an i64", [&](IntegerAttr attr) { value = attr.getInt(); });
  }

private:
  template <typename Attr> void take(StringRef name, StringRef what, function_ref<void(Attr)> set) {
    Attribute given = left.erase(name);
    auto attr = dyn_cast_or_null<Attr>(given);
    if (attr && (std::is_same_v<Attr, BoolAttr> || cast<IntegerAttr>(given).getType().isSignlessInteger(64)))
      set(attr);
    else if (given)
      wrong = (name + " must be " + what).str();
  }
};

} // namespace

/// Who has the fields.
static std::string nameOf(const SpmmChoice &choice) { return kernelNames[size_t(choice.kernel)]; }
static std::string nameOf(const SddmmChoice &) { return "sddmm"; }

template <typename Choice> static std::string read(Attribute attr, Choice &choice) {
  auto dictionary = dyn_cast<DictionaryAttr>(attr);
  if (!dictionary)
    return "it must be a dictionary";
  FieldReader reader{NamedAttrList(dictionary), ""};
  visitFields(choice, reader);
  if (!reader.wrong.empty())
    return reader.wrong;
  if (!reader.left.empty())
    return nameOf(choice) + " has no field '" + reader.left.begin()->getName().str() + "'";
  return checkNumbers(choice);
}

template <typename Choice> static DictionaryAttr write(MLIRContext *context, const Choice &choice) {
  Builder b(context);
  NamedAttrList fields;
  visitFields(choice, [&](StringRef name, const auto &value) {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, SpmmChoice::Kernel>)
      fields.set(name, b.getStringAttr(kernelNames[size_t(value)]));
    else if constexpr (std::is_same_v<T, bool>)
      fields.set(name, b.getBoolAttr(value));
    else
      fields.set(name, b.getI64IntegerAttr(value));
  });
  return fields.getDictionary(context);
}

std::string smet::readChoice(Attribute attr, SpmmChoice &choice) { return read(attr, choice); }
std::string smet::readChoice(Attribute attr, SddmmChoice &choice) { return read(attr, choice); }
DictionaryAttr smet::writeChoice(MLIRContext *context, const SpmmChoice &choice) { return write(context, choice); }
DictionaryAttr smet::writeChoice(MLIRContext *context, const SddmmChoice &choice) { return write(context, choice); }

//===----------------------------------------------------------------------===//
// Verification
//===----------------------------------------------------------------------===//

static std::string checkChoice(Operation *op, Attribute attr) {
  SpmmChoice spmm;
  SddmmChoice sddmm;
  if (isa<SpmmOp>(op))
    return readChoice(attr, spmm);
  if (isa<SddmmOp, SddmmAdamOp>(op))
    return readChoice(attr, sddmm);
  return "the op is no smet.spmm, smet.sddmm or smet.sddmm_adam";
}

/// Names on arguments and results of functions are not looked at here.
LogicalResult SmetDialect::verifyOperationAttribute(Operation *op, NamedAttribute attr) {
  StringRef name = attr.getName();
  if (name == names::choice) {
    std::string wrong = checkChoice(op, attr.getValue());
    return wrong.empty() ? success() : op->emitOpError("has a smet.choice that it cannot take: ") << wrong;
  }
  static constexpr StringLiteral ofModules[] = {names::adamw, names::growth, names::layers, names::config,
                                                names::manifest};
  if (name == names::remat || (isa<ModuleOp>(op) && llvm::is_contained(ofModules, name)))
    return success();
  return op->emitOpError("has the attribute '") << name << "', which the dialect does not know on it";
}
