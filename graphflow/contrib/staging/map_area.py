"""MapStagingArea: what runs put aside under keys, whole or in parts, and take by key or the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.types import DTypeLike, IntTensorLike, ShapeLike
from graphflow._core.ops.core import op_scope
from graphflow._core.ops.distributed import staging
from graphflow.contrib.staging.area import BaseStagingArea


class MapStagingArea(BaseStagingArea):
    """Tensors that runs put aside under int64 keys, also in parts, and others take when they are complete.

    Args:
        dtypes: Of the tensors of an element.
        shapes: Their shapes; by default of any.
        names: Their names, if they are put as dictionaries.
        shared_name: Areas of one shared name are one.
        ordered: Whether what is taken without a key is that with the smallest; otherwise that which was complete first.
        capacity: How many complete elements may wait; 0 for any number.
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
        ordered: bool = False,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._ops = staging.ORDERED_MAP if ordered else staging.MAP

    def put(
        self, key: IntTensorLike, vals: Any, indices: Sequence[int] | None = None, name: str | None = None
    ) -> Operation:
        """The operation that puts tensors aside under a key; it waits if as many wait as may.

        Args:
            key: An int64 scalar.
            vals: A list of tensors, or a dictionary of them if the area has names; some of an element or all.
            indices: The place of each in the element, rising; for a list only.
            name: A name for the operation.

        Returns:
            The operation.

        Raises:
            ValueError: If the tensors are not those of the area.
            InvalidArgumentError: When it runs, if the key has one of them already.
        """
        with op_scope(name, f"{self._name}_put", ()) as scope:
            tensors, places = self._converted(vals, indices)
            attrs = {"fake_dtypes": [tensor.dtype for tensor in tensors]}
            with self._placed():
                return self._apply(self._ops.stage, (key, places, tensors), self._types, scope, **attrs)

    def _places(self, indices: Sequence[int | str] | None) -> list[int]:
        if indices is None:
            return list(range(len(self._types)))
        if not isinstance(indices, tuple | list):
            raise TypeError(f"Invalid indices type '{type(indices)}'")
        if not indices:
            raise ValueError("Empty indices")
        texts = [index for index in indices if isinstance(index, str)]
        if not texts:
            return [int(index) for index in indices]
        if len(texts) < len(indices):
            raise TypeError(f"Mixed types in indices '{indices}'. May only be str or int")
        if self._names is None:
            raise ValueError(
                f"String indices provided '{indices}', but this Staging Area was not created with names."
            )
        for text in texts:
            if text not in self._names:
                raise ValueError(f"Named index '{text}' not in Staging Area names '{self._names}'")
        return [self._names.index(text) for text in texts]

    def peek(
        self, key: IntTensorLike, indices: Sequence[int | str] | None = None, name: str | None = None
    ) -> Any:
        """What lies under a key, and stays there; it waits until it is complete.

        Args:
            key: An int64 scalar.
            indices: The places or names of what is wanted; by default all.
            name: A name for the operation.

        Returns:
            A list of tensors, or a dictionary if the area has names.
        """
        places = self._places(indices)
        types = [self._types[place] for place in places]
        with self._placed():
            op = self._apply(self._ops.peek, (key, places), types, name or f"{self._name}_pop")
        return self._taken(op.outputs, places)

    def get(
        self,
        key: IntTensorLike | None = None,
        indices: Sequence[int | str] | None = None,
        name: str | None = None,
    ) -> tuple[Any, Any]:
        """A key and what lies under it, which is taken; it waits until it is complete.

        Args:
            key: An int64 scalar; by default the first key.
            indices: The places or names of what is wanted; the rest stays. By default all.
            name: A name for the operation.

        Returns:
            (key, values): a list of tensors, or a dictionary if the area has names.
        """
        places = self._places(indices)
        types = [self._types[place] for place in places]
        if key is not None:
            with self._placed():
                op = self._apply(self._ops.unstage, (key, places), types, name or f"{self._name}_get")
            return key, self._taken(op.outputs, places)
        with self._placed():
            op = self._apply(self._ops.unstage_first, (places,), types, name or f"{self._name}_get_nokey")
        (first,) = self._moved(op.outputs[:1])
        return first, self._taken(op.outputs[1:], places)

    def size(self, name: str | None = None) -> Tensor:
        """How many complete elements wait, an int32 scalar.

        Args:
            name: A name for the operation.
        """
        with self._placed():
            return self._apply(self._ops.size, (), self._types, name or f"{self._name}_size").outputs[0]

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """How many elements lack a tensor, an int32 scalar.

        Args:
            name: A name for the operation.
        """
        with self._placed():
            name = name or f"{self._name}_incomplete_size"
            return self._apply(self._ops.incomplete_size, (), self._types, name).outputs[0]

    def clear(self, name: str | None = None) -> Operation:
        """The operation that drops all that wait.

        Args:
            name: A name for the operation.

        Returns:
            The operation.
        """
        with self._placed():
            return self._apply(self._ops.clear, (), self._types, name or f"{self._name}_clear")
