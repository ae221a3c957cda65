"""Protects gf.distribute.simulate: it simulates the real parts of the real plan, with what was measured of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf

NUMPY = gf.ConfigProto(compiled="never")
BATCH = np.zeros((32, 50), np.float32), np.zeros(32, np.int32)
PARAMETERS = 4 * (50 * 200 + 200 + 200 * 10 + 10)
"""Bytes of the model."""


def build(features: Any, labels: Any) -> Any:
    logits = gf.layers.dense(gf.layers.dense(features, 200, gf.nn.relu), 10)
    loss = gf.losses.sparse_softmax_cross_entropy(labels, logits)
    step = gf.train.get_or_create_global_step()
    return gf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)


def simulated(
    strategy: Any, cluster: gf.distribute.SimulatedCluster, **more: Any
) -> gf.distribute.Simulation:
    return gf.distribute.simulate(build, strategy, cluster, BATCH, steps=5, config=NUMPY, **more)


def sent(found: gf.distribute.Simulation, sender: str, receiver: str) -> int:
    """Bytes of a step from the tasks of one job to those of another."""
    return sum(
        size
        for task, devices in found.planned.stages.items()
        for stages in devices.values()
        for stage in stages
        for to, _, size in stage.sends
        if f"/job:{sender}/" in task and f"/job:{receiver}/" in to
    )


@pytest.mark.parametrize(
    "strategy", [gf.distribute.ParameterServerStrategy, lambda: None], ids=["strategy", "setter"]
)
def test_a_worker_gets_the_variables_and_sends_their_gradients(strategy: Any) -> None:
    found = simulated(strategy(), gf.distribute.SimulatedCluster(ps=2, workers=3))
    assert set(found.planned.stages) == {
        "/job:ps/replica:0/task:0", "/job:ps/replica:0/task:1", "/job:worker/replica:0/task:0",
    }  # fmt: skip
    assert sent(found, "ps", "worker") == sent(found, "worker", "ps") == PARAMETERS
    stages = found.planned.all_stages()
    assert all(stage.seconds > 0 for stage in stages)
    longest = max(stages, key=lambda stage: stage.seconds)
    assert "MatMul" in longest.name and longest.device.startswith(found.planned.own)
    assert found.steps_per_second > 0 and found.replicated and "ps" in found.text()


def test_rounds_are_of_all_workers_and_the_change_is_made_once() -> None:
    cluster = gf.distribute.SimulatedCluster(ps=2, workers=3)
    found = simulated(gf.distribute.ParameterServerStrategy(synchronous=True), cluster)
    (place,) = {stage.arrives for stage in found.planned.all_stages() if stage.arrives}
    assert (place.needed, place.total) == (3, 3)
    changes = [stage for stage in found.planned.all_stages() if stage.claims]
    assert len(changes) == 2 and sum(stage.gathered for stage in changes) == PARAMETERS
    assert all(0 < stage.again < stage.seconds for stage in changes)
    assert found.steps_per_second == pytest.approx(1 / found.step_seconds, rel=0.2)


def test_backup_workers() -> None:
    def with_backup(features: Any, labels: Any) -> Any:
        logits = gf.layers.dense(features, 10)
        loss = gf.losses.sparse_softmax_cross_entropy(labels, logits)
        optimizer = gf.train.SyncReplicasOptimizer(
            gf.train.GradientDescentOptimizer(0.1), 6, total_num_replicas=8
        )
        return optimizer.minimize(loss, global_step=gf.train.get_or_create_global_step())

    cluster = gf.distribute.SimulatedCluster(ps=1, workers=8, stragglers="exponential:1")
    found = gf.distribute.simulate(
        with_backup, None, cluster, BATCH, steps=30, seconds={"worker": 0.1, "ps": 0.001}, config=NUMPY
    )
    assert found.late > 0
    (place,) = {s.arrives for s in found.planned.for_workers(4).all_stages() if s.arrives}
    assert (place.needed, place.total) == (2, 4)


def test_an_allreduce_is_of_all_workers() -> None:
    found = simulated(
        gf.distribute.CollectiveAllReduceStrategy(), gf.distribute.SimulatedCluster(workers=4, link="10Gbit")
    )
    (what,) = [what for stage in found.planned.all_stages() for what in stage.awaits]
    assert (what.size, what.members) == (PARAMETERS, 4) and found.planned.alone
    assert [name for stage in found.planned.all_stages() for name in stage.brings] == [what.name]
    assert found.steps_per_second == pytest.approx(1 / found.step_seconds, rel=0.2)


def test_one_client_for_all_workers_has_one_plan_for_all() -> None:
    found = simulated(gf.distribute.InGraphStrategy(), gf.distribute.SimulatedCluster(ps=1, workers=3))
    assert not found.replicated and len(found.planned.stages) == 4
    assert sent(found, "ps", "worker") == 3 * PARAMETERS
    assert found.steps_per_second == pytest.approx(1 / found.step_seconds, rel=0.05)


def test_towers_of_one_task() -> None:
    found = gf.distribute.simulate(
        build, gf.distribute.MirroredStrategy(num_devices=2), gf.distribute.SimulatedCluster(cores=2), BATCH, steps=5,
        config=gf.ConfigProto(compiled="never", device_count={"CPU": 2}),
    )  # fmt: skip
    (devices,) = found.planned.stages.values()
    assert len(devices) == 2 and found.steps_per_second > 0


@pytest.mark.parametrize(("cores", "least", "most"), [(2, 0.1, 0.16), (1, 0.199, 0.21)])
def test_towers_of_one_task_compute_at_the_same_time_if_it_has_the_cores(
    cores: int, least: float, most: float
) -> None:
    found = gf.distribute.simulate(
        build, gf.distribute.MirroredStrategy(num_devices=2), gf.distribute.SimulatedCluster(cores=cores), BATCH,
        steps=5, seconds={"worker": 0.2}, config=gf.ConfigProto(compiled="never", device_count={"CPU": 2}),
    )  # fmt: skip
    assert least < found.step_seconds < most


def test_given_costs_are_not_measured() -> None:
    def never(features: Any, labels: Any) -> Any:
        def fail(value: Any) -> Any:
            raise AssertionError("it was run")

        return build(gf.reshape(gf.py_func(fail, [features], gf.float32), [32, 50]), labels)

    cluster = gf.distribute.SimulatedCluster(
        ps=1, workers=2, costs=gf.distribute.MessageCosts(thread_switch=0)
    )
    found = gf.distribute.simulate(
        never, gf.distribute.ParameterServerStrategy(), cluster, BATCH, seconds={"worker": 0.5}, config=NUMPY
    )
    assert found.step_seconds == pytest.approx(0.5, rel=0.02)


def test_a_dataset_is_read_as_the_strategy_splits_it() -> None:
    def data() -> gf.data.Dataset:
        return gf.data.Dataset.from_tensor_slices(BATCH).repeat().batch(32)

    found = gf.distribute.simulate(
        lambda features, labels: build(gf.reshape(features, [32, 50]), labels),
        gf.distribute.ParameterServerStrategy(), gf.distribute.SimulatedCluster(ps=1, workers=2), data, steps=3,
        config=NUMPY,
    )  # fmt: skip
    (reads,) = [stage for stage in found.planned.all_stages() if stage.blocks]
    assert reads.name == "IteratorGetNext" and reads.seconds > 0


def test_a_worker_that_only_asks_for_something() -> None:
    found = gf.distribute.simulate(
        lambda: gf.assign_add(gf.train.get_or_create_global_step(), 1),
        gf.distribute.ParameterServerStrategy(), gf.distribute.SimulatedCluster(ps=1, workers=2), steps=3, config=NUMPY,
    )  # fmt: skip
    assert found.steps_per_second > 0


def test_too_few_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="steps is 1"):
        gf.distribute.simulate(build, None, gf.distribute.SimulatedCluster(), BATCH, steps=1)


def test_a_dataset_of_another_graph_is_refused() -> None:
    data = gf.data.Dataset.from_tensors(BATCH)
    with pytest.raises(ValueError, match="a function without arguments"):
        gf.distribute.simulate(build, None, gf.distribute.SimulatedCluster(), data)
