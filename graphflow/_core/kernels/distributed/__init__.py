"""NumPy kernels of the ops between replicas, and of those between runs."""
