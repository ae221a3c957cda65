"""Layers that go step by step over time."""
