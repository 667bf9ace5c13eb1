//===- Models -===//
