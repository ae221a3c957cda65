"""Kernels for CUDA devices, written as texts that numba.cuda compiles; nothing here is imported without need."""
