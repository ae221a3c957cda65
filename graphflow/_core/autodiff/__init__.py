"""Gradients: reverse-mode differentiation that adds operations to the graph; `gradients` is how it is asked for."""
