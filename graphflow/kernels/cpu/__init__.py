"""The NumPy kernels: what runs at once, and what every compiled kernel is compared with."""
