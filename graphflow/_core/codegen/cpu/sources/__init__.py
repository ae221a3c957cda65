"""Kernels whose source, made here as a text, says all that they are: a change of these files compiles none but theirs.

They may use what llvm/intrinsics.py gives to every kernel, and nothing else of this package.
"""
