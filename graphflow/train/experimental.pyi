"""Scaled losses (tf.train.experimental)."""

from graphflow.train.optimizers.loss_scaling import DynamicLossScale as DynamicLossScale
from graphflow.train.optimizers.loss_scaling import FixedLossScale as FixedLossScale
from graphflow.train.optimizers.loss_scaling import LossScale as LossScale
from graphflow.train.optimizers.loss_scaling import MixedPrecisionLossScaleOptimizer as MixedPrecisionLossScaleOptimizer
from graphflow.train.optimizers.loss_scaling import disable_mixed_precision_graph_rewrite as disable_mixed_precision_graph_rewrite
from graphflow.train.optimizers.loss_scaling import enable_mixed_precision_graph_rewrite as enable_mixed_precision_graph_rewrite
