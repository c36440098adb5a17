// Whether this machine runs a build: CMake compiles and runs this file, with SWEEP_RUNS the function that says so.
#include "runs.h"

int main() { return !SWEEP_RUNS(); }
