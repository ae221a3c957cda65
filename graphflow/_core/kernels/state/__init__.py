"""NumPy kernels of variables, their updates and checkpoints."""
