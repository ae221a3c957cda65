"""Estimators that look at labels alone: what others have to beat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphflow.estimator.canned.heads import Head, RegressionHead, class_head
from graphflow.estimator.canned.models import baseline_spec
from graphflow.estimator.estimator import Estimator
from graphflow.estimator.run_config import RunConfig
from graphflow.estimator.spec import EstimatorSpec
from graphflow.losses import Reduction


def _model_fn(head: Head, optimizer: Any, weight_column: Any) -> Callable[..., EstimatorSpec]:
    def model_fn(features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
        return baseline_spec(features, labels, mode, head, optimizer, weight_column)

    return model_fn


class BaselineClassifier(Estimator):
    """How often each class is there, whatever the features are (tf.estimator.BaselineClassifier).

    Args:
        model_dir: The folder of checkpoints and summaries.
        n_classes: How many classes there are.
        weight_column: The weights of examples: the name of a feature, or a numeric column.
        label_vocabulary: The words that labels are, if they are no numbers.
        optimizer: An optimizer, a function that makes one, or one of Adagrad, Adam, Ftrl, RMSProp, SGD.
        config: A RunConfig.
        loss_reduction: How losses of examples become one; gf.losses.Reduction.

    Raises:
        ValueError: If an argument is none that can be.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = class_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        model_fn = _model_fn(head, optimizer, weight_column)
        super().__init__(model_fn, model_dir, config, warm_start_from=None)


class BaselineRegressor(Estimator):
    """The mean of the labels, whatever the features are (tf.estimator.BaselineRegressor).

    Args:
        model_dir: The folder of checkpoints and summaries.
        label_dimension: How many numbers a label has.
        weight_column: The weights of examples: the name of a feature, or a numeric column.
        optimizer: An optimizer, a function that makes one, or one of Adagrad, Adam, Ftrl, RMSProp, SGD.
        config: A RunConfig.
        loss_reduction: How losses of examples become one; gf.losses.Reduction.

    Raises:
        ValueError: If an argument is none that can be.
    """

    def __init__(
        self,
        model_dir: str | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = RegressionHead(label_dimension, weight_column, loss_reduction)
        model_fn = _model_fn(head, optimizer, weight_column)
        super().__init__(model_fn, model_dir, config, warm_start_from=None)


class BaselineEstimator(Estimator):
    """A bias alone with a head of the user (tf.estimator.BaselineEstimator).

    Args:
        head: What the logits mean.
        model_dir: The folder of checkpoints and summaries.
        optimizer: An optimizer, a function that makes one, or one of Adagrad, Adam, Ftrl, RMSProp, SGD.
        config: A RunConfig.

    Raises:
        ValueError: If an argument is none that can be.
    """

    def __init__(
        self,
        head: Head,
        model_dir: str | None = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
    ) -> None:
        model_fn = _model_fn(head, optimizer, None)
        super().__init__(model_fn, model_dir, config, warm_start_from=None)
