//===- Program -===//
