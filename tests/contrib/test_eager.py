"""Protects tf.contrib.eager's names for graphs, and that eager execution is refused with what to do instead."""

from __future__ import annotations

import pytest

import graphflow as gf


def test_what_means_something_in_graphs_is_there() -> None:
    eager = gf.contrib.eager
    assert not eager.executing_eagerly() and not eager.in_eager_mode()
    assert eager.Variable is gf.Variable and eager.py_func is gf.py_function
    assert eager.Checkpoint is gf.train.Checkpoint
    with pytest.raises(AttributeError, match="graphflow runs graphs only"):
        eager.enable_eager_execution  # type: ignore[attr-defined]  # noqa: B018
