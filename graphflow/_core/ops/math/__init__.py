"""Ops on numbers: elementwise, reductions, products, decompositions."""
