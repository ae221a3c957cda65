"""Protects operations from what programs do with the lists of their results: these are the programs' own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import graphflow as gf


@pytest.mark.parametrize(
    "parts",
    [
        lambda x: gf.unstack(x),
        lambda x: gf.split(x, 3),
        lambda x: gf.split(x, [1, 1, 1]),
        lambda x: gf.dynamic_partition(x, [0, 1, 2], 3),
        lambda x: gf.meshgrid(x, x),
    ],
)
def test_a_list_that_grows_changes_no_operation(parts: Callable[[gf.Tensor], list[gf.Tensor]]) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        found = parts(gf.constant([1.0, 2.0, 3.0]))
        last = found[-1]
        found.insert(0, gf.constant(0.0))
        assert session.run(found)[-1].ravel()[-1] == session.run(last).ravel()[-1] == 3.0
        found.pop()
        assert last.op.outputs[last.value_index] is last
