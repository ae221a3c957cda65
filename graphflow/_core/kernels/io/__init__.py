"""Kernels of queues, readers, datasets, parsing, files and summaries."""
