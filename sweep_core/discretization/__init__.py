"""What makes numbers of an equation on a grid: stencils, staggering, PML profiles, closures of a free surface."""
