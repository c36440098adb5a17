// The builds for the instruction sets that CMake compiled.
#include "runs.h"

#define SWEEP_RUNS_portable runs_portable
#define SWEEP_RUNS_avx2 runs_avx2
#define SWEEP_RUNS_avx512 runs_avx512
#include "../abi/builds.h"
