"""NumPy kernels of ops that an extension has defined."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeAlias

from graphflow._core.graph.claims import calling_module
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.op_def import is_extension
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
    if there are several. It must not write to what it is given. To refuse a value it raises
    gf.errors.InvalidArgumentError(None, None, text): the operation's name and the user's line are added.

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
        add_kernel(op_types, factory, False, view, module)
        return factory

    return register
