//===- Transforms -===//
