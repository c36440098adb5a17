set -e
cmake --fresh -S "$(python -m sweep_core.native)" -B build -DSWEEP_INCLUDE=include "$@"
cmake --build build --parallel "$(cat build/jobs.txt)"
cmake --install build --prefix sweep_vti --strip
