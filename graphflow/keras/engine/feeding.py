"""From what `fit`, `evaluate` and `predict` are given to batches that a run is fed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphflow._core.graph.elements import Tensor
from graphflow.keras.engine import data
from graphflow.keras.engine.base_layer import shape_of
from graphflow.keras.engine.batches import (
    ArrayBatches,
    DatasetBatches,
    GeneratorBatches,
    is_dataset,
    is_stream,
)
from graphflow.keras.engine.compiled import feed_inputs


class Given:
    """Arrays of a batch, or of all data: inputs, then targets, then weights if there are any."""

    def __init__(self, inputs: list[Any], targets: list[Any], weights: list[Any] | None) -> None:
        self.inputs = inputs
        self.targets = targets
        self.weights = weights

    @property
    def arrays(self) -> list[Any]:
        """All arrays, in the order in which a run is fed."""
        return [*self.inputs, *self.targets, *(self.weights or ())]

    @property
    def with_weights(self) -> bool:
        """Whether examples have weights."""
        return self.weights is not None

    def split(self, share: float) -> tuple[Given, Given]:
        """What to train on and what to validate with."""
        first, last = data.split(self.arrays, share)
        return self._like(first), self._like(last)

    def _like(self, arrays: list[Any]) -> Given:
        inputs, targets = len(self.inputs), len(self.targets)
        weights = arrays[inputs + targets :] if self.weights is not None else None
        return Given(arrays[:inputs], arrays[inputs : inputs + targets], weights)


def inputs_of(model: Any, x: Any) -> list[Any]:
    """The arrays of the model's inputs that are fed; ValueError if they do not fit."""
    fed = feed_inputs(model)
    names = [n for n, t in zip(model.input_names, model.inputs, strict=True) if any(t is f for f in fed)]
    if x is None and not names:
        return []
    arrays = data.in_order(x, names, "input", model.name)
    kinds = [t.dtype.as_numpy_dtype for t in fed]
    shapes = [shape_of(t) if t.shape.dims is not None else None for t in fed]
    return [
        a if isinstance(a, Tensor) or a.dtype == kind else _converted(a, kind, name)
        for a, kind, name in zip(data.shaped(arrays, names, shapes, "input"), kinds, names, strict=True)
    ]


def _converted(array: Any, kind: Any, name: str) -> Any:
    try:
        return array.astype(kind) if kind is not np.object_ else array
    except (TypeError, ValueError):
        raise ValueError(
            f"Error when checking input: expected {name} to have elements of {np.dtype(kind).name}, but got "
            f"{array.dtype}; are its examples of different lengths?"
        ) from None


def given_of(model: Any, x: Any, y: Any, sample_weight: Any = None, class_weight: Any = None) -> Given:
    """Inputs, targets and weights as a compiled model takes them.

    Raises:
        ValueError: They are not as many, or not of the shapes, that the model has.
    """
    compiled = model.compiled
    inputs = inputs_of(model, x)
    fed = compiled.feed_targets
    targets = data.in_order(y, [e.name for e in fed], "target", model.name) if fed else []
    if fed and not targets:
        raise ValueError(
            f"The model {model.name!r} needs targets ({', '.join(e.name for e in fed)}), but y is None."
        )
    # A model that is a class of its own may compare outputs with targets of other shapes.
    wanted = [e.target_shape if model._is_graph_network else None for e in fed]
    targets = data.shaped(targets, [e.name for e in fed], wanted, "target")
    targets = [
        t if isinstance(t, Tensor) else np.asarray(t, dtype=e.target.dtype.as_numpy_dtype)
        for t, e in zip(targets, fed, strict=True)
    ]
    names = [e.name for e in fed]
    weights = _by_names(sample_weight, names)
    classes = _by_names(class_weight, names, classes=True)
    found = [
        data.weights_of(t, w, c, e.weight_mode)
        for t, w, c, e in zip(targets, weights, classes, fed, strict=True)
    ]
    every: list[Any] | None = None
    if any(w is not None for w in found):
        every = [
            np.ones(t.shape[: 2 if e.weight_mode == "temporal" else 1], np.float32) if w is None else w
            for w, t, e in zip(found, targets, fed, strict=True)
        ]
    made = Given(inputs, targets, every)
    data.check_lengths(made.arrays)
    return made


def _by_names(given: Any, names: list[str], classes: bool = False) -> list[Any]:
    if given is None:
        return [None] * len(names)
    if isinstance(given, Mapping):
        if classes and not any(name in given for name in names):
            return [given] + [None] * (len(names) - 1)
        return [given.get(name) for name in names]
    if isinstance(given, list | tuple) and len(names) > 1:
        return list(given)
    return [given if not isinstance(given, tuple) else given[0]]


def element_of(element: Any) -> tuple[Any, Any, Any]:
    """Inputs, targets and weights of what a generator or dataset gives; ValueError if it is no tuple of these."""
    if isinstance(element, list) and len(element) in (2, 3) and isinstance(element[0], np.ndarray):
        element = tuple(element)
    if not isinstance(element, tuple):
        return element, None, None
    if not 1 <= len(element) <= 3:
        raise ValueError(
            f"A generator or dataset gives inputs, (inputs, targets) or (inputs, targets, weights), not {len(element)} "
            "things."
        )
    return (*element, *[None] * (3 - len(element)))


def plain_numbers(values: Any) -> list[Any]:
    """Values with Python's numbers for NumPy's, which print as they are and go into JSON."""
    return [v.item() if np.ndim(v) == 0 and hasattr(v, "item") else v for v in values]


class Source:
    """Batches for a model of what it was given, and whether they have weights."""

    def __init__(self, batches: Any, function: Callable[[bool], Any], with_weights: bool | None) -> None:
        self.batches = batches
        self._function = function
        self._weights = with_weights

    def __call__(self, arrays: Any) -> list[Any]:
        """What a run gives for a batch; one of a stream says itself whether it has weights."""
        if self._weights is not None:
            return plain_numbers(self._function(self._weights)(arrays))
        with_weights, feeds = arrays
        return plain_numbers(self._function(with_weights)(feeds))


def source_of(
    model: Any,
    x: Any,
    y: Any,
    weight: Any,
    classes: Any,
    function: Callable[[bool], Any],
    batch_size: int | None,
    shuffle: Any,
    steps: int | None,
    workers: int = 1,
    processes: bool = False,
    ahead: int = 10,
) -> Source:
    """Batches of arrays, a generator, a Sequence or a dataset."""
    if not is_stream(x):
        given = x if isinstance(x, Given) else given_of(model, x, y, weight, classes)
        return Source(_arrays(given.arrays, batch_size, shuffle, steps), function, given.with_weights)

    def prepare(element: Any) -> tuple[int, Any]:
        made = given_of(model, *element_of(element), classes)
        return len(made.arrays[0]), (made.with_weights, made.arrays)

    return Source(_stream(x, steps, prepare, shuffle, workers, processes, ahead), function, None)


def predict_source(
    model: Any, x: Any, function: Any, batch_size: int | None, steps: int | None, workers: int = 1,
    processes: bool = False, ahead: int = 10,
) -> Source:  # fmt: skip
    """Batches of inputs alone."""
    if not is_stream(x):
        arrays = inputs_of(model, x)
        data.check_lengths(arrays)
        return Source(_arrays(arrays, batch_size, False, steps), lambda _: function, False)

    def prepare(element: Any) -> tuple[int, Any]:
        arrays = inputs_of(model, element_of(element)[0])
        return len(arrays[0]), arrays

    return Source(_stream(x, steps, prepare, False, workers, processes, ahead), lambda _: function, False)


def _arrays(arrays: list[Any], batch_size: int | None, shuffle: Any, steps: int | None) -> ArrayBatches:
    return ArrayBatches(arrays, batch_size or 32, shuffle, steps)


def _stream(
    x: Any, steps: int | None, prepare: Any, shuffle: Any, workers: int, processes: bool, ahead: int
) -> Any:
    if is_dataset(x):
        return DatasetBatches(x, steps, prepare)
    return GeneratorBatches(x, steps, prepare, bool(shuffle), workers, processes, ahead)
