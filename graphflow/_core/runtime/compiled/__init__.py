"""The compiled tier: a hot plan, for the shapes at hand, as native programs over one block of memory.

An instruction becomes one of five things: a view of memory, which is no work; an elementwise or reducing statement,
which is fused into a region; a scalar statement for the scalar machine; a kernel; or a line of the NumPy tier, which
runs between the native programs.
"""
