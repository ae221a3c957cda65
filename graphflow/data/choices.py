"""Datasets whose elements are chosen from others, or drawn (tf.data.experimental.sample_from_datasets and others)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.shapes import TensorShape
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.creation import fill, one_hot
from graphflow._core.ops.array.indexing import gather
from graphflow._core.ops.array.layout import tile
from graphflow._core.ops.array.shaping import expand_dims, squeeze
from graphflow._core.ops.core import constant_value, convert_to_tensor
from graphflow._core.ops.io import more_datasets as ops
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.reductions import reduce_max, reduce_min, reduce_sum
from graphflow._core.ops.math.transcendental import log
from graphflow._core.ops.random import random_uniform
from graphflow._core.ops.stateless_random import stateless_multinomial
from graphflow.data import structure
from graphflow.data.dataset import Dataset, built
from graphflow.data.parameters import seeds_of
from graphflow.data.stateful import scan

Transformation = Callable[[Dataset], Dataset]


class RandomDataset(Dataset):
    """Random numbers of 32 bits as scalars of int64, for ever (tf.data.experimental.RandomDataset).

    Args:
        seed: The op's own seed; with the graph's it decides what is drawn.
    """

    def __init__(self, seed: int | None = None) -> None:
        dataset = built(ops.RANDOM, seeds_of(seed), dtypes.int64, TensorShape([]))
        super().__init__(dataset._variant_tensor, dtypes.int64, TensorShape([]))


def choose_from_datasets(datasets: Sequence[Dataset], choice_dataset: Dataset) -> Dataset:
    """Elements of several datasets, each of the one whose number another dataset gives next.

    It ends with the numbers, or when all have come to their end; numbers of those that have are passed over.

    Args:
        datasets: Datasets of the same types.
        choice_dataset: A dataset of numbers, scalars of int64.

    Returns:
        A dataset.

    Raises:
        TypeError: If the numbers are none, or the types differ.
    """
    if choice_dataset._output_types is not dtypes.int64 or choice_dataset._output_shapes.raw not in (
        (),
        None,
    ):
        raise TypeError("`choice_dataset` must be a dataset of scalar `tf.int64` tensors.")
    return _directed(choice_dataset, datasets)


def _directed(selector: Dataset, datasets: Sequence[Dataset]) -> Dataset:
    first, *others = datasets
    forms = [form.raw for form in structure.flatten(first._output_shapes)]
    for other in others:
        types = first._output_types, other._output_types
        if not structure.same_structure(*types) or structure.flatten(types[0]) != structure.flatten(types[1]):
            raise TypeError(
                f"The datasets to choose from must have the same types, got {first.output_types} and "
                f"{other.output_types}."
            )
        forms = [
            shapes.relax(a, b.raw)
            for a, b in zip(forms, structure.flatten(other._output_shapes), strict=True)
        ]
    found = structure.pack(first._output_types, [TensorShape(form) for form in forms])
    inputs = (selector, list(datasets))
    return built(ops.DIRECTED_INTERLEAVE, inputs, first._output_types, found, N=len(datasets))


def sample_from_datasets(
    datasets: Sequence[Dataset], weights: TensorLike | Dataset | None = None, seed: int | None = None
) -> Dataset:
    """Elements of several datasets, each of one that is drawn.

    Args:
        datasets: Datasets of the same types.
        weights: How likely each is, floats in a vector; or a dataset of such vectors, one for each draw; by default
            all are equally likely.
        seed: The op's own seed; with the graph's it decides what is drawn.

    Returns:
        A dataset.

    Raises:
        TypeError: If the weights are no floats, or the types differ.
        ValueError: If there is another number of weights.
    """
    if isinstance(weights, Dataset):
        drawn = Dataset.zip((weights.map(lambda *parts: log(parts, name="logits")), _pairs(seed)))
        return _directed(drawn.map(_chosen), datasets)
    if weights is None:
        logits: Any = [[1.0] * len(datasets)]
    else:
        given = convert_to_tensor(weights, name="weights")
        if given.dtype not in (dtypes.float32, dtypes.float64):
            raise TypeError(f"`weights` must be of float32 or float64, got {given.dtype.name}.")
        if not given.shape.is_compatible_with([len(datasets)]):
            raise ValueError(
                f"`weights` must be a vector of length `len(datasets)`, which is {len(datasets)}, got {given.shape}."
            )
        logits = expand_dims(log(given, name="logits"), 0)
    if len(datasets) == 1:
        return datasets[0]
    return _directed(_pairs(seed).map(lambda pair: _chosen(logits, pair)), datasets)


def _pairs(seed: int | None) -> Dataset:
    return RandomDataset(seed).batch(2)


def _chosen(logits: Any, seed: Tensor) -> Tensor:
    return squeeze(stateless_multinomial(logits, 1, seed=seed), axis=[0, 1])


_COUNTED_FROM = 10
"""With how many examples of each class an estimate of the distribution begins."""
_ESTIMATED_TOGETHER = 32
"""After how many examples the estimate is made anew."""


def rejection_resample(
    class_func: Callable[..., Any],
    target_dist: TensorLike,
    initial_dist: TensorLike | None = None,
    seed: int | None = None,
) -> Transformation:
    """Pairs of a class and an element, in which classes are as frequent as is asked for; some elements are left out.

    Args:
        class_func: From an element's components to its class, a scalar of int32 from 0 on.
        target_dist: How frequent each class is to be, floats of the shape [classes].
        initial_dist: How frequent each is; by default that is estimated from the elements as they come.
        seed: The op's own seed; with the graph's it decides which elements are left out.

    Returns:
        What Dataset.apply takes.
    """

    def apply(dataset: Dataset) -> Dataset:
        target = convert_to_tensor(target_dist, name="target_dist")
        classes = dataset.map(class_func)
        kept_as_they_are = None
        if initial_dist is None:
            accepted = _estimates(target, classes).map(lambda initial: _acceptance(initial, target))
        else:
            initial = convert_to_tensor(initial_dist, name="initial_dist")
            kept_as_they_are = _known_ratio(initial, target)
            accepted = Dataset.from_tensors(_acceptance(initial, target)).repeat()
        rates, mixed = accepted.map(lambda rate, _: rate), accepted.map(lambda _, part: part)
        filtered = _accepted(dataset, classes, rates, seed).prefetch(3)
        pairs = Dataset.zip((classes, dataset))
        if kept_as_they_are == 1:
            return pairs
        if kept_as_they_are == 0:
            return filtered
        weights = mixed.map(lambda part: [(part, 1.0 - part)])
        return sample_from_datasets([pairs, filtered], weights=weights, seed=seed)

    return apply


def _known_ratio(initial: Tensor, target: Tensor) -> Any:
    """The part of the elements that is taken as they are, if it is known before anything runs."""
    known = constant_value(initial), constant_value(target)
    return None if known[0] is None or known[1] is None else np.min(known[1] / known[0])


def _acceptance(initial: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """How many of each class are accepted, and the part of the elements that is taken without being asked."""
    ratio = target / (initial + np.finfo(initial.dtype.as_numpy_dtype).tiny)
    most, least = reduce_max(ratio), reduce_min(ratio)
    return (ratio - least) / (most - least), least


def _accepted(dataset: Dataset, classes: Dataset, rates: Dataset, seed: int | None) -> Dataset:
    """The elements with their classes that a draw has accepted."""
    together = Dataset.zip((classes, rates, dataset)).map(
        lambda number, rate, element: (number, gather(rate, number), element)
    )
    drawn = together.filter(lambda _, rate, element: random_uniform([], seed=seed) < rate)
    return drawn.map(lambda number, _, element: (number, element))


def _estimates(target: Tensor, classes: Dataset) -> Dataset:
    """The distribution of the classes as far as it was seen, for each example."""
    count = target.shape.as_list()[0]

    def counted(seen: Tensor, numbers: Tensor) -> tuple[Tensor, Tensor]:
        seen = seen + reduce_sum(one_hot(numbers, count, dtype=dtypes.int64), 0)
        parts = cast(seen / reduce_sum(seen), dtypes.float32)
        return seen, tile(expand_dims(parts, 0), [_ESTIMATED_TOGETHER, 1])

    first = fill([count], np.int64(_COUNTED_FROM))
    return classes.batch(_ESTIMATED_TOGETHER).apply(scan(first, counted)).unbatch()
