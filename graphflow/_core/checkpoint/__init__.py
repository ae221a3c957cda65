"""Checkpoint files: how tensors are stored on disk. This room knows neither graphs nor sessions."""
