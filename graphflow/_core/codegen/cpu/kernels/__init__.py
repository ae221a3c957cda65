"""Kernels that are written as such, for what is no fused region: convolutions, pooling, images, rows, indices."""
