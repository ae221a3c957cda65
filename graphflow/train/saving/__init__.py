"""Checkpoints and meta graphs: what is saved, restored and kept."""
