"""A backend for SWEEP in one file: NumPy arrays, and SWEEP's compiled time loop on the CPU."""
