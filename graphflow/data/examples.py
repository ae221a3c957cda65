"""Datasets of Examples, and of rows of another length each (tf.data.experimental.parse_example_dataset and others)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import ShapeLike, TensorShape
from graphflow._core.graph.slices import SparseTensor
from graphflow._core.graph.types import IntTensorLike, TensorLike
from graphflow._core.ops.array.creation import ones_like
from graphflow._core.ops.array.indexing import where
from graphflow._core.ops.array.shaping import reshape, shape
from graphflow._core.ops.control_flow.assertions import assert_less_equal
from graphflow._core.ops.control_flow.flow_basics import with_dependencies
from graphflow._core.ops.core import constant
from graphflow._core.ops.io.parsing import parse_example
from graphflow.data import structure
from graphflow.data.dataset import AUTOTUNE, Dataset
from graphflow.data.files import TFRecordDataset

Transformation = Callable[[Dataset], Dataset]


def parse_example_dataset(
    features: Mapping[str, Any], num_parallel_calls: IntTensorLike = 1
) -> Transformation:
    """The features of batches of serialized Examples, as dictionaries.

    Args:
        features: What each feature is, by name, such as gf.io.FixedLenFeature.
        num_parallel_calls: How many batches are read at once.

    Returns:
        What Dataset.apply takes, of a dataset of vectors of strings.

    Raises:
        ValueError: If there are no features.
        TypeError: If the elements are no vectors of strings.
    """
    if features is None:
        raise ValueError("Missing: features was None.")

    def apply(dataset: Dataset) -> Dataset:
        shapes = dataset._output_shapes
        if dataset._output_types is not dtypes.string or not shapes.is_compatible_with([None]):
            raise TypeError(
                "parse_example_dataset takes a dataset of vectors of strings, such as batches of serialized Examples, "
                f"got the types {dataset.output_types} and the shapes {dataset.output_shapes}."
            )
        return dataset.map(lambda batch: parse_example(batch, features), num_parallel_calls)

    return apply


def make_batched_features_dataset(
    file_pattern: TensorLike,
    batch_size: IntTensorLike,
    features: Mapping[str, Any],
    reader: Callable[..., Dataset] = TFRecordDataset,
    label_key: str | None = None,
    reader_args: Sequence[Any] | None = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: IntTensorLike = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: IntTensorLike | None = None,
    reader_num_threads: int | None = None,
    parser_num_threads: int | None = None,
    sloppy_ordering: bool = False,
    drop_final_batch: bool = False,
) -> Dataset:
    """Batches of the features of Examples in files.

    Args:
        file_pattern: A pattern of names of files, or several.
        batch_size: How many Examples a batch has.
        features: What each feature is, by name.
        reader: From a file's name, and `reader_args`, to a dataset of serialized Examples, or of pairs that have one in
            the second place.
        label_key: The feature that is the label: elements are then pairs of the other features and it.
        reader_args: More arguments of the reader.
        num_epochs: How often the files are read; None for ever.
        shuffle: Whether the Examples come in random order.
        shuffle_buffer_size: From how many of them is drawn.
        shuffle_seed: The seed of the order.
        prefetch_buffer_size: How many batches are made ahead.
        reader_num_threads: From how many files Examples are taken in turn.
        parser_num_threads: How many batches are read at once.
        sloppy_ordering: Accepted: the order is always fixed.
        drop_final_batch: Whether a last batch of fewer is left out.

    Returns:
        A dataset of dictionaries, or of pairs of a dictionary and the labels.

    Raises:
        ValueError: If the label is no feature.
        TypeError: If the reader is none.
    """
    if not callable(reader):
        raise TypeError(f"`reader` must make a dataset of the name of a file, got {reader!r}.")
    if label_key is not None and label_key not in features:
        raise ValueError(f"The `label_key` provided ({label_key!r}) must be one of the `features` keys.")
    files = Dataset.list_files(file_pattern, shuffle, shuffle_seed)
    dataset = files.interleave(lambda name: reader(name, *(reader_args or ())), reader_num_threads or 1)
    types = dataset._output_types
    if type(types) is tuple and len(types) == 2:
        dataset = dataset.map(lambda _, example: example)
    if shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        dataset = dataset.repeat(num_epochs)
    dataset = dataset.batch(batch_size, drop_final_batch or num_epochs is None)
    dataset = dataset.apply(parse_example_dataset(features, parser_num_threads or 2))
    if label_key is not None:
        label = label_key
        dataset = dataset.map(
            lambda parts: ({name: parts[name] for name in parts if name != label}, parts[label])
        )
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def dense_to_sparse_batch(batch_size: IntTensorLike, row_shape: ShapeLike) -> Transformation:
    """Batches of tensors of other sizes each, as SparseTensors.

    InvalidArgumentError, when a batch is taken, for an element that is larger than a row.

    Args:
        batch_size: How many elements a batch has.
        row_shape: The shape of a row of the batch, in which None and -1 mean the largest size in it.

    Returns:
        What Dataset.apply takes.

    Raises:
        TypeError: If the elements are no single tensors.
    """
    sizes = list(row_shape) if isinstance(row_shape, list | tuple) else TensorShape(row_shape).as_list()
    row = [None if size is None or int(size) < 0 else int(size) for size in sizes]

    def sparse(value: Tensor) -> SparseTensor:
        value = _checked(value, row)
        indices = where(ones_like(value, dtype=dtypes.bool_))
        return SparseTensor(indices, reshape(value, [-1]), shape(value, out_type=dtypes.int64))

    def of_shape(batch: SparseTensor) -> SparseTensor:
        found = [batch.dense_shape[i + 1] if size is None else size for i, size in enumerate(row)]
        return SparseTensor(batch.indices, batch.values, [batch.dense_shape[0], *found])

    def apply(dataset: Dataset) -> Dataset:
        if structure.is_nested(dataset._output_types) or not isinstance(dataset._output_types, dtypes.DType):
            raise TypeError(
                f"dense_to_sparse_batch takes a dataset of single tensors, got the types {dataset.output_types}."
            )
        return dataset.map(sparse).batch(batch_size).map(of_shape)

    return apply


def _checked(value: Tensor, row: Sequence[int | None]) -> Tensor:
    """The element, in a run in which it is not larger than a row."""
    largest = constant([dtypes.int64.max if size is None else size for size in row], dtypes.int64)
    fits = assert_less_equal(shape(value, out_type=dtypes.int64), largest)
    checked: Tensor = with_dependencies([fits], value)
    return checked
