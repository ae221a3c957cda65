"""NumPy kernels of placeholders, stacks, printing, assertions and Python functions."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphflow import errors
from graphflow.graph import dtypes, shapes
from graphflow.kernels.registry import Kernel, Node, kernel


@kernel("Placeholder", stateful=True)
def _placeholder(node: Node) -> Kernel:
    shape = shapes.text(shapes.as_dims(node.attrs.get("shape")))
    message = (
        f"You must feed a value for placeholder tensor '{node.name}' with dtype {node.dtypes[0].name} and "
        f"shape {shape}: "
        "pass feed_dict={tensor: value} to Session.run"
    )

    def unfed(run: object) -> None:
        raise errors.InvalidArgumentError(None, None, message)

    return unfed


@kernel("StackPushV2", stateful=True)
def _push(node: Node) -> Kernel:
    name = node.attrs["stack"]

    def push(run: Any, value: Any) -> Any:
        run.per_run.setdefault(name, []).append(value)
        return value

    return push


@kernel("StackPopV2", stateful=True)
def _pop(node: Node) -> Kernel:
    name = node.attrs["stack"]
    return lambda run: run.per_run[name].pop()


def summarized(value: Any, count: int) -> str:
    """A value as TensorFlow's Print writes it: the first `count` elements in brackets."""
    array = np.asarray(value)
    flat = array.reshape(-1)
    items = [_printed(v) for v in flat[: count if count >= 0 else flat.size]]
    more = "..." if flat.size > len(items) else ""
    return _nested(items, array.shape, more) if array.ndim else (items[0] if items else "")


def _printed(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, np.bool_ | bool):
        return "1" if value else "0"
    if isinstance(value, np.floating):
        return f"{float(value):.9g}" if not isinstance(value, np.float64) else f"{float(value):.17g}"
    return str(value)


def _nested(items: Sequence[str], shape: tuple[int, ...], more: str) -> str:
    if len(shape) == 1:
        return "[" + " ".join(items) + more + "]"
    step = int(np.prod(shape[1:]))
    rows = (
        [
            _nested(items[start : start + step], shape[1:], more if start + step >= len(items) else "")
            for start in range(0, len(items), step)
        ]
        if step
        else []
    )
    return "[" + "".join(rows) + ("" if len(rows) == shape[0] else more if not rows else "...") + "]"


@kernel("Print", stateful=True, view=True)
def _print(node: Node) -> Kernel:
    message, first, count = node.attrs["message"], node.attrs["first_n"], node.attrs["summarize"]
    printed = [0]

    def run_print(run: Any, value: Any, *data: Any) -> Any:
        if first < 0 or printed[0] < first:
            printed[0] += 1
            text = message + "".join(_bracketed(d, count) for d in data)
            run.write_error(text)
        return value

    return run_print


def _bracketed(value: Any, count: int) -> str:
    text = summarized(value, count)
    return text if np.ndim(value) else f"[{text}]"


@kernel("PrintV2", stateful=True)
def _print_v2(node: Node) -> Kernel:
    stream, end = node.attrs["output_stream"], node.attrs.get("end", "\n")

    def run_print(run: Any, text: Any) -> None:
        decoded = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
        target = {"stdout": sys.stdout, "stderr": sys.stderr}.get(stream)
        if target is None:
            with open(stream.removeprefix("file://"), "a", encoding="utf-8") as file:
                file.write(decoded + end)
        else:
            target.write(decoded + end)
            target.flush()

    return run_print


@kernel("Assert", stateful=True)
def _assert(node: Node) -> Kernel:
    count = node.attrs.get("summarize", 3)

    def check(run: Any, condition: Any, *data: Any) -> None:
        if not np.all(condition):
            listing = " ".join(_bracketed(d, count) for d in data)
            raise errors.InvalidArgumentError(None, None, f"assertion failed: {listing}")

    return check


@kernel("CheckNumerics", view=True)
def _check_numerics(node: Node) -> Kernel:
    message = node.attrs["message"]

    def check(value: Any) -> Any:
        if not np.isfinite(value).all():
            bad = " and ".join(["NaN"] * bool(np.isnan(value).any()) + ["Inf"] * bool(np.isinf(value).any()))
            raise errors.InvalidArgumentError(None, None, f"{message} : Tensor had {bad} values")
        return value

    return check


@kernel("PyFunc", "PyFuncStateless", stateful=True)
def _py_func(node: Node) -> Kernel:
    function, types = node.attrs["function"], node.dtypes

    def call(run: Any, *arguments: Any) -> Any:
        try:
            result = function(*[_for_python(a) for a in arguments])
        except StopIteration as error:
            raise errors.OutOfRangeError(None, None, f"StopIteration: {error}") from error
        except errors.OpError:
            raise
        except Exception as error:
            kind = _PYTHON_ERRORS.get(type(error), errors.UnknownError)
            raise kind(None, None, f"{type(error).__name__}: {error}") from error
        run.check()
        values = [] if not types else list(result) if isinstance(result, list | tuple) else [result]
        if len(values) != len(types):
            raise errors.InvalidArgumentError(
                None, None, f"pyfunc returns {len(values)} values, but expects to see {len(types)} values."
            )
        arrays = tuple(_as_type(v, t, i) for i, (v, t) in enumerate(zip(values, types, strict=True)))
        return arrays[0] if len(types) == 1 else arrays if types else None

    return call


def _for_python(value: Any) -> Any:
    """A value of the user's own to change; a scalar string as bytes."""
    if isinstance(value, np.ndarray):
        return value.copy() if value.ndim or value.dtype != object else value[()]
    return value


_PYTHON_ERRORS = {
    TypeError: errors.InvalidArgumentError,
    ValueError: errors.InvalidArgumentError,
    MemoryError: errors.ResourceExhaustedError,
    NotImplementedError: errors.UnimplementedError,
}


def _as_type(value: Any, dtype: dtypes.DType, position: int) -> Any:
    if dtype is dtypes.string:
        array = np.array(value, dtype=object)
        for index, item in np.ndenumerate(array):
            array[index] = item.encode() if isinstance(item, str) else item
        return array[()] if array.ndim == 0 else array
    array = np.asarray(value)
    if array.dtype != dtype.as_numpy_dtype:
        python = isinstance(value, bool | int | float | list)
        if not python:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"{position}-th value returned by pyfunc is {array.dtype.name}, but expects {dtype.name}",
            )
        array = array.astype(dtype.as_numpy_dtype)
    return array[()] if array.ndim == 0 else array
