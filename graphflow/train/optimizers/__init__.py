"""Optimizers: the base class, the standard ones, and those that wrap another."""
