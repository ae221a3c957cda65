"""KMeans: the operations of k-means clustering, of a whole input at once or in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import graphflow.nn as nn
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.random_seed import get_seed
from graphflow._core.graph.types import TensorLike
from graphflow._core.ops.array.array import (
    concat,
    expand_dims,
    identity,
    ones,
    ones_like,
    placeholder_with_default,
    reshape,
    shape,
    size,
    squeeze,
    transpose,
    zeros,
    zeros_like,
)
from graphflow._core.ops.array.indexing import gather
from graphflow._core.ops.control_flow.assertions import assert_equal, assert_greater_equal, assert_positive
from graphflow._core.ops.control_flow.control_flow import cond, while_loop
from graphflow._core.ops.control_flow.flow_basics import group, no_op
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.math.arithmetic import maximum, minimum
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.linalg import matmul
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.math.segments import unsorted_segment_sum
from graphflow._core.ops.math.sorting import unique
from graphflow._core.ops.math.transcendental import square
from graphflow._core.ops.nn.clustering import (
    kmc2_chain_initialization,
    kmeans_plus_plus_initialization,
    nearest_neighbors,
)
from graphflow._core.ops.random import random_uniform
from graphflow._core.ops.state.scopes import control_dependencies
from graphflow._core.ops.state.state import assign, assign_sub, scatter_add
from graphflow._core.ops.state.variable import Variable

SQUARED_EUCLIDEAN_DISTANCE: Final = "squared_euclidean"
COSINE_DISTANCE: Final = "cosine"
RANDOM_INIT: Final = "random"
KMEANS_PLUS_PLUS_INIT: Final = "kmeans_plus_plus"
KMC2_INIT: Final = "kmc2"
CLUSTERS_VAR_NAME: Final = "clusters"
"""The variable of the centers."""

Chooser = Callable[[list[Tensor], Tensor], TensorLike]


class KMeans:
    """The operations of k-means clustering (tf.contrib.factorization.KMeans).

    Args:
        inputs: Points [points, dimensions], or a list of such parts, which are in random order.
        num_clusters: How many clusters there are.
        initial_clusters: The first centers; or a function of the inputs and a number that gives at most so many; or
            one of "random", "kmeans_plus_plus" and "kmc2".
        distance_metric: "squared_euclidean" or "cosine".
        use_mini_batch: Whether each run sees a part of the input alone.
        mini_batch_steps_per_iteration: After how many such parts the centers are moved.
        random_seed: Of what is drawn.
        kmeans_plus_plus_num_retries: How many points k-means++ draws besides for each center.
        kmc2_chain_length: How many points k-MC2 looks at for each center.

    Raises:
        ValueError: If the beginning or the distance is none of these.
    """

    def __init__(
        self,
        inputs: TensorLike | Sequence[TensorLike],
        num_clusters: TensorLike,
        initial_clusters: TensorLike | Chooser | str = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        use_mini_batch: bool = False,
        mini_batch_steps_per_iteration: int = 1,
        random_seed: int | None = 0,
        kmeans_plus_plus_num_retries: int = 2,
        kmc2_chain_length: int = 200,
    ) -> None:
        check_choices(initial_clusters, distance_metric, (RANDOM_INIT, KMEANS_PLUS_PLUS_INIT, KMC2_INIT))
        parts: Any = inputs if isinstance(inputs, list | tuple) else [inputs]
        self._inputs: list[Tensor] = [convert_to_tensor(part) for part in parts]
        self._count = num_clusters
        self._begin = initial_clusters
        self._is_cosine = distance_metric == COSINE_DISTANCE
        self._in_batches = use_mini_batch
        self._steps = int(mini_batch_steps_per_iteration)
        self._seed: int = get_seed(random_seed)[0] or 0
        self._retries = kmeans_plus_plus_num_retries
        self._chain = kmc2_chain_length

    def training_graph(
        self,
    ) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...], tuple[Tensor, ...], Variable, Any, Operation]:
        """The operations.

        Returns:
            For each part of the input: the distances of the points from all centers, the number of the nearest center,
            and the distance from it. Then whether the centers are initialised, the operation that does so, to be run
            until they are, and the operation of a step.
        """
        chosen: Any = self._begin
        if isinstance(chosen, str) or callable(chosen):
            count = convert_to_tensor(self._count)
        else:
            chosen = convert_to_tensor(chosen)
            count = shape(chosen)[0]
        state = _State(self._in_batches, self._steps, count)
        begin = _Beginning(self, state, chosen, count).operation()
        inputs, centers = self._inputs, state.centers
        if self._is_cosine:
            inputs = [nn.l2_normalize(part, 1) for part in inputs]
        near: Any = centers
        if self._is_cosine and not self._kept_normal:
            near = nn.l2_normalize(centers, 1)
        found = [self._inferred(part, near) for part in inputs]
        all_scores, scores, numbers = zip(*found, strict=True)
        if self._in_batches:
            with control_dependencies([state.synchronised(self._is_cosine)]):
                step = _batch_step(inputs, numbers, state)
        else:
            step = self._whole_step(inputs, numbers, count, centers)
        return all_scores, numbers, scores, state.is_initialized, begin, step

    @property
    def _kept_normal(self) -> bool:
        """Whether the centers are kept with length 1."""
        return self._is_cosine and (not self._in_batches or self._steps > 1)

    def _inferred(self, points: Tensor, centers: Any) -> tuple[Tensor, Tensor, Tensor]:
        products = matmul(points, centers, transpose_b=True)
        if self._is_cosine:
            scores = 1 - products
        else:
            lengths = transpose(reduce_sum(square(centers), 1, keepdims=True))
            scores = reduce_sum(square(points), 1, keepdims=True) - 2 * products + lengths
        numbers, distances = nearest_neighbors(points, centers, 1)
        if self._is_cosine:
            distances = distances * 0.5  # Of vectors of length 1 the squared distance is twice the cosine's.
        return scores, squeeze(distances, [-1]), squeeze(numbers, [-1])

    def _whole_step(
        self, inputs: Sequence[Tensor], numbers: Sequence[Tensor], count: Tensor, centers: Variable
    ) -> Operation:
        """Each center becomes the mean of its points."""
        total: Any = 0.0
        points: Any = 0.0
        for part, nearest in zip(inputs, numbers, strict=True):
            total = total + unsorted_segment_sum(part, nearest, count)
            each = ones(expand_dims(shape(part)[0], 0), part.dtype)
            points = points + expand_dims(unsorted_segment_sum(each, nearest, count), 1)
        moved = total / (points + 1e-6)
        return assign(centers, nn.l2_normalize(moved, 1) if self._kept_normal else moved).op


def check_choices(initial_clusters: Any, distance_metric: str, beginnings: Sequence[str]) -> None:
    """ValueError for a beginning or a distance that there is not."""
    if isinstance(initial_clusters, str) and initial_clusters not in beginnings:
        raise ValueError(
            f"Unsupported initialization algorithm '{initial_clusters}', take one of {', '.join(beginnings)}."
        )
    if distance_metric not in (SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE):
        raise ValueError(
            f"Unsupported distance metric '{distance_metric}', take {SQUARED_EUCLIDEAN_DISTANCE} or {COSINE_DISTANCE}."
        )


class _State:
    """The variables. `moving` are the centers that each step moves, which become `centers` after some steps."""

    def __init__(self, in_batches: bool, steps: int, count: Tensor) -> None:
        empty = placeholder_with_default(convert_to_tensor([], dtypes.float32), None)
        self.steps = steps
        self.centers = Variable(empty, name=CLUSTERS_VAR_NAME, validate_shape=False)
        self.is_initialized = Variable(False, name="initialized")
        self.moving = self.centers
        self.counts: Any = None
        self.left: Any = None
        rows = reshape(count, [1])
        if in_batches and steps > 1:
            self.moving = Variable(empty, name="clusters_updated", validate_shape=False)
            self.left = Variable(steps, dtype=dtypes.int64, name="update_in_steps")
            self.counts = Variable(zeros(rows, dtypes.int64))
        elif in_batches:
            self.counts = Variable(ones(rows, dtypes.int64))

    def synchronised(self, is_cosine: bool) -> Operation:
        """The operation that takes the moved centers over when it is time."""
        if self.left is None:
            return no_op()
        left, counts = self.left, self.counts

        def take_over() -> Tensor:
            with control_dependencies([assign(left, self.steps - 1).op]):
                moved = nn.l2_normalize(self.moving, 1) if is_cosine else identity(self.moving)
            with control_dependencies([assign(self.centers, moved, validate_shape=False).op]):
                cleared = assign(counts, zeros_like(counts)).op
            with control_dependencies([cleared]):
                found: Tensor = left.read_value()
            return found

        found: Tensor = cond(left <= 0, take_over, lambda: assign_sub(left, 1))
        return found.op


def _batch_step(inputs: Sequence[Tensor], numbers: Sequence[Tensor], state: _State) -> Operation:
    """Each center moves towards the mean of the points that it has had.

    With the value x of n points, k points that are new move it to x + (their sum - k x) / (n + k).
    """
    updates = []
    for part, nearest in zip(inputs, numbers, strict=True):
        ids, places = unique(reshape(nearest, [-1]))
        seen = gather(state.counts, ids)
        new = unsorted_segment_sum(ones_like(places, dtypes.int64), places, size(ids))
        change = unsorted_segment_sum(part, places, size(ids))
        change = change - expand_dims(cast(new, part.dtype), 1) * gather(state.moving, ids)
        change = change / expand_dims(cast(seen + new, part.dtype), 1)
        updates += [scatter_add(state.counts, ids, new), scatter_add(state.moving, ids, change)]
    return group(*updates)


class _Beginning:
    """Chooses the first centers, some in each run."""

    def __init__(self, model: KMeans, state: _State, chosen: Any, count: Tensor) -> None:
        self._model, self._state, self._chosen, self._count = model, state, chosen, count
        self._selected = shape(state.centers)[0]
        self._remaining = count - self._selected
        self._points = convert_to_tensor(0)
        for part in model._inputs:
            self._points = self._points + shape(part)[0]

    def operation(self) -> Any:
        """Adds centers; asserts that it is done if there is none to add."""
        return cond(
            self._remaining <= 0,
            lambda: assert_equal(self._state.is_initialized, True),
            self._added,
        )

    def _added(self) -> Operation:
        with control_dependencies([assert_positive(self._remaining)]):
            if isinstance(self._chosen, str) and self._chosen == KMC2_INIT:
                remaining = self._by_chains()
            else:
                remaining = self._count - shape(self._extended(self._new()))[0]
        done: Operation = cond(remaining <= 0, lambda: assign(self._state.is_initialized, True).op, no_op)
        return done

    def _extended(self, new: Any) -> Tensor:
        """The centers, with new ones behind them."""
        state = self._state
        if self._model._is_cosine:
            new = nn.l2_normalize(new, 1)
        whole = cond(
            shape(state.centers)[0] <= 0, lambda: identity(new), lambda: concat([state.centers, new], 0)
        )
        kept = assign(state.centers, whole, validate_shape=False)
        return kept if state.moving is state.centers else assign(state.moving, kept, validate_shape=False)

    def _new(self) -> Any:
        model, remaining = self._model, self._remaining
        if isinstance(self._chosen, Tensor):
            with control_dependencies([assert_equal(remaining, shape(self._chosen)[0])]):
                return identity(self._chosen)
        if callable(self._chosen):
            return self._chosen(model._inputs, remaining)
        if self._chosen == RANDOM_INIT:
            whole = concat(model._inputs, 0)
            return cond(self._points <= remaining, lambda: identity(whole), lambda: self._random(whole))
        with control_dependencies([assert_greater_equal(self._points, remaining)]):
            points = model._inputs[0]
            points = nn.l2_normalize(points, 1) if model._is_cosine else identity(points)
        return kmeans_plus_plus_initialization(
            points, cast(remaining, dtypes.int64), cast(model._seed, dtypes.int64), cast(model._retries, dtypes.int64)
        )  # fmt: skip

    def _random(self, points: Tensor) -> Tensor:
        rows = expand_dims(self._remaining, 0)
        most = cast(self._points, dtypes.int64)
        return gather(points, random_uniform(rows, 0, most, dtypes.int64, seed=self._model._seed))

    def _by_chains(self) -> Tensor:
        """Adds a center of each part of the batch by k-MC2; how many remain."""
        model, points = self._model, self._model._inputs[0]
        length = model._chain
        parts = maximum(minimum(self._remaining, shape(points)[0] // length), 1)

        def another(number: Any, _: Any) -> list[Any]:
            part = points[number * length : (number + 1) * length]
            centers = self._state.centers.read_value()

            def by_chain() -> Tensor:
                _, distances = nearest_neighbors(part, centers, 1)
                seed = cast(model._seed, dtypes.int64)
                return expand_dims(gather(part, kmc2_chain_initialization(squeeze(distances, [1]), seed)), 0)

            new = cond(shape(centers)[0] <= 0, lambda: points[:1], by_chain)
            return [number + 1, self._count - shape(self._extended(new))[0]]

        _, remaining = while_loop(lambda number, _: number < parts, another, [0, 0])
        found: Tensor = remaining
        return found
