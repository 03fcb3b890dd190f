#include "tests/fakes/kernel_language.h"

#include "executor/cuda/pack.cu"
