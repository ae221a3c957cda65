"""The model function of boosted trees: sums of gradients by node and bucket, and the layers that are grown of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import graphflow.summary as summary
import graphflow.train as train
from graphflow._core.autodiff.gradients import gradients
from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.array.array import (
    fill,
    ones_like,
    reshape,
    shape,
    squeeze,
    unstack,
    zeros,
    zeros_like,
)
from graphflow._core.ops.control_flow.control_flow import cond
from graphflow._core.ops.control_flow.flow_basics import no_op
from graphflow._core.ops.core import apply, constant
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.reductions import reduce_mean
from graphflow._core.ops.math.transcendental import sigmoid
from graphflow._core.ops.state import boosted_trees
from graphflow._core.ops.state.scopes import control_dependencies
from graphflow._core.ops.state.state import assign, assign_add
from graphflow._core.ops.state.variable import Variable
from graphflow.errors import UnimplementedError
from graphflow.estimator.canned.heads import Head
from graphflow.estimator.run_config import RunConfig
from graphflow.estimator.spec import EstimatorSpec, ModeKeys
from graphflow.feature_column.base import FeatureTransformationCache, StateManager
from graphflow.feature_column.embedding import IndicatorColumn
from graphflow.feature_column.numeric import BucketizedColumn
from graphflow.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from graphflow.train.saving.saveables import SaveableObject, SaveSpec

NAME: Final = "boosted_trees"
SERIALIZED: Final = f"{NAME}:0_serialized"
"""What the ensemble is called in a checkpoint."""
PATHS: Final = "_serialized_debug_outputs_proto"
"""The prediction that says what trees made of a row."""
_PRUNING: Final = {"none": 0, "pre": 1, "post": 2}


class TreeOptions(NamedTuple):
    """How trees are grown; the estimators say what each means."""

    n_trees: int
    max_depth: int
    learning_rate: float
    l1: float
    l2: float
    tree_complexity: float
    min_node_weight: float
    center_bias: bool
    pruning_mode: str

    def check(self) -> None:
        """ValueError for a pruning that is none, or does not fit the complexity."""
        if self.pruning_mode not in _PRUNING:
            raise ValueError(f"pruning_mode mode must be one of: none, post, pre; got {self.pruning_mode!r}.")
        if self.tree_complexity > 0 and self.pruning_mode == "none":
            raise ValueError("Tree complexity have no effect unless pruning mode is chosen.")
        if self.tree_complexity <= 0 and self.pruning_mode != "none":
            raise ValueError("For pruning, tree_complexity must be positive.")


class _Saveable(SaveableObject):
    """An ensemble, as TensorFlow's checkpoints have it."""

    def __init__(self, handle: Tensor, create: Operation) -> None:
        stamp, serialized = apply(boosted_trees.SERIALIZE, (handle,)).outputs
        name = handle.name
        super().__init__(
            handle,
            [SaveSpec(stamp, "", f"{name}_stamp"), SaveSpec(serialized, "", f"{name}_serialized")],
            name,
        )
        self._create = create

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Operation:
        """The operation that takes all trees from a checkpoint."""
        with control_dependencies([self._create]):
            return apply(boosted_trees.DESERIALIZE, (self.op, *restored_tensors))


def ensemble(scope: str) -> Tensor:
    """The handle of the ensemble, which is saved."""
    handle = apply(boosted_trees.HANDLE, (), {"container": "", "shared_name": scope}, scope).outputs[0]
    create = apply(boosted_trees.CREATE, (handle, constant(0, dtypes.int64), constant("")))
    get_default_graph().add_to_collection(GraphKeys.SAVEABLE_OBJECTS, _Saveable(handle, create))
    return handle


# ---- features ------------------------------------------------------------------------------------------------------


def check_columns(columns: Sequence[Any]) -> None:
    """ValueError for a column that gives no buckets."""
    for column in columns:
        if isinstance(column, BucketizedColumn):
            if column.source_column.shape != (1,):
                raise ValueError(
                    f"Boosted trees take columns of one number, got shape {column.source_column.shape} of "
                    f"{column.source_column.name!r}."
                )
        elif not isinstance(column, IndicatorColumn):
            raise ValueError(
                f"Boosted trees take bucketized_column and indicator_column, got {column!r}. Numbers are put in "
                "buckets by bucketized_column, a categorical column is wrapped in indicator_column."
            )


def feature_names(columns: Sequence[Any]) -> list[str]:
    """The name of the column of each feature."""
    names = []
    for column in columns:
        if isinstance(column, IndicatorColumn):
            names += [column.categorical_column.name] * column.categorical_column.num_buckets
        else:
            names.append(column.name)
    return names


def _groups(columns: Sequence[Any]) -> list[tuple[int, list[int]]]:
    """How many buckets features have, and which these are: those of indicators have two."""
    indicators: list[int] = []
    others: list[int] = []
    most = 2
    number = 0
    for column in columns:
        if isinstance(column, IndicatorColumn):
            count = column.categorical_column.num_buckets
            indicators += range(number, number + count)
            number += count
        else:
            most = max(most, len(column.boundaries) + 1)
            others.append(number)
            number += 1
    if most == 2 or not others or not indicators:
        return [(most, indicators + others)]
    return [(2, indicators), (most, others)]


def bucketized(features: Mapping[str, Any], columns: Sequence[Any]) -> list[Tensor]:
    """The bucket of each row, int32 [batch], for each feature."""
    cache, state = FeatureTransformationCache(features), StateManager()
    found: list[Tensor] = []
    for column in columns:
        values = cast(cache.get(column, state), dtypes.int32)
        if isinstance(column, IndicatorColumn):
            found += unstack(values, column.categorical_column.num_buckets, axis=1)
        else:
            found.append(squeeze(values, axis=[1]))
    return found


# ---- growing -------------------------------------------------------------------------------------------------------


class _Mean:
    """The mean of tensors over several batches, kept in local variables.

    Args:
        shapes: Of the tensors.
        name: A name for the variables.
    """

    def __init__(self, shapes: Sequence[Sequence[int]], name: str) -> None:
        kept: dict[str, Any] = {"trainable": False, "collections": [GraphKeys.LOCAL_VARIABLES]}
        self._sums = [Variable(zeros(dims), name=f"{name}_sum", **kept) for dims in shapes]
        self._count = Variable(0, name=f"{name}_count", **kept)

    def after(
        self, values: Sequence[Tensor], batches: Any, act: Callable[[list[Tensor]], Operation]
    ) -> Operation:
        """Adds a batch; after so many of them acts on their means, and begins again."""
        added = [assign_add(total, value) for total, value in zip(self._sums, values, strict=True)]
        with control_dependencies([*(each.op for each in added), assign_add(self._count, 1).op]):
            count = self._count.read_value()

        def whole() -> Operation:
            means = [total.read_value() / cast(count, dtypes.float32) for total in self._sums]
            with control_dependencies([mean.op for mean in means]):
                cleared = [assign(total, zeros_like(total)).op for total in (*self._sums, self._count)]
            with control_dependencies(cleared):
                return act(means)

        found: Operation = cond(count >= cast(batches, dtypes.int32), whole, no_op)
        return found


class _Grower:
    """Makes the operations that change an ensemble."""

    def __init__(self, handle: Tensor, options: TreeOptions, groups: Sequence[tuple[int, list[int]]]) -> None:
        self._handle = handle
        self._options = options
        self._groups = groups
        self.most_splits: int = (1 << options.max_depth) - 1

    def grow(self, sums: Sequence[Tensor], layer: Tensor) -> Operation:
        """Adds a layer by the sums of each group of features."""
        options = self._options
        features: list[int] = []
        found: list[list[Tensor]] = [[] for _ in range(5)]
        limits = (options.l1, options.l2, options.tree_complexity, options.min_node_weight)
        for (_, numbers), group_sums in zip(self._groups, sums, strict=True):
            attrs = {"max_splits": self.most_splits, "num_features": len(numbers)}
            apart = unstack(group_sums, len(numbers))
            best = apply(boosted_trees.BEST_GAINS, (layer, apart, *limits), attrs).outputs
            for number, column in enumerate(found):
                column += best[number * len(numbers) : (number + 1) * len(numbers)]
            features += numbers
        which = constant(features, dtypes.int32)
        inputs = (self._handle, which, *found, options.max_depth, options.learning_rate)
        attrs = {"pruning_mode": _PRUNING[options.pruning_mode], "num_features": len(features)}
        return apply(boosted_trees.UPDATE, inputs, attrs)

    def center(self, needed: Variable, gradient: Tensor, hessian: Tensor) -> Operation:
        """Corrects the bias by mean gradients, and says whether that is to be done again."""
        options = self._options
        inputs = (self._handle, gradient, hessian, options.l1, options.l2)
        again = apply(boosted_trees.CENTER_BIAS, inputs).outputs[0]
        return assign(needed, again).op

    def summaries(
        self, nodes: Tensor, gradient: Tensor, hessian: Tensor, buckets: Sequence[Tensor]
    ) -> list[Tensor]:
        """The sums of a batch [features, nodes, buckets, 2] for each group of features."""
        found = []
        for count, numbers in self._groups:
            attrs = {"max_splits": self.most_splits, "num_buckets": count, "num_features": len(numbers)}
            inputs = (nodes, gradient, hessian, [buckets[number] for number in numbers])
            found.append(apply(boosted_trees.MAKE_STATS_SUMMARY, inputs, attrs).outputs[0])
        return found

    def sizes(self) -> list[list[int]]:
        """The shapes of these sums."""
        return [[len(numbers), self.most_splits, count, 2] for count, numbers in self._groups]


class _StopAtTrees(SessionRunHook):
    """Ends training when all trees are there, or no layer could be added for long."""

    def __init__(self, counts: Sequence[Tensor], options: TreeOptions) -> None:
        self._counts = list(counts)
        self._most_trees = options.n_trees
        self._most_layers = 2 * options.n_trees * options.max_depth

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the finished trees and the layers that were tried."""
        return SessionRunArgs(self._counts)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Ends training; the counts are those before the step, so they are asked again near the end."""
        trees, layers = run_values.results
        if trees >= self._most_trees - 1 or layers > self._most_layers - 1:
            trees, layers = run_context.session.run(self._counts)
        if trees >= self._most_trees or layers > self._most_layers:
            run_context.request_stop()


Derivatives = Callable[[Tensor, Any], tuple[Tensor, Tensor]]


def trees_spec(
    features: Any, labels: Any, mode: str, head: Head, columns: Sequence[Any], options: TreeOptions, batches: Any,
    config: RunConfig, derivatives: Derivatives | None = None,
) -> EstimatorSpec:  # fmt: skip
    """What the model function of boosted trees gives.

    Args:
        features: By name.
        labels: Of the batch.
        mode: One of ModeKeys.
        head: What the logit means.
        columns: Of features, by name.
        options: How trees are grown.
        batches: How many batches a layer takes.
        config: The RunConfig.
        derivatives: Gives the first and second derivatives of the loss by logits and labels; by default they are
            derived from the loss.
    """
    graph = get_default_graph()
    with graph.name_scope(NAME) as scope:
        step = train.get_or_create_global_step()
        handle = ensemble(scope)
        buckets = bucketized(features, columns)
        size = {"logits_dimension": head.logits_dimension, "num_bucketized_features": len(buckets)}
        if mode != ModeKeys.TRAIN:
            logits = apply(boosted_trees.PREDICT, (handle, buckets), size).outputs[0]
            return head.create_estimator_spec(
                features, mode, logits, labels, train_op_fn=lambda loss: no_op()
            )
        if config.num_worker_replicas > 1:
            raise UnimplementedError(
                None,
                None,
                "Boosted trees are trained by one process: leave the other workers out of TF_CONFIG.",
            )
        states = apply(boosted_trees.STATES, (handle,)).outputs
        _, trees, finalized, attempted, layer = states
        rows = shape(buckets[0])
        begins = (fill(rows, constant(0)), fill(rows, constant(-1)))
        logits, _, nodes = apply(boosted_trees.TRAINING_PREDICT, (handle, *begins, buckets), size).outputs
        for name, count in (
            ("trees", trees),
            ("finalized_trees", finalized),
            ("attempted_layers", attempted),
        ):
            summary.scalar(f"ensemble/num_{name}", count)
        grower = _Grower(handle, options, _groups(columns))
        grow = _training(grower, options, batches, layer)
        needed = Variable(options.center_bias, trainable=False, name="center_bias_needed")

    def train_op(loss: Tensor) -> Operation:
        if derivatives is not None:
            gradient, hessian = derivatives(logits, labels)
        else:
            gradient = gradients(loss, logits, name="Gradients")[0]
            hessian = gradients(gradient, logits, name="Hessians")[0]
        with control_dependencies([states[0].op]):  # What is asked for is the state before the step.
            done = grow(needed, nodes, gradient, hessian, buckets)
        with control_dependencies([done]):
            return assign_add(step, 1).op

    spec = head.create_estimator_spec(features, mode, logits, labels, train_op_fn=train_op)
    return spec._replace(training_hooks=(*spec.training_hooks, _StopAtTrees([finalized, attempted], options)))


def explained_spec(features: Any, head: Head, columns: Sequence[Any]) -> EstimatorSpec:
    """What predicts, and says in the prediction PATHS what each tree made of a row, as a DebugOutput."""
    with get_default_graph().name_scope(NAME) as scope:
        handle = ensemble(scope)
        inputs = (handle, bucketized(features, columns))
        size = {"logits_dimension": head.logits_dimension, "num_bucketized_features": len(inputs[1])}
        logits = apply(boosted_trees.PREDICT, inputs, size).outputs[0]
        paths = apply(boosted_trees.DEBUG_OUTPUTS, inputs, size).outputs[0]
    spec = head.create_estimator_spec(features, ModeKeys.PREDICT, logits)
    return spec._replace(predictions={**spec.predictions, PATHS: paths})


def _training(
    grower: _Grower, options: TreeOptions, batches: Any, layer: Tensor
) -> Callable[[Variable, Tensor, Tensor, Tensor, Sequence[Tensor]], Operation]:
    """What makes the operation of a step: it collects the sums of batches, and then centers the bias or grows."""
    at_once = isinstance(batches, int) and batches == 1
    sums = None if at_once else _Mean(grower.sizes(), "stats")
    biases = None if at_once or not options.center_bias else _Mean([[1], [1]], "bias")

    def step(
        needed: Variable, nodes: Tensor, gradient: Tensor, hessian: Tensor, buckets: Sequence[Tensor]
    ) -> Operation:
        found = grower.summaries(nodes, gradient, hessian, buckets)

        def grow() -> Operation:
            if sums is None:
                return grower.grow(found, layer)
            return sums.after(found, batches, lambda means: grower.grow(means, layer))

        def center() -> Operation:
            means = [reduce_mean(gradient, 0), reduce_mean(hessian, 0)]
            if biases is None:
                return grower.center(needed, *means)
            return biases.after(means, batches, lambda found: grower.center(needed, *found))

        if not options.center_bias:
            return grow()
        done: Operation = cond(needed, center, grow)
        return done

    return step


def logistic_derivatives(logits: Tensor, labels: Any) -> tuple[Tensor, Tensor]:
    """The derivatives of the mean logistic loss."""
    probability = sigmoid(logits)
    share = 1.0 / cast(shape(logits)[0], dtypes.float32)
    wanted = reshape(cast(labels, dtypes.float32), shape(logits))
    return (probability - wanted) * share, probability * (ones_like(probability) - probability) * share
