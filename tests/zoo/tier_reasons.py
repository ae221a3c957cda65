"""The models with a plan that stays on NumPy, and why: the tests check that it does, and that no others do."""

STAYS: dict[str, str] = {}
"""For each model the class of the reason, from graphflow/_core/compiler/reasons.py."""
