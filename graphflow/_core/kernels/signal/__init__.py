"""NumPy kernels of the ops of signals."""
