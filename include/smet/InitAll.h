//===- InitAll.h - everything that tools register ---------------*- C++ -*-===//
#ifndef SMET_INITALL_H
#define SMET_INITALL_H

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace smet {

/// The smet and nn dialects, all upstream dialects, and their interfaces.
void registerAllDialects(mlir::DialectRegistry &registry);

/// All passes and pipelines of smet, and all upstream passes.
void registerAllPasses();

} // namespace smet

#endif // SMET_INITALL_H
