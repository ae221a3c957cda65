"""gf.distribute.simulate: how fast a model would train on a cluster that is not there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from graphflow._core.cluster.client.device_setter import replica_device_setter
from graphflow._core.graph import defaults
from graphflow._core.graph.graph import Graph
from graphflow._core.ops.control_flow.flow_basics import group
from graphflow._core.simulation.client import measured_step
from graphflow._core.simulation.machine import SimulatedCluster
from graphflow._core.simulation.report import Simulation, simulated
from graphflow.config import ConfigProto
from graphflow.data.dataset import Dataset
from graphflow.distribute.strategy import DistributionStrategy
from graphflow.nest import flatten

_WORKER = "/job:worker/task:0"


def simulate(
    build: Callable[..., Any],
    strategy: DistributionStrategy | None,
    cluster: SimulatedCluster,
    batches: Any = None,
    steps: int | None = None,
    seconds: Mapping[str, float] | None = None,
    config: ConfigProto | None = None,
    seed: int = 0,
) -> Simulation:
    """How fast a model would train on a cluster: graph, placement, plan and its parts are real, time is simulated.

    The model is built for the first worker. The stages of its training step are then run here, one by one, each on one
    core, which says what they cost and how large the values are that go from task to task. See docs/simulate.md.

        cluster = gf.distribute.SimulatedCluster(ps=16, workers=100, link="10Gbit", latency="50us")
        print(gf.distribute.simulate(build, gf.distribute.ParameterServerStrategy(), cluster, batches=(images, labels)))

    Args:
        build: Builds the model from a batch, and returns what a training step runs.
        strategy: Says where variables and towers are; it is configured for the cluster. None for
            gf.train.replica_device_setter, as programs use it that build for themselves.
        cluster: The cluster.
        batches: Arrays that are one batch of a worker, or a function that makes a gf.data.Dataset, which the strategy
            splits; None if `build` takes nothing.
        steps: How many steps of each worker are simulated; by default 20, and fewer if there are many workers.
        seconds: Core-seconds that a task computes in a step, by job, such as {"worker": 0.5, "ps": 0.01}. Then nothing
            is run here: what stages cost is divided by how many operations they have.
        config: A gf.ConfigProto for the measured runs; by default all that can be is compiled.
        seed: Of stragglers, and of when the workers begin.

    Returns:
        A gf.distribute.Simulation.
    """
    if steps is not None and steps < 2:
        raise ValueError(f"steps is {steps}: at least 2 are needed to tell one from the next.")
    config = config or ConfigProto(compiled="always")
    with Graph().as_default() as graph:
        target = _built(build, strategy, cluster, batches, config)
        planned = measured_step(graph, target, config, cluster, seconds)
    workers = {task for task in planned.stages if task != planned.own and "/job:worker/" in task}
    return simulated(planned, cluster, not workers, steps, seed)


def _built(
    build: Callable[..., Any],
    strategy: DistributionStrategy | None,
    cluster: SimulatedCluster,
    batches: Any,
    config: ConfigProto,
) -> Any:
    """What a training step of the first worker runs, built in the default graph."""
    spec = cluster.spec()
    if strategy is None:
        place = replica_device_setter(worker_device=_WORKER, cluster=spec) if cluster.ps else _WORKER
        with defaults.get_default_graph().device(place):
            given = [] if batches is None else [_dataset(batches).make_one_shot_iterator().get_next()]
            return group(*_operations(build(*_arguments(given))))
    strategy.configure(replace(config), spec, "worker", 0)
    with strategy.scope():
        given = [] if batches is None else [strategy.distribute_dataset(_dataset(batches)).get_next()]
        results = strategy.call_for_each_tower(build, *_arguments(given))
        return group(*[op for value in flatten(results) for op in _operations(strategy.unwrap(value))])


def _dataset(batches: Any) -> Any:
    """The dataset that is meant: arrays stand for one that has them as its only element, again and again."""
    if isinstance(batches, Dataset):
        raise ValueError(
            "batches is a dataset of another graph: give a function without arguments that makes it."
        )
    return batches() if callable(batches) else Dataset.from_tensors(batches).repeat()


def _arguments(given: list[Any]) -> list[Any]:
    """A batch that is a tuple gives an argument for each of its parts."""
    return [part for batch in given for part in (batch if isinstance(batch, tuple) else (batch,))]


def _operations(results: Any) -> list[Any]:
    return [getattr(value, "op", value) for value in flatten(results) if value is not None]
