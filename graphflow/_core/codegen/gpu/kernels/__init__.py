"""The texts of kernels, by what they compute: products, reductions, windows, rows, indices, random numbers."""
