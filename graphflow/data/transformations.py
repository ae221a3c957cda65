"""Transformations for Dataset.apply (tf.data.experimental and tf.contrib.data): those that programs use most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.types import DeviceLike, DTypeLike, IntTensorLike
from graphflow._core.ops.math.casting import cast
from graphflow.data.dataset import AUTOTUNE, Dataset, mapped

Transformation = Callable[[Dataset], Dataset]


def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: IntTensorLike,
    num_parallel_batches: IntTensorLike | None = None,
    drop_remainder: bool = False,
    num_parallel_calls: IntTensorLike | None = None,
) -> Transformation:
    """map and then batch; an element whose function fails takes the others of its batch with it, as in TensorFlow.

    Args:
        map_func: A function of an element.
        batch_size: How many elements a batch has.
        num_parallel_batches: Accepted, as num_parallel_calls.
        drop_remainder: Whether a last batch of fewer is left out.
        num_parallel_calls: How many elements are mapped at once.
    """
    if num_parallel_batches is not None and num_parallel_calls is not None:
        raise ValueError("Only one of num_parallel_batches and num_parallel_calls may be set.")

    def apply(dataset: Dataset) -> Dataset:
        batches = mapped(dataset, map_func, num_parallel_calls, True).batch(batch_size, drop_remainder)
        batches._variant_tensor.op.attrs["_fails_whole"] = True
        return batches

    return apply


def shuffle_and_repeat(
    buffer_size: IntTensorLike, count: IntTensorLike | None = None, seed: IntTensorLike | None = None
) -> Transformation:
    """shuffle and then repeat.

    Args:
        buffer_size: From how many elements is drawn.
        count: How often; None or -1 for ever.
        seed: The op's own seed; with the graph's it decides what is drawn.
    """
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def batch_and_drop_remainder(batch_size: IntTensorLike) -> Transformation:
    """batch without a smaller last batch.

    Args:
        batch_size: How many elements a batch has.
    """
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: IntTensorLike, padded_shapes: Any, padding_values: Any = None
) -> Transformation:
    """padded_batch without a smaller last batch.

    Args:
        batch_size: How many elements a batch has.
        padded_shapes: To what each component is padded.
        padding_values: With what; by default zeros and empty strings.
    """
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, True)


def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: IntTensorLike,
    block_length: IntTensorLike = 1,
    sloppy: bool = False,
    buffer_output_elements: IntTensorLike | None = None,
    prefetch_input_elements: IntTensorLike | None = None,
) -> Transformation:
    """interleave; the order is always that of interleave, whatever `sloppy` says.

    Args:
        map_func: From an element to a dataset.
        cycle_length: From how many datasets elements are taken in turn.
        block_length: How many are taken of each.
        sloppy: Accepted: the order is always fixed.
        buffer_output_elements: Accepted, and not needed.
        prefetch_input_elements: Accepted, and not needed.
    """
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length, AUTOTUNE)


def unbatch() -> Transformation:
    """The rows of each element, one after the other."""
    return lambda dataset: dataset.unbatch()


def enumerate_dataset(start: IntTensorLike = 0) -> Transformation:
    """Pairs of a number and an element.

    Args:
        start: The first number.
    """
    return lambda dataset: dataset.enumerate(start)


def prefetch_to_device(device: DeviceLike, buffer_size: IntTensorLike | None = None) -> Transformation:
    """prefetch; the elements go to `device` when an operation there takes them.

    Args:
        device: Where the elements are used; operations there take them.
        buffer_size: How many elements are made ahead.
    """
    return lambda dataset: dataset.prefetch(buffer_size)


def copy_to_device(target_device: DeviceLike, source_device: DeviceLike = "/cpu:0") -> Transformation:
    """The elements; they go to `target_device` when an operation there takes them.

    Args:
        target_device: Where the elements are used.
        source_device: Where they are made.
    """
    return lambda dataset: dataset


def counter(start: int = 0, step: int = 1, dtype: DTypeLike = dtypes.int64) -> Dataset:
    """The numbers from `start` on, for ever (tf.data.experimental.Counter).

    Args:
        start: The first number.
        step: The distance of two numbers.
        dtype: The dtype of the numbers.

    Returns:
        A dataset.
    """
    numbers = Dataset.range(start, dtypes.int64.max if step > 0 else dtypes.int64.min, step)
    wanted = dtypes.as_dtype(dtype)
    return numbers if wanted is dtypes.int64 else numbers.map(lambda number: cast(number, wanted))
