# libsweep_cuda: every equation for one or more GPU architectures.
include(architectures.cmake)
execute_process(COMMAND "${CMAKE_CUDA_COMPILER}" --list-gpu-code OUTPUT_VARIABLE supported)
sweep_choose_architectures(architectures "${SWEEP_CUDA_ARCHITECTURES}" "${supported}")
set(CMAKE_CUDA_ARCHITECTURES ${architectures})
enable_language(CUDA)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
target_compile_features(sweep_options INTERFACE cuda_std_17)

# Compressed kernels have an eighth of the size. A driver that runs CUDA 13 reads them; older drivers are untested.
if(CMAKE_CUDA_COMPILER_VERSION VERSION_GREATER_EQUAL 13)
  target_compile_options(sweep_options INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:--compress-mode=size>")
endif()

# --threads=0 compiles as many architectures at once as there are cores; otherwise the build waits for the largest equation.
target_compile_options(sweep_options INTERFACE
  "$<$<COMPILE_LANGUAGE:CUDA>:--threads=0;--expt-relaxed-constexpr;-Xcompiler=-Wall,-Wextra>"
  "$<$<AND:$<BOOL:${SWEEP_WERROR}>,$<COMPILE_LANGUAGE:CUDA>>:-Werror=all-warnings>")

sweep_add_library(src/abi/library.cpp src/cuda/builds.cu)
sweep_add_kernels(cuda src/cuda/kernels.cu)
sweep_write_builds()

list(JOIN architectures " " architectures)
list(JOIN equations " " names)
set(report "${architectures}; CUDA ${CMAKE_CUDA_COMPILER_VERSION}; ${names}")
