"""Pure arithmetic on arrays: distances, divergence, variance, classes, bounds and their intervals."""
