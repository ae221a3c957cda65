"""NumPy kernels of the ops of neural networks."""
