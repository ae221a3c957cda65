"""Queues, readers, datasets, parsing, files, summaries."""
