"""NumPy kernels of pictures."""
