"""Ops that make, shape, slice and join arrays."""
