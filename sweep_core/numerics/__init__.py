"""Numerics without physics: grids, stencils, absorbing layers, free surfaces and dispersion."""
