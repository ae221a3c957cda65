"""NumPy kernels of branches, loops, printing and tensor arrays."""
