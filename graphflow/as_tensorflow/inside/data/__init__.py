"""Modules of tensorflow.python.data.util."""
