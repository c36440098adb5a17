"""The discrete equation on a grid: operators, staggering, PML profiles, closures of a free surface, stability."""
