//===- Compiler -===//
