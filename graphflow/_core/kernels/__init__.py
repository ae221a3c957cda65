"""Kernels: a function on NumPy arrays for every op, in the families of `ops`."""
