"""What rewritten functions call: control flow that is a graph's if it depends on a tensor, otherwise Python's."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import graphflow.nest as nest
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.creation import range_, zeros
from graphflow._core.ops.array.shaping import shape
from graphflow._core.ops.control_flow.control_flow import cond, while_loop
from graphflow._core.ops.control_flow.tensor_array import TensorArray
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.math import equal, logical_and, logical_not, logical_or, not_equal
from graphflow._core.ops.state.variable import Variable


class Undefined:
    """A name that has no value yet; using it is an error."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def __getattr__(self, name: str) -> Any:
        raise UnboundLocalError(
            f"{self._name!r} may have no value here: give it one before, or in each branch of an if on a tensor."
        )

    def __bool__(self) -> bool:
        return bool(self.value)

    def __iter__(self) -> Any:
        return iter(self.value)

    def __repr__(self) -> str:
        return f"<{self._name} without a value>"


def _without_value(self: Undefined, *others: Any) -> Any:
    return self.value


_OPERATORS = (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow matmul rmatmul neg abs lt le "
    "gt ge getitem call len and rand or ror xor rxor invert float int"
)
for _operator in str.split(_OPERATORS):
    setattr(Undefined, f"__{_operator}__", _without_value)


def value(read: Callable[[], Any], name: str) -> Any:
    """What a name stands for, or that it has no value."""
    try:
        return read()
    except NameError:
        return Undefined(name)


def is_tensor(thing: Any) -> bool:
    """Whether control flow that depends on it is the graph's."""
    return isinstance(thing, Tensor | Variable)


def _moves(thing: Any) -> bool:
    """Whether a branch or loop can hand it on: tensors, numbers, TensorArrays, and structures of these."""
    if isinstance(thing, Undefined):
        return False
    leaves = nest.flatten(thing)
    kinds = (Tensor, Variable, TensorArray, bool, int, float, complex)
    return bool(leaves) and all(isinstance(leaf, kinds) or hasattr(leaf, "dtype") for leaf in leaves)


def _as_tensors(thing: Any) -> Any:
    return nest.map_structure(lambda x: x if isinstance(x, TensorArray) else convert_to_tensor(x), thing)


def _refuse(changes: str, what: str) -> None:
    if changes:
        raise ValueError(
            f"{changes} is changed in {what} on a tensor, which would be changed once, whatever the tensor is. Give a "
            "local variable the value and change it behind."
        )


# ---- statements ----------------------------------------------------------------------------------------------------


def if_stmt(
    test: Any, body: Callable[..., Any], orelse: Callable[..., Any], state: Sequence[Any], names: Sequence[str],
    changes: str,
) -> Any:  # fmt: skip
    """The values of `names` behind an if; both functions take `state` and give these."""
    if not is_tensor(test):
        return body(*state) if test else orelse(*state)
    _refuse(changes, "an if")
    first: list[Any] = []
    moved: list[int] = []
    lost: set[int] = set()
    second: list[Any] = []

    def then() -> Any:
        first.extend(body(*state))
        moved.extend(number for number, x in enumerate(first) if _moves(x))
        first[:] = [_as_tensors(x) if number in moved else x for number, x in enumerate(first)]
        return [first[number] for number in moved]

    def otherwise() -> Any:
        second.extend(orelse(*state))
        lost.update(number for number in moved if not _moves(second[number]))
        # A value that only the first branch has is none behind the if, but both must give one.
        return [
            nest.map_structure(_blank, first[number]) if number in lost else _as_tensors(second[number])
            for number in moved
        ]

    made = cond(test, then, otherwise, strict=True)
    result: list[Any] = []
    for number, name in enumerate(names):
        if number in moved and number not in lost:
            result.append(made[moved.index(number)])
        else:
            result.append(first[number] if first[number] is second[number] else Undefined(name))
    return tuple(result)


def _blank(like: Any) -> Any:
    if isinstance(like, TensorArray):
        raise ValueError(
            "A TensorArray that one branch of an if on a tensor makes must be made by the other, too."
        )
    return zeros([size or 1 for size in like.dims or ()], like.dtype)


def while_stmt(
    test: Callable[..., Any],
    body: Callable[..., Any],
    state: Sequence[Any],
    names: Sequence[str],
    changes: str,
) -> Any:
    """The values of `names` behind a loop; both functions take their values before."""
    first = test(*state)
    if not is_tensor(first):
        values = tuple(state)
        going = first
        while going:
            values = body(*values)
            going = test(*values)
            if is_tensor(going):
                raise ValueError(
                    f"The condition of a while loop over {', '.join(names)} is a tensor only after its first turn: let "
                    "it be one from the beginning."
                )
        return values
    _refuse(changes, "a while loop")
    return _loop(test, body, state, names)


def _loop(
    test: Callable[..., Any], body: Callable[..., Any], state: Sequence[Any], names: Sequence[str]
) -> Any:
    """A loop of the graph; what cannot be handed on stays as it is, or is a value of each turn alone."""
    carried = [n for n, x in enumerate(state) if _moves(x)]
    if not carried:
        raise ValueError("A loop on a tensor changes nothing that is a tensor or a number.")

    def whole(values: Sequence[Any]) -> list[Any]:
        found = list(state)
        for number, x in zip(carried, values, strict=True):
            found[number] = x
        return found

    def turn(*values: Any) -> Any:
        after = body(*whole(values))
        for number, x in enumerate(after):
            before = state[number]
            if number not in carried and not isinstance(before, Undefined) and x is not before:
                raise ValueError(
                    f"{names[number]!r} is {before!r} before a loop on a tensor and {x!r} in it, which no loop of a "
                    "graph can hand on."
                )
        return [_as_tensors(after[number]) for number in carried]

    start = [_as_tensors(state[number]) for number in carried]
    made = while_loop(lambda *values: test(*whole(values)), turn, start, return_same_structure=True)
    result = list(state)
    for number, x in zip(carried, made, strict=True):
        result[number] = x
    return tuple(result)


def for_stmt(
    items: Any, test: Callable[..., Any] | None, body: Callable[..., Any], state: Sequence[Any], names: Sequence[str],
    changes: str,
) -> Any:  # fmt: skip
    """The values of `names` behind a for loop; body takes an item and their values, test says whether to go on."""
    if not is_tensor(items):
        values = tuple(state)
        for item in items:
            going = test is None or test(*values)
            if is_tensor(going):
                raise ValueError(
                    "A for loop over Python's values is left by a break that depends on a tensor: loop over a tensor, "
                    "such as gf.range."
                )
            if not going:
                break
            values = body(item, *values)
        return values
    _refuse(changes, "a for loop")
    rows = convert_to_tensor(items)
    count = shape(rows)[0]

    def goes_on(index: Any, *values: Any) -> Any:
        left = index < count
        return left if test is None else and_(lambda: left, lambda: test(*values))

    def turn(index: Any, *values: Any) -> Any:
        return (index + 1, *body(rows[index], *values))

    return _loop(goes_on, turn, (convert_to_tensor(0), *state), ("index", *names))[1:]


def python_only(thing: Any, why: str) -> Any:
    """What a loop that is not rewritten depends on, which must be no tensor."""
    if is_tensor(thing):
        raise ValueError(f"A loop on a tensor cannot be converted: {why}.")
    return thing


# ---- expressions ---------------------------------------------------------------------------------------------------


def and_(first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """first and second."""
    one = first()
    return logical_and(one, second()) if is_tensor(one) else one and second()


def or_(first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """first or second."""
    one = first()
    return logical_or(one, second()) if is_tensor(one) else one or second()


def not_(thing: Any) -> Any:
    """Not thing."""
    return logical_not(thing) if is_tensor(thing) else not thing


def eq(one: Any, other: Any) -> Any:
    """one == other, elementwise."""
    return equal(one, other) if is_tensor(one) or is_tensor(other) else one == other


def not_eq(one: Any, other: Any) -> Any:
    """one != other, elementwise."""
    return not_equal(one, other) if is_tensor(one) or is_tensor(other) else one != other


def if_exp(test: Any, body: Callable[[], Any], orelse: Callable[[], Any]) -> Any:
    """body if test else orelse."""
    if is_tensor(test):
        return cond(test, lambda: _as_tensors(body()), lambda: _as_tensors(orelse()))
    return body() if test else orelse()


# ---- functions of Python that take tensors -------------------------------------------------------------------------


def _range(*ends: Any) -> Any:
    return range_(*ends) if any(map(is_tensor, ends)) else builtins.range(*ends)


def _len(thing: Any) -> Any:
    if not is_tensor(thing):
        return len(thing)
    tensor = convert_to_tensor(thing)
    known = tensor.dims[0] if tensor.dims else None
    return shape(tensor)[0] if known is None else known


def _number(kind: Any, dtype: Any) -> Callable[..., Any]:
    def convert(thing: Any = 0, *more: Any) -> Any:
        return cast(thing, dtype) if is_tensor(thing) else kind(thing, *more)

    return convert


BUILTINS: dict[Any, Callable[..., Any]] = {
    builtins.range: _range,
    builtins.len: _len,
    builtins.int: _number(int, dtypes.int32),
    builtins.float: _number(float, dtypes.float32),
}
"""What stands for functions of Python."""
