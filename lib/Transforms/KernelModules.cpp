//===- KernelModules.cpp - modules of outlined kernels --------------------===//
//
// The key is a SHA-256 of the printed kernel: OperationEquivalence::computeHash hashes uniqued pointers, differs from
// run to run, and could neither name symbols nor key a cache on disk.
//
//===----------------------------------------------------------------------===//
#include "KernelModules.h"

#include "smet/Dialect/Smet/IR/Names.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace smet;

OwningOpRef<func::FuncOp> smet::createKernel(Location loc, TypeRange arguments, TypeRange results) {
  auto kernel = func::FuncOp::create(loc, names::kernelMain, FunctionType::get(loc.getContext(), arguments, results));
  kernel.addEntryBlock();
  return kernel;
}

SymbolRefAttr KernelModules::add(OwningOpRef<func::FuncOp> kernel, StringRef computes) {
  std::string text;
  llvm::raw_string_ostream os(text);
  kernel->print(os, OpPrintingFlags().printGenericOpForm().useLocalScope());
  SymbolRefAttr &symbol = kernels[text];
  if (symbol)
    return symbol;
  std::string name = "k_" + computes.str() + "_" +
                     llvm::toHex(llvm::SHA256::hash(llvm::arrayRefFromStringRef(text)), true).substr(0, 12);
  llvm::replace(name, '.', '_');
  auto holder = ModuleOp::create(kernel->getLoc(), name);
  holder.setVisibility(SymbolTable::Visibility::Private);
  holder.push_back(kernel.release());
  return symbol =
             SymbolRefAttr::get(table.insert(holder), {FlatSymbolRefAttr::get(holder.getContext(), names::kernelMain)});
}
