#include "smet/Conversion/Reference.h"
