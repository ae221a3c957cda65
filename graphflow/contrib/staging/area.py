"""Staging areas: what one run puts aside, another takes, in order or by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import OpDef
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import DTypeLike, IntTensorLike, ShapeLike
from graphflow._core.ops.array.array import identity
from graphflow._core.ops.control_flow.flow_basics import no_op
from graphflow._core.ops.core import apply, convert_to_tensor, op_scope
from graphflow._core.ops.distributed import staging
from graphflow._core.ops.state.scopes import colocate_with


class BaseStagingArea:
    """What both kinds of staging areas share.

    Args:
        dtypes: Of the tensors that are put together.
        shapes: Their shapes; by default of any.
        names: Their names, if they are put as dictionaries.
        shared_name: Areas of one shared name are one.
        capacity: How many may wait; 0 for any number.
        memory_limit: How many bytes may wait; 0 for any number.

    Raises:
        ValueError: If capacity or memory_limit is negative, or there is another number of shapes or names.
    """

    def __init__(
        self,
        dtypes: Sequence[DTypeLike],
        shapes: Sequence[ShapeLike] | None = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        for what, most in (("capacity", capacity), ("memory_limit", memory_limit)):
            if most < 0:
                raise ValueError(f"{what} must be >= 0, got {most}.")
        for kind, given in (("shapes", shapes), ("names", names)):
            if given is not None and len(given) != len(dtypes):
                raise ValueError(
                    f"StagingArea {kind} must be the same length as dtypes: there are {len(given)} for {len(dtypes)}."
                )
        if shared_name is not None and not isinstance(shared_name, str):
            raise ValueError(f"shared_name must be a string, got {shared_name!r}.")
        self._types = [as_dtype(one) for one in dtypes]
        self._shapes = [TensorShape(one) for one in shapes or [None] * len(self._types)]
        self._names = None if names is None else list(names)
        graph = get_default_graph()
        self._name = graph.unique_name(type(self).__name__) if shared_name is None else shared_name
        self._capacity = int(capacity)
        self._memory_limit = int(memory_limit)
        with op_scope(None, f"{self._name}_root", ()):
            self._root = no_op()

    @property
    def dtypes(self) -> list[DType]:
        """Those of the tensors."""
        return self._types

    @property
    def shapes(self) -> list[TensorShape]:
        """Those of the tensors."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """Those of the tensors, or None."""
        return self._names

    @property
    def name(self) -> str:
        """The area's; areas of one name are one."""
        return self._name

    @property
    def capacity(self) -> int:
        """How many may wait; 0 for any number."""
        return self._capacity

    @property
    def memory_limit(self) -> int:
        """How many bytes may wait; 0 for any number."""
        return self._memory_limit

    # ---- for the kinds --------------------------------------------------------------------------------------------

    def _apply(
        self, definition: OpDef, inputs: Sequence[Any], dtypes: Sequence[DType], name: str, **more: Any
    ) -> Operation:
        attrs = {
            "capacity": self._capacity,
            "memory_limit": self._memory_limit,
            "dtypes": list(dtypes),
            "container": "",
            "shared_name": self._name,
        }
        return apply(definition, inputs, attrs | more, name)

    @contextmanager
    def _placed(self) -> Iterator[None]:
        with colocate_with(self._root):
            yield

    def _converted(self, values: Any, indices: Sequence[int] | None) -> tuple[list[Tensor], list[int]]:
        """What is put as tensors, and the place of each."""
        if isinstance(values, Mapping):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(values) <= set(self._names):
                raise ValueError(
                    "Keys in dictionary to put do not match names of staging area. Dictionary: "
                    f"({sorted(values)}), Queue: ({sorted(self._names)})"
                )
            indices = [place for place, name in enumerate(self._names) if name in values]
            values = [values[self._names[place]] for place in indices]
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a staging area with names")
        elif not isinstance(values, list | tuple):
            values = [values]
        if indices is None:
            raise ValueError("Indices must be supplied when inserting a list of tensors")
        if len(indices) != len(values):
            raise ValueError(
                f"Number of indices '{len(indices)}' doesn't match number of values '{len(values)}'"
            )
        if len(values) > len(self._types):
            raise ValueError(f"Unexpected number of inputs '{len(values)}' vs '{len(self._types)}'")
        tensors = []
        for value, place in zip(values, indices, strict=True):
            dtype, shape = self._types[place], self._shapes[place]
            if getattr(value, "dtype", dtype) != dtype:
                raise ValueError(f"Datatypes do not match. '{value.dtype}' != '{dtype}'")
            tensor = convert_to_tensor(value, dtype, f"component_{place}")
            tensor.shape.assert_is_compatible_with(shape)
            tensors.append(tensor)
        return tensors, list(indices)

    def _moved(self, tensors: Sequence[Tensor]) -> list[Tensor]:
        """Tensors of the area's device, on the device of where this is called."""
        if no_op().device == self._root.device:
            return list(tensors)
        return [identity(tensor) for tensor in tensors]

    def _taken(self, tensors: Sequence[Tensor], places: Sequence[int]) -> Any:
        moved = self._moved(tensors)
        for tensor, place in zip(moved, places, strict=True):
            tensor.set_shape(self._shapes[place])
        if self._names:
            return {self._names[place]: tensor for tensor, place in zip(moved, places, strict=True)}
        return moved


class StagingArea(BaseStagingArea):
    """Tensors that one run puts aside and another takes, the first first (tf.contrib.staging.StagingArea).

    Args:
        dtypes: Of the tensors that are put together.
        shapes: Their shapes; by default of any.
        names: Their names, if they are put as dictionaries.
        shared_name: Areas of one shared name are one.
        capacity: How many may wait; 0 for any number.
        memory_limit: How many bytes may wait; 0 for any number.

    Raises:
        ValueError: If capacity or memory_limit is negative, or there is another number of shapes or names.
    """

    def put(self, values: Any, name: str | None = None) -> Operation:
        """The operation that puts tensors aside; it waits if as many wait as may.

        Args:
            values: A tensor, a list of tensors, or a dictionary of them if the area has names.
            name: A name for the operation.

        Returns:
            The operation.

        Raises:
            ValueError: If the tensors are not those of the area.
        """
        with op_scope(name, f"{self._name}_put", ()) as scope:
            places = None if isinstance(values, Mapping) else list(range(len(self._types)))
            tensors, places = self._converted(values, places)
            if len(places) != len(self._types):
                raise ValueError(f"{len(places)} tensors are given, but an element has {len(self._types)}.")
            with self._placed():
                return self._apply(staging.STAGE, (tensors,), self._types, scope)

    def get(self, name: str | None = None) -> Any:
        """What was put first, which is taken; it waits if there is nothing.

        Args:
            name: A name for the operation.

        Returns:
            A list of tensors, or a dictionary if the area has names.
        """
        with self._placed():
            op = self._apply(staging.UNSTAGE, (), self._types, name or f"{self._name}_get")
        return self._taken(op.outputs, range(len(self._types)))

    def peek(self, index: IntTensorLike, name: str | None = None) -> Any:
        """What is at a place of the area, and stays there; it waits if there are fewer.

        Args:
            index: The place, an int32 scalar; 0 is that which `get` would take.
            name: A name for the operation.

        Returns:
            A list of tensors, or a dictionary if the area has names.
        """
        with self._placed():
            op = self._apply(staging.PEEK, (index,), self._types, name or f"{self._name}_peek")
        return self._taken(op.outputs, range(len(self._types)))

    def size(self, name: str | None = None) -> Tensor:
        """How many wait, a scalar of int32.

        Args:
            name: A name for the operation.
        """
        with self._placed():
            return self._apply(staging.SIZE, (), self._types, name or f"{self._name}_size").outputs[0]

    def clear(self, name: str | None = None) -> Operation:
        """The operation that drops all that wait.

        Args:
            name: A name for the operation.

        Returns:
            The operation.
        """
        with self._placed():
            return self._apply(staging.CLEAR, (), self._types, name or f"{self._name}_clear")
