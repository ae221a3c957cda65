"""The logits of ready-made models, with the names of variables that TensorFlow's checkpoints have.

A model of one part makes its training step inside the variable scope of the part, one of two parts outside: the names
of slots in checkpoints tell which.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import graphflow.nn as nn
import graphflow.summary as summary
import graphflow.train as train
from graphflow._core.graph import dtypes
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.array.array import ones, shape, size, stack
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.ops.math.casting import cast
from graphflow._core.ops.math.numeric import add_n
from graphflow._core.ops.state.get_variable import get_variable
from graphflow._core.ops.state.initializers import GlorotUniform, Zeros
from graphflow._core.ops.state.partitioning import min_max_variable_partitioner
from graphflow._core.ops.state.scopes import control_dependencies
from graphflow._core.ops.state.state import assign_add
from graphflow._core.ops.state.variable_scope import variable_scope
from graphflow.estimator.canned.heads import Head
from graphflow.estimator.canned.optimizers import check_not_synchronous, optimizer_of
from graphflow.estimator.run_config import RunConfig
from graphflow.estimator.spec import EstimatorSpec, ModeKeys
from graphflow.feature_column.base import StateManager
from graphflow.feature_column.layers import dense_features, plain_scope, weighted_sum
from graphflow.layers import batch_normalization, dense, dropout

_LARGE_SLICE: Final = 64 << 20
DNN_RATE: Final = 0.05
LINEAR_RATE: Final = 0.2
COMBINED_LINEAR_RATE: Final = 0.005
COMBINED_DNN_RATE: Final = 0.001
BASELINE_RATE: Final = 0.3


def _partitioner(config: RunConfig | None, smallest: int = 256 << 10) -> Callable[..., Any]:
    """Variables in as many parts as there are parameter servers, if they are large."""
    return min_max_variable_partitioner(config.num_ps_replicas if config else 0, min_slice_size=smallest)


def check_features(features: Any) -> None:
    """ValueError unless features have names."""
    if not isinstance(features, Mapping):
        raise ValueError(f"features should be a dictionary of `Tensor`s. Given type: {type(features)}")


def _show(value: Tensor, name: str) -> None:
    summary.scalar(f"{name}/fraction_of_zero_values", nn.zero_fraction(value))
    summary.histogram(f"{name}/activation", value)


class DnnOptions:
    """How a network looks.

    Args:
        hidden_units: The size of each hidden layer.
        columns: Dense feature columns.
        activation: Of hidden layers.
        dropout: The share that is left out in training; None for none.
        batch_norm: Whether hidden layers are normalised.
        partitioner: Of the input's variables; None for parts of 64 MB on parameter servers.
    """

    def __init__(
        self, hidden_units: Sequence[int], columns: Any, activation: Callable[..., Any] | None, dropout: float | None,
        batch_norm: bool, partitioner: Callable[..., Any] | None,
    ) -> None:  # fmt: skip
        self.hidden_units: Sequence[int] = hidden_units
        self.columns: Any = columns
        self.activation: Callable[..., Any] | None = activation
        self.dropout: float | None = dropout
        self.batch_norm: bool = batch_norm
        self.partitioner: Callable[..., Any] | None = partitioner


def dnn_logits(
    features: Mapping[str, Any], mode: str, units: int, options: DnnOptions, config: RunConfig | None
) -> Tensor:
    """The logits of a network, in the variable scope "dnn" of the caller."""
    is_training = mode == ModeKeys.TRAIN
    inner = options.partitioner or _partitioner(config, _LARGE_SLICE)
    with variable_scope("input_from_feature_columns", partitioner=inner), variable_scope("input_layer"):
        net = dense_features(features, options.columns, StateManager(), plain_scope)
    for number, width in enumerate(options.hidden_units):
        name = f"hiddenlayer_{number}"
        net = dense(net, width, options.activation, kernel_initializer=GlorotUniform(), name=name)
        if options.dropout is not None and is_training:
            net = dropout(net, options.dropout, training=True)
        if options.batch_norm:
            with variable_scope(name):
                norm = f"batchnorm_{number}"
                net = batch_normalization(net, momentum=0.999, training=is_training, name=norm)
        _show(net, f"dnn/{name}")
    logits: Tensor = dense(net, units, None, kernel_initializer=GlorotUniform(), name="logits")
    _show(logits, "dnn/logits")
    return logits


def linear_logits(features: Mapping[str, Any], units: int, columns: Any, combiner: str) -> Tensor:
    """The logits of a linear model, in the variable scope "linear" of the caller."""
    made: dict[Any, list[Any]] = {}
    with variable_scope("linear_model"):
        logits, _ = weighted_sum(features, columns, StateManager(), plain_scope, units, combiner, made)
    bias = made.pop("bias")
    if units > 1:
        summary.histogram("bias", bias[0])
    else:
        summary.scalar("bias", bias[0][0])
    weights = [variable for variables in made.values() for variable in variables]
    summary.scalar("fraction_of_zero_weights", _zero_fraction(weights))
    return logits


def _zero_fraction(variables: Sequence[Any]) -> Tensor:
    sizes = [cast(size(variable), dtypes.float32) for variable in variables]
    zeros = [nn.zero_fraction(variable) * count for variable, count in zip(variables, sizes, strict=True)]
    return add_n(zeros) / add_n(sizes)


def linear_rate(columns: Sequence[Any], most: float) -> float:
    """The learning rate of so many columns."""
    return min(most, 1.0 / math.sqrt(len(columns)))


def dnn_spec(
    features: Any, labels: Any, mode: str, head: Head, options: DnnOptions, optimizer: Any, config: RunConfig | None
) -> EstimatorSpec:  # fmt: skip
    """What the model function of a network gives."""
    check_features(features)
    found = optimizer_of(optimizer, DNN_RATE)
    with variable_scope("dnn", partitioner=_partitioner(config)):
        logits = dnn_logits(features, mode, head.logits_dimension, options, config)
        return head.create_estimator_spec(features, mode, logits, labels, found)


def linear_spec(
    features: Any, labels: Any, mode: str, head: Head, columns: Any, optimizer: Any, combiner: str, partitioner: Any,
    config: RunConfig | None,
) -> EstimatorSpec:  # fmt: skip
    """What the model function of a linear model gives."""
    check_features(features)
    if optimizer is None:
        found: Any = train.FtrlOptimizer(linear_rate(columns, LINEAR_RATE))
    else:
        found = optimizer_of(optimizer, LINEAR_RATE)
    with variable_scope("linear", partitioner=partitioner or _partitioner(config, _LARGE_SLICE)):
        logits = linear_logits(features, head.logits_dimension, columns, combiner)
        return head.create_estimator_spec(features, mode, logits, labels, found)


def combined_spec(
    features: Any, labels: Any, mode: str, head: Head, columns: Any, linear_optimizer: Any, combiner: str,
    options: DnnOptions, dnn_optimizer: Any, config: RunConfig | None,
) -> EstimatorSpec:  # fmt: skip
    """What the model function of a linear model and a network together gives, each with its optimizer."""
    check_features(features)
    logits: list[Tensor] = []
    optimizers: dict[str, Any] = {}
    if options.columns:
        if not options.hidden_units:
            raise ValueError("dnn_hidden_units must be defined when dnn_feature_columns is specified.")
        optimizers["dnn"] = optimizer_of(dnn_optimizer, COMBINED_DNN_RATE)
        with variable_scope("dnn", partitioner=_partitioner(config)):
            logits.append(dnn_logits(features, mode, head.logits_dimension, options, config))
    if columns:
        optimizers["linear"] = optimizer_of(linear_optimizer, linear_rate(columns, COMBINED_LINEAR_RATE))
        with variable_scope("linear", partitioner=options.partitioner or _partitioner(config, _LARGE_SLICE)):
            logits.append(linear_logits(features, head.logits_dimension, columns, combiner))
            _show(logits[-1], "linear")
    for optimizer in optimizers.values():
        check_not_synchronous(optimizer)

    def train_both(loss: Tensor) -> Any:
        graph, steps = get_default_graph(), []
        for scope, optimizer in optimizers.items():
            own = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, f"{scope}/")
            steps.append(optimizer.minimize(loss, var_list=own))
        with control_dependencies([group(*steps)]):
            return assign_add(train.get_global_step(), 1).op

    total = logits[0] + logits[1] if len(logits) == 2 else logits[0]
    return head.create_estimator_spec(features, mode, total, labels, train_op_fn=train_both)


def baseline_spec(
    features: Any, labels: Any, mode: str, head: Head, optimizer: Any, weight_column: Any
) -> EstimatorSpec:
    """What the model function of a bias alone gives."""
    check_features(features)
    name = weight_column if isinstance(weight_column, str) else getattr(weight_column, "key", None)
    batch = next(shape(feature)[0] for key, feature in features.items() if key != name)
    with variable_scope("baseline"):
        bias = get_variable("bias", [head.logits_dimension], initializer=Zeros())
        logits = bias * ones(stack([batch, head.logits_dimension]))
    return head.create_estimator_spec(features, mode, logits, labels, optimizer_of(optimizer, BASELINE_RATE))
