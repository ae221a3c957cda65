"""NumPy kernels of ops that an extension has defined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from graphflow import errors
from graphflow._core.graph.claims import calling_module
from graphflow._core.graph.dtypes import DType, string
from graphflow._core.graph.op_def import is_extension, lookup
from graphflow._core.graph.shapes import compatible
from graphflow._core.graph.shapes import text as shape_text
from graphflow._core.kernels.registry import add_kernel


class KernelNode(Protocol):
    """The operation that a kernel is made for."""

    @property
    def name(self) -> str:
        """The operation's name."""

    @property
    def type(self) -> str:
        """The op type."""

    @property
    def attrs(self) -> Mapping[str, Any]:
        """The attributes; also the dtype of each type variable of the op, by its name."""

    @property
    def device(self) -> str:
        """The full name of the device that it runs on."""

    @property
    def dtypes(self) -> tuple[DType, ...]:
        """The dtype of each output."""


Factory: TypeAlias = Callable[[KernelNode], Callable[..., Any]]


def kernel(*op_types: str, view: bool = False) -> Callable[[Factory], Factory]:
    """Registers the NumPy kernel of op types, as a decorator of a function(node) that returns what runs.

    The decorated function is called once for each operation of a plan, so it looks attributes up and prepares what it
    can. What it returns is called at each run, by several threads at once, with the values of the inputs: NumPy arrays
    or NumPy scalars of the declared dtypes, strings as arrays of bytes objects; a list of inputs comes as so many
    arguments. It returns the result as an array or NumPy scalar of exactly the dtype that the shape rule says, a tuple
    if there are several; anything else is an InternalError that says so. It must not write to what it is given. To
    refuse a value it raises gf.errors.InvalidArgumentError(None, None, text): the operation's name and the user's line
    are added.

    Of an op that writes variables, the function is called with their values first, which are read-only, and returns
    their new values, of the same dtypes and shapes, and nothing else: one array, or a tuple if there are several. They
    are written together once it has returned, or none of them if it raises. No one else changes them meanwhile, so it
    must not wait for another run.

    Args:
        op_types: Names of op types that an extension has defined.
        view: Whether a result may share memory with an input.

    Returns:
        The decorator, which returns the function as it is.

    Raises:
        KeyError: No op type has that name.
        ValueError: The op type has a kernel, or is one of graphflow's own.
    """
    module = calling_module(1)
    for op_type in op_types:
        if not is_extension(op_type):
            raise ValueError(f"{op_type} is an op of graphflow's own: its kernel is not to be changed.")

    def register(factory: Factory) -> Factory:
        add_kernel(op_types, lambda node: _checked(factory, node), False, view, module)
        return factory

    return register


def _checked(factory: Factory, node: Any) -> Callable[..., Any]:
    """The kernel of an operation, whose results have to be what the shape rule has said, or it is an InternalError."""
    try:
        run = factory(node)
    except Exception as error:
        text = f"{node.type} {node.name!r}: its kernel cannot be made: {type(error).__name__}: {error}"
        raise errors.InternalError(None, None, text) from error
    written = [spec.name for spec in lookup(node.type).inputs if spec.written]
    if written:
        return _update(run, written, node)
    wanted = [None if d is string else np.dtype(d.as_numpy_dtype) for d in node.dtypes]
    seen = False

    def wrong(position: int, what: str) -> errors.InternalError:
        return errors.InternalError(None, None, f"Its kernel has returned {what} as output {position}.")

    def look(results: Sequence[Any]) -> None:
        """Looks at dtypes in each run, and at shapes, which are seldom wrong but for some, in the first."""
        nonlocal seen
        for position, (result, dtype) in enumerate(zip(results, wanted, strict=True)):
            found = getattr(result, "dtype", None)
            if dtype is not None and found != dtype:
                kind = type(result).__name__ if found is None else found
                raise wrong(position, f"{kind}, and the op's definition says {dtype}")
        if not seen:
            seen = True
            for position, (result, dims) in enumerate(zip(results, node.shapes, strict=True)):
                shape = np.shape(result)
                if not compatible(shape, dims):
                    raise wrong(
                        position, f"the shape {shape}, and the op's definition says {shape_text(dims)}"
                    )

    def single(*inputs: Any) -> Any:
        result = run(*inputs)
        look((result,))
        return result

    def several(*inputs: Any) -> Any:
        results = run(*inputs)
        if not isinstance(results, tuple | list) or len(results) != len(wanted):
            told = f"must return {len(wanted)} results as a tuple, got {type(results).__name__}"
            raise errors.InternalError(None, None, f"Its kernel {told}.")
        look(results)
        return results

    return single if len(wanted) == 1 else several


def _update(run: Callable[..., Any], written: Sequence[str], node: Any) -> Callable[..., Any]:
    """The kernel of what writes variables: it gets their cells, and gives the first one's new value if it is used."""
    count = len(written)
    used = not node.used or node.used[0]

    def changed(arrays: Sequence[Any], rest: Sequence[Any]) -> list[Any]:
        results = run(*map(_read_only, arrays), *rest)
        results = (results,) if count == 1 else results
        if not isinstance(results, tuple | list) or len(results) != count:
            told = (
                f"must return the new values of {', '.join(written)} as a tuple, got {type(results).__name__}"
            )
            raise errors.InternalError(None, None, f"Its kernel {told}.")
        for name, result, array in zip(written, results, arrays, strict=True):
            dtype = getattr(result, "dtype", type(result).__name__)
            if dtype != array.dtype or np.shape(result) != array.shape:
                raise errors.InternalError(
                    None,
                    None,
                    f"Its kernel has returned {dtype} of shape {np.shape(result)} for the variable {name!r}, which is "
                    f"{array.dtype} of shape {array.shape}.",
                )
        # One variable's new value may be another's old one.
        return [
            np.array(result) if any(np.may_share_memory(result, array) for array in arrays) else result
            for result in results
        ]

    def update(*arguments: Any) -> Any:
        cells, rest = arguments[:count], arguments[count:]

        def change(arrays: list[Any]) -> None:
            for array, value in zip(arrays, changed(arrays, rest), strict=True):
                array[...] = value

        cells[0].change_together(cells, change)
        return cells[0].get().copy() if used else None

    return update


def _read_only(array: Any) -> Any:
    view = array.view()
    view.flags.writeable = False
    return view
