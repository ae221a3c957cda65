"""What the functions of the library take: the types that their parameters are annotated with.

They say what is accepted while a graph is built, which is more than what comes out: a function that returns a Tensor
takes a TensorLike. Programs find them in `graphflow.typing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from graphflow._core.graph.devices import DeviceSpec
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.shapes import Dimension, TensorShape
from graphflow._core.graph.slices import SparseTensor, SparseTensorValue

if TYPE_CHECKING:
    from graphflow._core.graph.graph import Graph


@runtime_checkable
class SupportsTensor(Protocol):
    """What can become a tensor by itself: variables, partitioned ones too, IndexedSlices, and classes of programs.

    `dtype` is the element type that the place asks for, None if any will do; ValueError if it is another.
    """

    def as_graph_tensor(self, dtype: DType | None = None, name: str | None = None) -> Tensor:
        """The tensor."""
        ...


class SupportsArray(Protocol):
    """What NumPy can make an array of: NumPy's own arrays, and those of other libraries, such as pandas' columns."""

    def __array__(self) -> np.ndarray[Any, Any]: ...


class SessionLike(Protocol):
    """What runs a graph: a Session, an InteractiveSession, and what the training helpers hand to hooks."""

    @property
    def graph(self) -> Graph:
        """The graph that it runs."""
        ...

    def run(self, fetches: Any, feed_dict: Any = None) -> Any:
        """The values of the fetches."""
        ...


if TYPE_CHECKING:
    _Nested: TypeAlias = Sequence["TensorLike"]
else:  # A name inside would be looked for where a program uses the type (typing.get_type_hints).
    _Nested = Sequence[Any]

TensorLike: TypeAlias = (
    Tensor | SupportsTensor | SupportsArray | np.ndarray[Any, Any] | np.generic | complex | str | bytes
    | TensorShape | Dimension | _Nested | list[object]
)  # fmt: skip
"""A tensor, or what becomes one: a variable, a NumPy array or scalar, a Python bool, int, float, complex, str or bytes,
a fully known shape, or a list, nested or not, of these.

An IndexedSlices becomes dense; a SparseTensor is none of these. A list of ints and tensors that was given a name is for
mypy a list of objects."""

SparseTensorLike: TypeAlias = SparseTensor | SparseTensorValue
"""A sparse tensor, or the arrays of one."""

_IntItem: TypeAlias = Tensor | SupportsTensor | SupportsArray | np.integer[Any] | int | Dimension

IntTensorLike: TypeAlias = (
    _IntItem
    | np.ndarray[Any, Any]
    | TensorShape
    | Sequence[_IntItem]
    | Sequence[Sequence[_IntItem]]
    | list[object]
)
"""Whole numbers that may be computed: axes, sizes, indices, and shapes as gf.reshape and gf.zeros take them.

An int or a list of ints, a list of lists of them, an integer tensor, variable or array, a list in which some are
tensors, or a fully known TensorShape. A string is none."""

ShapeLike: TypeAlias = (
    TensorShape | Dimension | int | np.integer[Any] | np.ndarray[Any, Any]
    | Sequence[int | np.integer[Any] | Dimension | None] | None
)  # fmt: skip
"""A shape known while the graph is built, as gf.placeholder and gf.get_variable take it.

A list or tuple of extents, each an int, a Dimension, or None if unknown; a TensorShape; an int for a vector; None if
not even the rank is known. No tensor: that is an IntTensorLike."""

DTypeLike: TypeAlias = DType | np.dtype[Any] | str | int | type[complex | str | bytes | np.generic]
"""The type of elements: gf.float32, "float32", np.float32, np.dtype("float32"), Python's bool, int, float, complex, str
or bytes, or TensorFlow's number for one."""

DeviceLike: TypeAlias = DeviceSpec | str | Callable[[Operation], DeviceSpec | str | None]
"""A device: its name, such as "/job:ps/task:0" or "/cpu:0", a DeviceSpec, or a function from an operation to one."""

InitializerLike: TypeAlias = TensorLike | Callable[..., Any]
"""What a variable begins with: an initializer such as gf.zeros_initializer(), or its class, a function of a shape (and
dtype and partition_info, if it has such parameters), a function without parameters, or the value itself."""

Initializer: TypeAlias = Callable[..., Any]
"""What makes an initial value of a shape: gf.zeros_initializer(), its class, or a function of a shape, to which dtype
and partition_info are given by name if it has such parameters."""

Regularizer: TypeAlias = Callable[[Tensor], Tensor | None]
"""From the value of a variable to a scalar that is added to the losses; None adds nothing."""

Constraint: TypeAlias = Callable[[Tensor], Tensor]
"""From the value of a variable, after an optimizer's update, to the value that it is to have."""

Activation: TypeAlias = Callable[[Tensor], Tensor]
"""From the outputs of a layer to what it hands out, such as gf.nn.relu."""

Partitioner: TypeAlias = Callable[..., Sequence[int]]
"""From `shape`, a TensorShape, and `dtype`, both given by name, to the number of parts along each axis."""

CollectionNames: TypeAlias = str | Iterable[str]
"""The name of a collection of the graph, or several."""

IntsLike: TypeAlias = int | Sequence[int]
"""An int for all axes, or one for each: kernel sizes, strides."""
