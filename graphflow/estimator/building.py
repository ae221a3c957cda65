"""The graph in which an estimator calls the user's functions, and the arguments that these take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import Parameter, signature
from typing import Any, Final

import graphflow.train as train
from graphflow._core.cluster.client.device_setter import replica_device_setter
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.random_seed import set_random_seed
from graphflow.distribute.strategy import DistributionStrategy
from graphflow.estimator.run_config import RunConfig
from graphflow.estimator.spec import ModeKeys

_MODEL_ARGUMENTS: Final = ("features", "labels", "mode", "params", "config")


def strategy_of(config: RunConfig, mode: str) -> DistributionStrategy | None:
    """The strategy that a mode is built under, None for none."""
    return {ModeKeys.TRAIN: config.train_distribute, ModeKeys.EVAL: config.eval_distribute}.get(mode)


@contextmanager
def building(config: RunConfig, mode: str) -> Iterator[Any]:
    """A new graph as the default one, under the strategy or with the devices of the cluster; gives its global step."""
    strategy = strategy_of(config, mode)
    if strategy is not None:
        with Graph().as_default(), strategy.scope():
            yield _begun(config)
        return
    function: Any = config.device_fn if mode == ModeKeys.TRAIN else None
    if function is None and mode == ModeKeys.TRAIN and config.num_ps_replicas:
        worker = f"/job:{config.task_type}/task:{config.task_id}"
        function = replica_device_setter(
            config.num_ps_replicas, worker_device=worker, cluster=config.cluster_spec
        )
    graph = Graph()
    with graph.as_default(), graph.device(function):
        yield _begun(config)


def _begun(config: RunConfig) -> Any:
    """Gives the default graph its seed; its global step."""
    if config.tf_random_seed is not None:
        set_random_seed(config.tf_random_seed)
    return train.get_or_create_global_step()


def argument_names(function: Callable[..., Any]) -> list[str]:
    """The names by which a function can be given arguments; all that there are for one that takes any."""
    kinds = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    found = signature(function).parameters.values()
    if any(parameter.kind == Parameter.VAR_KEYWORD for parameter in found):
        return list(_MODEL_ARGUMENTS)
    return [parameter.name for parameter in found if parameter.kind not in kinds]


def checked_arguments(model_fn: Callable[..., Any], params: Any) -> list[str]:
    """The names of a model function's arguments; ValueError for one that cannot be called with what there is."""
    taken = argument_names(model_fn)
    if "features" not in taken:
        raise ValueError(f"model_fn ({model_fn}) must include features argument.")
    if params is not None and "params" not in taken:
        raise ValueError(
            f"model_fn ({model_fn}) does not include params argument, but params ({params}) is passed to Estimator."
        )
    needed = [
        parameter.name
        for parameter in signature(model_fn).parameters.values()
        if parameter.default is Parameter.empty and parameter.name in taken
    ]
    unknown = sorted(set(needed) - set(_MODEL_ARGUMENTS))
    if unknown:
        raise ValueError(f"model_fn ({model_fn}) has following not expected args: {unknown}")
    return taken
