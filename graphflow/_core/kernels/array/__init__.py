"""NumPy kernels of ops that make, shape, slice and join arrays."""
