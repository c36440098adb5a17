// Tells CMake if this machine runs a build: CMake compiles and runs this file, with SWEEP_RUNS the function to ask.
#include "runs.h"

int main() { return !SWEEP_RUNS(); }
