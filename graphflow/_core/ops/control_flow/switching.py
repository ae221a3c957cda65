"""switch_case: one of several functions, by its number."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.control_flow.control_flow import case
from graphflow._core.ops.math.comparison import equal


def switch_case(
    branch_index: Tensor,
    branch_fns: Sequence[Callable[[], Any] | tuple[int, Callable[[], Any]]] | Mapping[int, Callable[[], Any]],
    default: Callable[[], Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """The result of the function with this number; only that one runs (tf.switch_case).

    Args:
        branch_index: A scalar tensor of integers.
        branch_fns: Functions without arguments, or pairs (number, function), or a dictionary of these; the numbers are
            0 to the number of functions - 1.
        default: Is called for any other number; None for the last function.
        name: A name for the operation.

    Returns:
        What the function gives.

    Raises:
        TypeError: If branch_index is no tensor of integers, or a function or its number is none.
        ValueError: If there is no function, or the numbers have gaps.
    """
    if not isinstance(branch_index, Tensor) or not branch_index.dtype.is_integer:
        raise TypeError(f"branch_index must be a Tensor of integers, got {branch_index!r}.")
    if not isinstance(branch_fns, list | tuple | Mapping):
        raise TypeError(f"branch_fns must be a list, tuple, or dict, got {type(branch_fns).__name__}.")
    given: list[Any] = list(branch_fns.items()) if isinstance(branch_fns, Mapping) else list(branch_fns)
    if not given:
        raise ValueError("switch_case() needs at least one item in branch_fns.")
    pairs: list[Any] = list(enumerate(given)) if all(map(callable, given)) else given
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in branch_fns must be a 2-tuple, got {pair!r}.")
        if not isinstance(pair[0], int):
            raise TypeError(f"key must be a Python `int`, got {pair[0]!r}.")
        if not callable(pair[1]):
            raise TypeError(f"fn for key {pair[0]} must be callable.")
    by_number = dict(pairs)
    if sorted(number for number, _ in pairs) != list(range(len(pairs))):
        raise ValueError(
            f"branch indices must form contiguous range of [0 to {len(pairs)}), got {list(by_number)}."
        )
    functions = [by_number[number] for number in range(len(pairs))]
    last = functions.pop() if default is None else default
    if not callable(last):
        raise TypeError("default must be callable.")
    if not functions:
        with get_default_graph().name_scope(name):
            return last()
    return case([(equal(branch_index, i), function) for i, function in enumerate(functions)], last, name=name)
