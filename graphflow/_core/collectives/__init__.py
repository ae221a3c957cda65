"""Collective operations between processes: who takes part, and the arithmetic."""
