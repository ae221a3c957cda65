"""Protects the cells of contrib.rnn: their variables and what they compute are TensorFlow 1.15's."""

from __future__ import annotations

import json
from typing import Any, Final

import numpy as np
import pytest

import graphflow as gf
from tests.contrib.rnn import cell_cases

RECORDED: Final[dict[str, Any]] = json.loads(cell_cases.RECORDED.read_text("utf-8"))


@pytest.mark.parametrize("name", list(RECORDED))
def test_agrees_with_tensorflow(name: str) -> None:
    found, expected = cell_cases.results(gf, name), RECORDED[name]
    assert found["variables"] == expected["variables"]
    for got, want in zip(found["values"], expected["values"], strict=True):
        np.testing.assert_allclose(got, want, atol=3e-6)


def test_sizes_that_groups_do_not_divide_are_refused() -> None:
    with pytest.raises(ValueError, match="num_units must be divisible by number_of_groups: 5, 2"):
        gf.contrib.rnn.GLSTMCell(5, number_of_groups=2)
    cell = gf.contrib.rnn.GLSTMCell(4, number_of_groups=2)
    with pytest.raises(ValueError, match=r"input size \(3\) must be divisible by number_of_groups \(2\)"):
        cell(gf.ones([1, 3]), cell.zero_state(1, gf.float32))
    with pytest.raises(ValueError, match="input size must be statically known"):
        cell(gf.placeholder(gf.float32, [1, None]), cell.zero_state(1, gf.float32))


def test_blocks_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="Must specify num_frequency_blocks"):
        gf.contrib.rnn.GridLSTMCell(2)
    cell = gf.contrib.rnn.GridLSTMCell(2, num_frequency_blocks=[2], feature_size=2, frequency_skip=1)
    with pytest.raises(ValueError, match="requires 2 but gets 4"):
        cell(gf.ones([1, 5]), cell.zero_state(1, gf.float32))


def test_a_compiled_wrapper_gives_what_its_cell_gives() -> None:
    cell = gf.nn.rnn_cell.GRUCell(2)
    x, state = gf.ones([1, 3]), gf.ones([1, 2])
    plain, _ = cell(x, state)
    wrapped, _ = gf.contrib.rnn.CompiledWrapper(cell)(x, state)
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        np.testing.assert_array_equal(*session.run([plain, wrapped]))
