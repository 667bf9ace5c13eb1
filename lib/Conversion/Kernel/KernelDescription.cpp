//===- KernelDescription.cpp - what a program knows of a GPU kernel -------===//
#include "smet/Conversion/KernelDescription.h"

#include "runtime/program/Abi.h"

using namespace mlir;
using namespace smet;

Type smet::kernelDescriptionType(MLIRContext *context) {
  static_assert(sizeof(smet_kernel) == 8 * sizeof(void *));
  Type pointer = LLVM::LLVMPointerType::get(context), i64 = IntegerType::get(context, 64);
  return LLVM::LLVMStructType::getLiteral(context, {pointer, pointer, i64, i64, pointer, pointer, pointer, i64});
}

LLVM::GlobalOp smet::defineBytes(OpBuilder &b, Location loc, StringRef symbol, StringRef bytes) {
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), bytes.size());
  return LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, LLVM::Linkage::Internal, symbol,
                                b.getStringAttr(bytes), /*alignment=*/16);
}

/// A constant of several fields.
static LLVM::GlobalOp define(OpBuilder &b, Location loc, StringRef symbol, Type type, LLVM::Linkage linkage,
                             function_ref<SmallVector<Value>()> fields) {
  auto global = LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, linkage, symbol, Attribute());
  OpBuilder::InsertionGuard inside(b);
  b.createBlock(&global.getInitializerRegion());
  Value value = LLVM::PoisonOp::create(b, loc, type);
  for (auto [i, field] : llvm::enumerate(fields()))
    value = LLVM::InsertValueOp::create(b, loc, value, field, ArrayRef<int64_t>{static_cast<int64_t>(i)});
  LLVM::ReturnOp::create(b, loc, value);
  return global;
}

void smet::defineKernel(OpBuilder &b, Location loc, StringRef symbol, const KernelDescription &kernel) {
  Operation *module = b.getInsertionBlock()->getParentOp();
  if (auto declared = SymbolTable::lookupNearestSymbolFrom<LLVM::GlobalOp>(module, b.getStringAttr(symbol)))
    declared.erase();
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  auto text = [&](const Twine &name, StringRef value) {
    return defineBytes(b, loc, name.str(), value.str() + std::string(1, 0));
  };
  auto addressOf = [&](LLVM::GlobalOp global) -> Value {
    if (!global)
      return LLVM::ZeroOp::create(b, loc, pointer);
    return LLVM::AddressOfOp::create(b, loc, global);
  };
  SmallVector<LLVM::GlobalOp> sites;
  for (auto [i, site] : llvm::enumerate(kernel.sites))
    sites.push_back(text(kernel.name + ".site" + Twine(i), site));
  LLVM::GlobalOp table, entry, image = kernel.image, name = text(kernel.name + ".name", kernel.name);
  if (!sites.empty())
    table = define(b, loc, kernel.name + ".sites", LLVM::LLVMArrayType::get(pointer, sites.size()),
                   LLVM::Linkage::Internal, [&] { return llvm::map_to_vector(sites, addressOf); });
  if (!kernel.entry.empty())
    entry = text(kernel.name + ".entry", kernel.entry);
  int64_t imageBytes = image ? cast<LLVM::LLVMArrayType>(image.getType()).getNumElements() : 0;
  define(b, loc, symbol, kernelDescriptionType(b.getContext()), LLVM::Linkage::External, [&]() -> SmallVector<Value> {
    auto number = [&](int64_t value) { return LLVM::ConstantOp::create(b, loc, b.getI64Type(), value); };
    LLVM::LLVMFuncOp emulated = kernel.emulated;
    Value function = emulated ? LLVM::AddressOfOp::create(b, loc, emulated).getResult() : addressOf({});
    return {addressOf(name),  function,         number(kernel.sharedBytes), number(sites.size()),
            addressOf(table), addressOf(entry), addressOf(image),           number(imageBytes)};
  });
}
