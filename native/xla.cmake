# libsweep_xla: the shim between XLA and the kernels. It runs on the jaxlib whose headers it was compiled with and on newer
# ones, never on an older one, so it holds the version. SWEEP_JAXLIB is "version folder".
string(REGEX MATCH "^([^ ]+) (.+)$" SWEEP_JAXLIB "${SWEEP_JAXLIB}")
set(version "${CMAKE_MATCH_1}")
set(headers "${CMAKE_MATCH_2}")
sweep_add_library(src/abi/xla_shim.cpp)
target_include_directories(${target} SYSTEM PRIVATE "${headers}")
target_compile_definitions(${target} PRIVATE SWEEP_XLA_JAXLIB_VERSION="${version}")
set(report "headers of jaxlib ${version}")
