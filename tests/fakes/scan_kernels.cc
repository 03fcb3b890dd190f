#include "tests/fakes/kernel_language.h"

#include "delta/cuda/scan.cu"
