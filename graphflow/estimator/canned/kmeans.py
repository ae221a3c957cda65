"""An estimator of clusters, by k-means."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from typing import Any, Final

import numpy as np

import graphflow.errors as errors
import graphflow.metrics as metrics
import graphflow.summary as summary
import graphflow.train as train
from graphflow._core.common.shown.status_line import Waiting
from graphflow._core.common.timeouts import SESSION_POLL_SECONDS
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.array import concat
from graphflow._core.ops.control_flow.flow_basics import with_dependencies
from graphflow._core.ops.math.reductions import reduce_sum
from graphflow._core.ops.state.state import assign_add
from graphflow.contrib.factorization import clustering
from graphflow.contrib.factorization.clustering import (
    CLUSTERS_VAR_NAME,
    COSINE_DISTANCE,
    KMEANS_PLUS_PLUS_INIT,
    RANDOM_INIT,
    SQUARED_EUCLIDEAN_DISTANCE,
    check_choices,
)
from graphflow.estimator.estimator import Estimator
from graphflow.estimator.export import PredictOutput
from graphflow.estimator.run_config import RunConfig
from graphflow.estimator.spec import EstimatorSpec
from graphflow.feature_column.layers import input_layer
from graphflow.saved_model import signature_constants
from graphflow.train.hooks.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

_LONGEST_WAIT: Final = 7200.0
"""Seconds, as workers wait at most for the chief to initialize a model."""


class Initializes(SessionRunHook):
    """The chief chooses the centers before the first step; workers wait for that, and say so.

    begin: chooses them, or some of them. is_initialized: whether all are chosen.
    """

    def __init__(self, begin: Any, is_initialized: Any, is_chief: bool) -> None:
        self._begin, self._is_initialized, self._is_chief = begin, is_initialized, is_chief

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Runs the operation that chooses until it says that it is done.

        Raises:
            DeadlineExceededError: If the chief has not chosen within two hours.
        """
        with closing(Waiting(_LONGEST_WAIT)) as waiting:
            while not session.run(self._is_initialized):
                if self._is_chief:
                    session.run(self._begin)
                    continue
                if waiting.seconds() > _LONGEST_WAIT:
                    raise errors.DeadlineExceededError(
                        None,
                        None,
                        "The chief has not chosen the first centers in time: see what its log says.",
                    )
                waiting.update("the chief to choose the first centers")
                time.sleep(SESSION_POLL_SECONDS)


class _StopsWhenSettled(SessionRunHook):
    """Ends training when the loss changes by less than a part of it."""

    def __init__(self, loss: Tensor, tolerance: float) -> None:
        self._loss, self._tolerance = loss, tolerance
        self._before: float | None = None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Asks for the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Compares it with that of the step before."""
        loss = float(run_values.results)
        if self._before and abs(loss - self._before) / (1 + abs(self._before)) < self._tolerance:
            run_context.request_stop()
        self._before = loss


def _points(features: Any, columns: Any) -> Any:
    """The features as one matrix: by columns, or side by side in the order of their names."""
    if not isinstance(features, Mapping):
        return features
    if columns:
        return input_layer(features, columns)
    return concat([features[name] for name in sorted(features)], 1)


class KMeansClustering(Estimator):
    """Finds clusters of points by k-means (tf.contrib.factorization.KMeansClustering).

    The input is a matrix [points, dimensions], or features by name, without labels.

    Args:
        num_clusters: How many there are.
        model_dir: The folder of checkpoints and summaries.
        initial_clusters: The first centers; or a function of the inputs and a number that gives at most so many; or
            RANDOM_INIT or KMEANS_PLUS_PLUS_INIT.
        distance_metric: SQUARED_EUCLIDEAN_DISTANCE or COSINE_DISTANCE.
        seed: Of what is drawn.
        use_mini_batch: Whether a batch is a part of the input; otherwise each is the whole.
        mini_batch_steps_per_iteration: After how many such parts the centers are moved.
        kmeans_plus_plus_num_retries: How many points k-means++ draws besides for each center.
        relative_tolerance: Training ends when the loss changes by less than this part of it.
        config: A RunConfig.
        feature_columns: What is taken of features by name; by default all.

    Raises:
        ValueError: If the beginning or the distance is none of these.
    """

    SQUARED_EUCLIDEAN_DISTANCE = SQUARED_EUCLIDEAN_DISTANCE
    COSINE_DISTANCE = COSINE_DISTANCE
    RANDOM_INIT = RANDOM_INIT
    KMEANS_PLUS_PLUS_INIT = KMEANS_PLUS_PLUS_INIT
    SCORE = "score"
    CLUSTER_INDEX = "cluster_index"
    ALL_DISTANCES = "all_distances"
    CLUSTER_CENTERS_VAR_NAME = CLUSTERS_VAR_NAME

    def __init__(
        self,
        num_clusters: int,
        model_dir: str | None = None,
        initial_clusters: Any = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        seed: int | None = None,
        use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1,
        kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: float | None = None,
        config: RunConfig | None = None,
        feature_columns: Any = None,
    ) -> None:
        check_choices(initial_clusters, distance_metric, (RANDOM_INIT, KMEANS_PLUS_PLUS_INIT))

        def model_fn(features: Any, mode: str, config: RunConfig) -> EstimatorSpec:
            model = clustering.KMeans(
                _points(features, feature_columns), num_clusters, initial_clusters, distance_metric, use_mini_batch,
                mini_batch_steps_per_iteration, seed, kmeans_plus_plus_num_retries,
            )  # fmt: skip
            return _spec(model, mode, config, relative_tolerance)

        self.is_squared: bool = distance_metric == SQUARED_EUCLIDEAN_DISTANCE
        """Whether distances are squared."""
        super().__init__(model_fn, model_dir, config)

    def predict_cluster_index(self, input_fn: Callable[..., Any]) -> Iterator[Any]:
        """The number of the nearest center of each point.

        Args:
            input_fn: As Estimator.predict takes.
        """
        for found in self.predict(input_fn, [self.CLUSTER_INDEX]):
            yield found[self.CLUSTER_INDEX]

    def score(self, input_fn: Callable[..., Any]) -> Any:
        """The sum of the squared distances of the points from their nearest centers.

        Args:
            input_fn: As Estimator.evaluate takes; one batch is taken.
        """
        return self.evaluate(input_fn, steps=1)[self.SCORE]

    def transform(self, input_fn: Callable[..., Any]) -> Iterator[Any]:
        """The distances of each point from all centers, squared if they are Euclidean.

        Args:
            input_fn: As Estimator.predict takes.
        """
        for found in self.predict(input_fn, [self.ALL_DISTANCES]):
            yield found[self.ALL_DISTANCES]

    def cluster_centers(self) -> Any:
        """The centers [clusters, dimensions]."""
        return self.get_variable_value(CLUSTERS_VAR_NAME)


class KMeans(KMeansClustering):
    """Finds clusters of points by k-means (tf.estimator.experimental.KMeans)."""

    def transform(self, input_fn: Callable[..., Any]) -> Iterator[Any]:
        """The distances of each point from all centers.

        Args:
            input_fn: As Estimator.predict takes.
        """
        for distances in super().transform(input_fn):
            yield np.sqrt(distances) if self.is_squared else distances


def _spec(model: clustering.KMeans, mode: str, config: RunConfig, tolerance: float | None) -> EstimatorSpec:
    distances, numbers, nearest, is_initialized, begin, step = model.training_graph()
    loss = reduce_sum(nearest[0])
    summary.scalar("loss/raw", loss)
    counted = assign_add(train.get_global_step(), 1).op
    hooks: list[SessionRunHook] = [Initializes(begin, is_initialized, config.is_chief)]
    if tolerance is not None:
        hooks.append(_StopsWhenSettled(loss, tolerance))
    outputs = {
        KMeansClustering.ALL_DISTANCES: PredictOutput(distances[0]),
        KMeansClustering.CLUSTER_INDEX: PredictOutput(numbers[0]),
        signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY: PredictOutput(numbers[0]),
    }
    return EstimatorSpec(
        mode,
        {KMeansClustering.ALL_DISTANCES: distances[0], KMeansClustering.CLUSTER_INDEX: numbers[0]},
        loss,
        with_dependencies([step, counted], loss),
        {KMeansClustering.SCORE: metrics.mean(loss)},
        outputs,
        training_hooks=hooks,
    )
