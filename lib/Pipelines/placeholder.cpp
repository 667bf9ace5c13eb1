//===- Pipelines -===//
