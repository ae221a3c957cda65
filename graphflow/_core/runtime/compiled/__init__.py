"""The compiled tier: a hot plan, for the shapes at hand, as native programs over one block of memory.

What a plan's instructions become: views of memory (no work), elementwise and reducing statements that are fused into
regions, scalar statements for the scalar machine, kernels, and, for the rest, stretches of the NumPy tier in between.
"""
