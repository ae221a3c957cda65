"""Which of the two ways of running a program has."""

from __future__ import annotations


def executing_eagerly() -> bool:
    """False: operations are parts of a graph, which a session runs (tf.contrib.eager.executing_eagerly)."""
    return False
