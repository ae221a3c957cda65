"""Ops that look at values while a graph runs: printing, assertions, numerics checks, Python functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.graph.types import DTypeLike, TensorLike
from graphflow._core.ops.array.shaping import identity
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope
from graphflow._core.ops.rules import no_outputs, same_as_input


def _rest_none(op: Operation, g: Tensor) -> list[Any]:
    return [g] + [None] * (len(op.inputs) - 1)


PRINT = op_def("Print", ("input: T", "data*: any"), infer=same_as_input, gradient=_rest_none, stateful=True)
ASSERT = op_def(
    "Assert", ("condition: bool", "data*: any"), infer=no_outputs, gradient=NOT_DIFFERENTIABLE, stateful=True
)


def _check_numerics_gradient(op: Operation, g: Tensor) -> tuple[Tensor]:
    return (
        check_numerics(
            g, f"Not a number (NaN) or infinity (Inf) values detected in gradient. {op.attrs['message']}"
        ),
    )


CHECK_NUMERICS = op_def(
    "CheckNumerics",
    ("tensor: T=float",),
    infer=same_as_input,
    gradient=_check_numerics_gradient,
    stateful=True,
)


def _py_func_infer(op: Operation) -> Signature:
    return [(dtype, None) for dtype in op.attrs["Tout"]]


PY_FUNC = op_def(
    "PyFunc",
    ("input*: any",),
    infer=_py_func_infer,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
    dynamic_shape=True,
    blocks=True,
)
PY_FUNC_STATELESS = op_def(
    "PyFuncStateless",
    ("input*: any",),
    infer=_py_func_infer,
    gradient=NOT_DIFFERENTIABLE,
    dynamic_shape=True,
    blocks=True,
)
"""They block: a Python function may run a session, or wait for a thread that does."""


def print_(
    input_: TensorLike,
    data: Sequence[Any],
    message: str | None = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """`input_` itself; each time it is computed, `message` and the values of `data` go to sys.stderr (tf.Print).

    Args:
        input_: A tensor.
        data: A list of tensors.
        message: What the line begins with.
        first_n: Print only that often.
        summarize: How many elements of each value, 3 by default, -1 for all.
        name: A name for the operation.

    Returns:
        A tensor like `input_`.
    """
    attrs = {
        "message": message or "",
        "first_n": -1 if first_n is None else first_n,
        "summarize": 3 if summarize is None else summarize,
    }
    return apply(PRINT, (input_, list(data)), attrs, name).outputs[0]


def assert_(
    condition: TensorLike, data: Sequence[Any], summarize: int | None = None, name: str | None = None
) -> Operation:
    """An operation that raises InvalidArgumentError with the values of `data` unless `condition` holds (tf.Assert).

    Args:
        condition: A scalar bool tensor.
        data: A list of tensors.
        summarize: How many elements of each tensor the error shows.
        name: A name for the operation.

    Returns:
        An operation.
    """
    if not data:
        raise ValueError("Assert needs something to say: `data` must not be empty.")
    with get_default_graph().name_scope(name or "Assert"):
        attrs = {"summarize": 3 if summarize is None else summarize}
        # TensorFlow converts what it is told twice, and a later seed is the number of operations before it.
        for value in data:
            convert_to_tensor(value)
        return apply(ASSERT, (condition, list(data)), attrs, "Assert")


def assert_true(
    condition: TensorLike, message: str, data: Sequence[Any], name: str | None = None
) -> Operation:
    """An operation that raises InvalidArgumentError with a message unless the scalar `condition` holds."""
    return assert_(condition, [message, *data], name=name or "Assert")


def check_numerics(tensor: TensorLike, message: str, name: str | None = None) -> Tensor:
    """The tensor itself; InvalidArgumentError with `message` if it has a NaN or infinity (tf.check_numerics).

    Args:
        tensor: A tensor of floats.
        message: A text that the error begins with.
        name: A name for the operation.

    Returns:
        A tensor like it.
    """
    return apply(CHECK_NUMERICS, (tensor,), {"message": message}, name).outputs[0]


def verify_tensor_all_finite(
    t: TensorLike | None = None,
    msg: str | None = None,
    name: str | None = None,
    x: TensorLike | None = None,
    message: str | None = None,
) -> Tensor:
    """The tensor itself.

    Args:
        t: A tensor of floats.
        msg: What the error says.
        name: A name for the operation.
        x: A newer name of `t`.
        message: A newer name of `msg`.

    Returns:
        A tensor like `t`.

    Raises:
        InvalidArgumentError: If it has a NaN or infinity (tf.verify_tensor_all_finite).
    """
    with op_scope(name, "VerifyFinite", [t, x]):
        given: Any = x if t is None else t
        tensor = convert_to_tensor(given)
        checked = check_numerics(tensor, (message if msg is None else msg) or "", None)
        return identity(checked, name="control_dependency")


def add_check_numerics_ops() -> Operation:
    """An operation that checks every floating-point tensor built so far (tf.add_check_numerics_ops)."""
    graph = get_default_graph()
    checks = []
    for op in graph.get_operations():
        for output in op.outputs:
            if output.dtype.is_floating and op.control_flow_context is None:
                checks.append(check_numerics(output, f"{output.name}"))
    return group(*checks)


@overload
def py_func(
    func: Callable[..., Any], inp: Sequence[Any], Tout: list[Any] | tuple[Any, ...], stateful: bool = True,
    name: str | None = None,
) -> list[Tensor] | Any: ...  # fmt: skip
@overload
def py_func(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: DTypeLike,
    stateful: bool = True,
    name: str | None = None,
) -> Tensor: ...
def py_func(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: DTypeLike | list[Any] | tuple[Any, ...],
    stateful: bool = True,
    name: str | None = None,
) -> Any:
    """Calls a Python function with the values of `inp` as NumPy arrays, each time it runs (tf.py_func).

    Args:
        func: A function of arrays.
        inp: The list of tensors.
        Tout: The dtype, or list of dtypes, of what it returns.
        stateful: Whether it may give something else next time, so that it is not folded away.
        name: A name for the operation.

    Returns:
        A tensor, or a list of tensors if `Tout` is a list.

    Raises:
        InvalidArgumentError: If it returns something else; an exception of its own becomes
            InvalidArgumentError (TypeError, ValueError) or UnknownError.
    """
    if not callable(func):
        raise ValueError(f"Expected func to be callable, got {func!r}")
    many = isinstance(Tout, list | tuple)
    types = [dtypes.as_dtype(t) for t in (Tout if isinstance(Tout, list | tuple) else [Tout])]
    definition = PY_FUNC if stateful else PY_FUNC_STATELESS
    op = apply(definition, (list(inp),), {"function": func, "Tout": types}, name)
    if not types:
        return op if stateful else []
    return op.outputs if many else op.outputs[0]


@overload
def numpy_function(
    func: Callable[..., Any], inp: Sequence[Any], Tout: list[Any] | tuple[Any, ...], name: str | None = None
) -> list[Tensor] | Any: ...
@overload
def numpy_function(
    func: Callable[..., Any], inp: Sequence[Any], Tout: DTypeLike, name: str | None = None
) -> Tensor: ...
def numpy_function(
    func: Callable[..., Any],
    inp: Sequence[Any],
    Tout: DTypeLike | list[Any] | tuple[Any, ...],
    name: str | None = None,
) -> Any:
    """Calls a Python function with NumPy arrays (tf.numpy_function).

    Args:
        func: A function of arrays.
        inp: The list of tensors.
        Tout: The dtype, or list of dtypes, of what it returns.
        name: A name for the operation.

    Returns:
        A tensor, or a list of tensors if `Tout` is a list.
    """
    return py_func(func, inp, Tout, True, name)
