"""An estimator of mixtures of normal distributions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

import graphflow.train as train
from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.array.array import concat, placeholder_with_default
from graphflow._core.ops.control_flow.flow_basics import with_dependencies
from graphflow._core.ops.core import convert_to_tensor
from graphflow._core.ops.state.state import assign, assign_add
from graphflow._core.ops.state.variable import Variable
from graphflow.contrib.factorization.mixture import COVARIANCES, MEANS, WEIGHTS, mixture
from graphflow.estimator.canned.kmeans import Initializes
from graphflow.estimator.learn.estimator import Estimator
from graphflow.estimator.learn.model_fn import ModelFnOps
from graphflow.estimator.run_config import RunConfig


def _last(value: Tensor) -> tuple[Any, Any]:
    """A metric that is what a tensor was in the last batch."""
    empty = placeholder_with_default(convert_to_tensor([], dtypes.float32), None)
    kept = Variable(empty, trainable=False, collections=[GraphKeys.LOCAL_VARIABLES], validate_shape=False)
    return kept.value(), assign(kept, value, validate_shape=False)


class GMM(Estimator):
    """Fits a mixture of normal distributions to points (tf.contrib.factorization.GMM).

    The input is a matrix [points, dimensions], or features by name, without labels; a step sees the whole of it.

    Args:
        num_clusters: How many distributions there are.
        model_dir: The folder of checkpoints and summaries.
        random_seed: Of what is drawn.
        params: Which of weights, means and covariances are fitted: letters of "wmc".
        initial_clusters: The first means [num_clusters, dimensions], or "random" for some of the points.
        covariance_type: "full" or "diag".
        config: A RunConfig.
    """

    SCORES = "scores"
    LOG_LIKELIHOOD = "loss"
    ASSIGNMENTS = "assignments"

    def __init__(
        self,
        num_clusters: int,
        model_dir: str | None = None,
        random_seed: int = 0,
        params: str = "wmc",
        initial_clusters: Any = "random",
        covariance_type: str = "full",
        config: RunConfig | None = None,
    ) -> None:
        def model_fn(features: Any, labels: Any, mode: str, config: RunConfig) -> ModelFnOps:
            if isinstance(features, Mapping):
                features = concat([features[name] for name in sorted(features)], 1)
            found = mixture(features, initial_clusters, num_clusters, random_seed, covariance_type, params)
            counted = assign_add(train.get_global_step(), 1).op
            return ModelFnOps(
                mode,
                {self.ASSIGNMENTS: found.assignments},
                found.loss,
                with_dependencies([found.step, counted], found.loss),
                {self.SCORES: _last(found.scores)},
                training_hooks=[Initializes(found.begin, found.is_initialized, config.is_chief)],
            )

        super().__init__(model_fn, model_dir, config)

    def predict_assignments(
        self, input_fn: Callable[..., Any] | None = None, batch_size: int | None = None, outputs: Any = None
    ) -> Iterator[Any]:
        """The number of the likeliest distribution of each point.

        Args:
            input_fn: A function that gives points.
            batch_size: Not needed.
            outputs: Not needed.
        """
        for found in self.predict(input_fn=input_fn, batch_size=batch_size, outputs=outputs):
            yield found[self.ASSIGNMENTS]

    def score(
        self,
        input_fn: Callable[..., Any] | None = None,
        batch_size: int | None = None,
        steps: int | None = None,
    ) -> Any:
        """The logarithm of the sum of the likelihoods of the points.

        Args:
            input_fn: A function that gives points.
            batch_size: Not needed.
            steps: How many batches are taken; the last one counts.
        """
        found = self.evaluate(input_fn=input_fn, batch_size=batch_size, steps=steps)
        return np.log(np.sum(np.exp(found[self.SCORES])))

    def weights(self) -> Any:
        """The weights of the distributions."""
        return self.get_variable_value(WEIGHTS)

    def clusters(self) -> Any:
        """The means [num_clusters, dimensions]."""
        return np.squeeze(self.get_variable_value(MEANS), 1)

    def covariances(self) -> Any:
        """The covariances [num_clusters, dimensions, dimensions], or their diagonals."""
        return self.get_variable_value(COVARIANCES)
