"""The components of examples in queues: a SparseTensor is three strings there, and a batch of them is one again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.sparse.serializing import (
    deserialize_many_sparse,
    serialize_many_sparse,
    serialize_sparse,
)


class SparseComponent(NamedTuple):
    """A component that is a SparseTensor: the dtype of its values, and the rank of a batch, None if it is not known."""

    dtype: DType
    rank: int | None

    @staticmethod
    def of(column: Sequence[Any], many: bool) -> SparseComponent | None:
        """What the sources give for a component, None if it is a tensor.

        Args:
            column: The component of each source.
            many: Whether each is many examples.

        Raises:
            TypeError: Some are SparseTensors and others are not, or their dtypes differ.
            ValueError: Their ranks differ.
        """
        found = [t for t in column if isinstance(t, SparseTensor)]
        if not found:
            return None
        if len(found) < len(column) or any(t.dtype is not found[0].dtype for t in found):
            raise TypeError("Expected the same components of each source to be SparseTensors, of one dtype.")
        ranks: set[int] = {t.shape.ndims for t in found if t.shape.ndims is not None}
        if len(ranks) > 1:
            raise ValueError(f"SparseTensors of the ranks {sorted(ranks)} do not fit into one batch.")
        rank = next(iter(ranks), None)
        return SparseComponent(found[0].dtype, rank if rank is None or many else rank + 1)


def queued(value: Any, many: bool) -> Tensor:
    """The tensor that stands for a value in a queue.

    Args:
        value: A tensor, or a SparseTensor.
        many: Whether it is many examples.
    """
    if isinstance(value, SparseTensor):
        return serialize_many_sparse(value) if many else serialize_sparse(value)
    return convert_to_tensor(value)


def restored(taken: Any, sparse: Sequence[SparseComponent | None]) -> Any:
    """What was taken from a queue, with SparseTensors where they were put in.

    Args:
        taken: A tensor, or a list of them.
        sparse: For each whether it was a SparseTensor.
    """
    if not any(sparse):
        return taken
    parts = zip(taken if isinstance(taken, list | tuple) else [taken], sparse, strict=True)
    read = [t if one is None else deserialize_many_sparse(t, one.dtype, one.rank) for t, one in parts]
    return read if len(read) > 1 else read[0]


def listed(tensors: Any) -> list[Any]:
    """The components of an example, a tensor, a list or a dictionary of them, in the order that queues have."""
    if isinstance(tensors, Mapping):
        return [tensors[key] for key in sorted(tensors, key=str)]
    return list(tensors) if isinstance(tensors, list | tuple) else [tensors]


def in_form_of(tensors: Any, components: Any) -> Any:
    """A dictionary of these components if the example is one; otherwise what is given, a list or a single one."""
    if not isinstance(tensors, Mapping):
        return components
    several = components if isinstance(components, list | tuple) else [components]
    return dict(zip(sorted(tensors, key=str), several, strict=True))
