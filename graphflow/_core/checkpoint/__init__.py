"""Checkpoint files: how tensors lie on disk, with nothing of graphs or sessions in it."""
