"""What the functions of the library take: the types that their parameters are annotated with.

They say what is accepted while a graph is built, which is more than what comes out: a function that returns a Tensor
takes a TensorLike. Each stands beside the class that it is about; those about functions are here. Programs find all of
them in `graphflow.typing`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from graphflow._core.graph.defaults import SessionLike as SessionLike
from graphflow._core.graph.devices import DeviceLike as DeviceLike
from graphflow._core.graph.dtypes import DTypeLike as DTypeLike
from graphflow._core.graph.elements import IntTensorLike as IntTensorLike
from graphflow._core.graph.elements import NumberLike as NumberLike
from graphflow._core.graph.elements import SupportsArray as SupportsArray
from graphflow._core.graph.elements import SupportsTensor as SupportsTensor
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.elements import TensorLike as TensorLike
from graphflow._core.graph.elements import VariableLike as VariableLike
from graphflow._core.graph.keys import CollectionNames as CollectionNames
from graphflow._core.graph.shapes import ShapeLike as ShapeLike
from graphflow._core.graph.slices import SparseTensorLike as SparseTensorLike

InitializerLike: TypeAlias = TensorLike | Callable[..., Any]
"""What a variable begins with: an initializer such as gf.zeros_initializer(), or its class, a function of a shape (and
dtype and partition_info, if it has such parameters), a function without parameters, or the value itself."""

Initializer: TypeAlias = Callable[..., Any]
"""What makes an initial value of a shape: gf.zeros_initializer(), its class, or a function of a shape, to which dtype
and partition_info are given by name if it has such parameters."""

Regularizer: TypeAlias = Callable[[Any], Tensor | None]
"""From a variable, or a tensor of its value, to a scalar that is added to the losses; None adds nothing."""

Constraint: TypeAlias = Callable[[Tensor], Tensor]
"""From the value of a variable, after an optimizer's update, to the value that it is to have."""

Activation: TypeAlias = Callable[[Tensor], Tensor]
"""From the outputs of a layer to what it hands out, such as gf.nn.relu."""

Partitioner: TypeAlias = Callable[..., Sequence[int]]
"""From `shape`, a TensorShape, and `dtype`, both given by name, to the number of parts along each axis."""

IntsLike: TypeAlias = int | Sequence[int]
"""An int for all axes, or one for each: kernel sizes, strides."""

TensorStructure: TypeAlias = TensorLike | Mapping[str, Any]
"""A tensor or TensorArray, or a list, tuple, named tuple or dictionary of these, nested or not: inputs, outputs and
states of cells and decoders."""
