// The instruction sets that CMake compiled, and what a processor needs to run them.
namespace {

bool always() { return true; }
#if defined(__x86_64__)
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

}  // namespace

#define SWEEP_RUNS_portable always
#define SWEEP_RUNS_avx2 has_avx2
#define SWEEP_RUNS_avx512 has_avx512
#include "../builds.h"
