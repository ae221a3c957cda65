"""A model under a distribution strategy: its function is called in each tower, and what the towers give becomes one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import graphflow.metrics as metrics
from graphflow._core.common.records import dataclass
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.devices import DeviceSpec
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow.config import ConfigProto
from graphflow.distribute.context import get_loss_reduction
from graphflow.distribute.input import InputContext
from graphflow.distribute.strategy import DistributionStrategy
from graphflow.distribute.values import PerDevice
from graphflow.estimator.spec import EstimatorSpec, ModeKeys


@dataclass
class _Built:
    """What one tower has built."""

    spec: EstimatorSpec
    reduction: int
    """How the losses of the towers go together."""
    mean_loss: Any
    """The metric of the loss, to evaluate."""


def parts_in_towers(
    strategy: DistributionStrategy, input_fn: Callable[[InputContext], Any]
) -> tuple[Any, Any]:
    """The features and the labels, None if there are none, of each tower, of the datasets that a function makes."""
    iterator = strategy.make_input_fn_iterator(input_fn)
    get_default_graph().add_to_collection(GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    element = iterator.get_next()
    if not isinstance(element, list | tuple):
        return element, None
    if len(element) != 2:
        raise ValueError(
            f"input_fn should return (features, labels) as a len 2 tuple, got {len(element)} elements."
        )
    return element[0], element[1]


def spec_of_towers(
    strategy: DistributionStrategy, mode: str, model_fn: Callable[[Any, Any], EstimatorSpec], features: Any, labels: Any
) -> tuple[EstimatorSpec, Any]:  # fmt: skip
    """One EstimatorSpec for those that a model function gives in each tower, and the metric of the loss to evaluate.

    The loss is reduced as gradients are. Hooks, the scaffold and the values of metrics are the first tower's.
    """

    def tower(features: Any, labels: Any) -> _Built:
        spec = model_fn(features, labels)
        mean_loss = metrics.mean(spec.loss) if mode == ModeKeys.EVAL else None
        return _Built(spec, get_loss_reduction(), mean_loss)

    towers: list[_Built] = strategy.unwrap(strategy.call_for_each_tower(tower, features, labels))
    first = towers[0].spec
    if mode == ModeKeys.EVAL:
        measured = {
            name: (value, group(*[built.spec.eval_metric_ops[name][1] for built in towers]))
            for name, (value, _) in first.eval_metric_ops.items()
        }
        mean_loss = (towers[0].mean_loss[0], group(*[built.mean_loss[1] for built in towers]))
        return first._replace(eval_metric_ops=measured), mean_loss
    losses: Any = [built.spec.loss for built in towers]
    losses = losses[0] if len(losses) == 1 else PerDevice(losses, strategy.worker_devices)
    loss = strategy.unwrap(strategy.reduce(towers[0].reduction, losses))[0]
    steps = group(*[built.spec.train_op for built in towers])
    return first._replace(loss=loss, train_op=steps), None


def with_devices(config: ConfigProto | None, strategy: DistributionStrategy) -> ConfigProto | None:
    """The configuration of a session, with as many CPU devices as the strategy's towers need."""
    specs = [DeviceSpec.from_string(device) for device in strategy.worker_devices]
    needed = 1 + max([s.device_index or 0 for s in specs if s.device_type == "CPU"], default=0)
    found = ConfigProto() if config is None else config
    if found.device_count.get("CPU", 1) >= needed:
        return config
    return replace(found, device_count={**found.device_count, "CPU": needed})
