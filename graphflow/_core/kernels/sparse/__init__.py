"""NumPy kernels of the ops of sparse tensors."""
