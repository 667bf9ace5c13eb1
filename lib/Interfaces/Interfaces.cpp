//===- Interfaces.cpp - generated definitions of the op interfaces --------===//
#include "smet/Interfaces/DifferentiableOpInterface.h"
#include "smet/Interfaces/KernelOpInterface.h"

#include "smet/Interfaces/DifferentiableOpInterface.cpp.inc"
#include "smet/Interfaces/KernelOpInterface.cpp.inc"
