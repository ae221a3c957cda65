"""Protects where windows lie: SAME and VALID as TensorFlow defines them, and both directions of the taps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphflow._core.kernels.nn.windows import Axis

axes = st.builds(
    Axis.of,
    st.integers(0, 20),
    st.integers(1, 6),
    st.integers(1, 4),
    st.sampled_from(["SAME", "VALID"]),
    st.integers(1, 3),
)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((5, 3, 1, "SAME"), (1, 5, 1)),
        ((5, 2, 1, "SAME"), (0, 5, 1)),
        ((6, 3, 2, "SAME"), (0, 3, 1)),
        ((28, 5, 1, "SAME"), (2, 28, 2)),
        ((7, 3, 2, "VALID"), (0, 3, 0)),
        ((2, 3, 1, "VALID"), (0, 0, 0)),
        ((5, 1, 3, "SAME"), (0, 2, 0)),
        ((9, 3, 1, "SAME", 2), (2, 9, 2)),
    ],
)
def test_padding_and_outputs_are_tensorflows(arguments: tuple, expected: tuple[int, int, int]) -> None:
    axis = Axis.of(*arguments)
    assert (axis.before, axis.outputs, axis.after) == expected


@given(axes)
def test_both_directions_name_the_same_pairs(axis: Axis) -> None:
    forward = {(o, k, i) for o, pairs in enumerate(axis.taps()) for k, i in pairs}
    backward = {(o, k, i) for i, pairs in enumerate(axis.transposed_taps()) for k, o in pairs}
    assert forward == backward
    assert all(0 <= i < axis.inputs and 0 <= k < axis.size for _, k, i in forward)
    assert all(i == o * axis.stride + k * axis.dilation - axis.before for o, k, i in forward)


@given(axes)
def test_padding_reaches_to_the_last_window(axis: Axis) -> None:
    if axis.outputs:
        last = (axis.outputs - 1) * axis.stride + axis.extent
        assert last <= axis.before + axis.inputs + axis.after


@pytest.mark.parametrize("arguments", [(5, 0), (5, 3, 0), (-1, 3), (5, 3, 1, "same"), (5, 3, 1, "SAME", 0)])
def test_what_is_no_window_is_refused(arguments: tuple) -> None:
    with pytest.raises(ValueError):
        Axis.of(*arguments)
