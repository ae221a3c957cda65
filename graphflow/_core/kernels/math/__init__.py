"""NumPy kernels of ops on numbers."""
