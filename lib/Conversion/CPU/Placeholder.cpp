#include "smet/Conversion/CPU.h"
void smet::populateSparseCPUKernels(mlir::RewritePatternSet &, const CPUTarget &) {}
