"""Branches, loops, assertions, tensor arrays."""
