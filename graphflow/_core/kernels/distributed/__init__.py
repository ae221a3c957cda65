"""NumPy kernels of the ops between replicas."""
