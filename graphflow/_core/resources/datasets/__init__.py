"""Datasets while a graph runs: sources, transformations, iterators."""
