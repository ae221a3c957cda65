"""Datasets that one run goes through, or asks about (tf.data.experimental.get_single_element and others)."""

from __future__ import annotations

from typing import Any, Final

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.core import apply, convert_to_tensor
from graphflow._core.ops.io import whole_datasets as ops
from graphflow.data import structure
from graphflow.data.dataset import Dataset
from graphflow.data.iterators import Iterator
from graphflow.data.specs import types_and_shapes

INFINITE_CARDINALITY: Final = -1
"""What cardinality() gives for datasets that have no end."""
UNKNOWN_CARDINALITY: Final = -2
"""What cardinality() gives for datasets of which nobody knows before they are read."""


def get_single_element(dataset: Dataset) -> Any:
    """The element of a dataset that has one.

    Running it raises InvalidArgumentError if there is none, or another.

    Args:
        dataset: The dataset.

    Returns:
        A structure of tensors.

    Raises:
        TypeError: If it is no dataset.
    """
    _check(dataset)
    types, shapes = dataset._output_types, dataset._output_shapes
    op = apply(ops.SINGLE_ELEMENT, (dataset._variant_tensor,), structure.attributes(types, shapes))
    return structure.received(types, shapes, op.outputs)


def _check(dataset: Dataset) -> None:
    if not isinstance(dataset, Dataset):
        raise TypeError(f"`dataset` must be a `gf.data.Dataset` object, got {dataset!r}.")


def cardinality(dataset: Dataset) -> Tensor:
    """How many elements a dataset has, as far as that is known before they are made.

    Args:
        dataset: The dataset.

    Returns:
        A scalar of int64: the number, INFINITE_CARDINALITY or UNKNOWN_CARDINALITY.
    """
    return apply(ops.CARDINALITY, (dataset._variant_tensor,)).outputs[0]


class TFRecordWriter:
    """Writes all elements of a dataset as records of one file (tf.data.experimental.TFRecordWriter).

    Args:
        filename: The file's name, a scalar of strings.
        compression_type: "", "ZLIB" or "GZIP".
    """

    def __init__(self, filename: TensorLike, compression_type: TensorLike | None = None) -> None:
        self._filename = convert_to_tensor(filename, dtype=dtypes.string, name="filename")
        kind = "" if compression_type is None else compression_type
        self._compression_type = convert_to_tensor(kind, dtype=dtypes.string, name="compression_type")

    def write(self, dataset: Dataset) -> Operation:
        """An operation that writes the file.

        Args:
            dataset: A dataset of scalars of strings.

        Returns:
            The operation.

        Raises:
            TypeError: If its elements are anything else.
        """
        _check(dataset)
        if dataset._output_types is not dtypes.string or dataset._output_shapes.raw not in ((), None):
            raise TypeError(
                "`dataset` must have elements that are scalars of strings, got the types "
                f"{dataset.output_types} and the shapes {dataset.output_shapes}."
            )
        inputs = (dataset._variant_tensor, self._filename, self._compression_type)
        return apply(ops.TO_TF_RECORD, inputs)


def get_structure(dataset_or_iterator: Dataset | Iterator) -> Any:
    """The structure of the specs of an element.

    Args:
        dataset_or_iterator: A dataset or an iterator.
    """
    return dataset_or_iterator.element_spec


def to_variant(dataset: Dataset) -> Tensor:
    """The tensor that stands for a dataset.

    Args:
        dataset: The dataset.
    """
    return dataset._variant_tensor


def from_variant(variant: Tensor, structure: Any) -> Dataset:
    """The dataset that a tensor stands for.

    Args:
        variant: What to_variant gave.
        structure: The structure of the specs of its elements, as get_structure gives it.
    """
    return Dataset(variant, *types_and_shapes(structure))
