"""StagingArea: what one run puts aside, another takes, in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from graphflow._core.graph.dtypes import DType, as_dtype
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import DTypeLike, ShapeLike
from graphflow._core.ops.io.queues import FIFOQueue

_UNBOUNDED: Final = (1 << 31) - 1


class StagingArea:
    """Tensors that one run puts aside and another takes, the first first (tf.contrib.staging.StagingArea).

    Args:
        dtypes: Of the tensors that are put together.
        shapes: Their shapes; by default of any.
        names: Their names, if they are put as dictionaries.
        shared_name: Areas of one shared name are one.
        capacity: How many may wait; 0 for any number.
        memory_limit: Has no effect.

    Raises:
        ValueError: If capacity is negative, or there is another number of shapes.
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
        if capacity < 0:
            raise ValueError(f"capacity must be >= 0, got {capacity}.")
        if shapes is not None and len(shapes) != len(dtypes):
            raise ValueError(f"There are {len(dtypes)} dtypes and {len(shapes)} shapes.")
        self._types = [as_dtype(one) for one in dtypes]
        self._shapes = [TensorShape(one) for one in shapes or [None] * len(self._types)]
        self._names = None if names is None else list(names)
        self._queue = FIFOQueue(
            capacity or _UNBOUNDED, self._types, names=names, shared_name=shared_name, name="StagingArea"
        )

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
        """That of its operation."""
        return self._queue.name

    def put(self, values: Any, name: str | None = None) -> Operation:
        """The operation that puts tensors aside; it waits if as many wait as may.

        Args:
            values: A tensor, a list of tensors, or a dictionary of them if the area has names.
            name: A name for the operation.

        Returns:
            The operation.
        """
        return self._queue.enqueue(values, name=name)

    def get(self, name: str | None = None) -> Any:
        """What was put first, which is taken; it waits if there is nothing.

        Args:
            name: A name for the operation.

        Returns:
            A list of tensors, or a dictionary if the area has names.
        """
        found = self._queue.dequeue(name=name)
        if isinstance(found, Mapping):
            return found
        tensors: list[Tensor] = [found] if isinstance(found, Tensor) else list(found)
        for tensor, shape in zip(tensors, self._shapes, strict=True):
            tensor.set_shape(shape)
        return tensors

    def size(self, name: str | None = None) -> Tensor:
        """How many wait, a scalar of int32.

        Args:
            name: A name for the operation.
        """
        return self._queue.size(name=name)
