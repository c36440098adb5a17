// The processor features that each build needs. CMake also asks, for the machine on which it builds.
#ifndef SWEEP_CPU_RUNS_H
#define SWEEP_CPU_RUNS_H

namespace {

inline bool runs_portable() { return true; }
#if defined(__x86_64__)
inline bool runs_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
inline bool runs_avx512() {
  return runs_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}
#endif

}  // namespace
#endif
