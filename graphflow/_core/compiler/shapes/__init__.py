"""Shapes of the values of a plan: which follow from those of its feeds, from fed sizes, and from data alone."""
