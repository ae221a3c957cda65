"""Protects how towers are built: contexts, names, merging, what each tower sees, and errors in place of hangs.

Promise 23: a tower that misses a merge raises naming both, and the number of operations grows linearly with towers.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.left_over import new_threads

D = gf.distribute
SUM, MEAN = gf.VariableAggregation.SUM, gf.VariableAggregation.MEAN


@pytest.fixture(autouse=True)
def graph() -> Iterator[gf.Graph]:
    with gf.Graph().as_default() as fresh:
        yield fresh


def session() -> gf.Session:
    return gf.Session(config=gf.ConfigProto(device_count={"CPU": 4}))


def test_names_are_those_of_tensorflow(graph: gf.Graph) -> None:
    strategy = D.MirroredStrategy(num_devices=2)

    def tower() -> Any:
        with gf.variable_scope("layer"):
            weight = gf.get_variable("w", [2])
        return gf.multiply(weight, 2.0, name="twice")

    with strategy.scope():
        outputs = strategy.unwrap(strategy.call_for_each_tower(tower))
    assert [output.name for output in outputs] == ["twice:0", "tower_1/twice:0"]
    assert [output.device for output in outputs] == ["/device:CPU:0", "/device:CPU:1"]
    (weight,) = gf.trainable_variables()
    assert [copy.name for copy in strategy.unwrap(weight)] == ["layer/w:0", "layer/w/replica_1:0"]


def test_promise_23_a_missed_merge_names_both_towers_and_the_line(graph: gf.Graph) -> None:
    strategy = D.MirroredStrategy(num_devices=3)

    def tower() -> None:
        context = D.get_tower_context()
        if context.tower_id != 1:
            context.merge_call(lambda strategy: None)

    before = set(threading.enumerate())  # Some may end meanwhile.
    with (
        strategy.scope(),
        pytest.raises(RuntimeError, match=r"Tower 1 returned .*test_towers.py:\d+ .*tower 0"),
    ):
        strategy.call_for_each_tower(tower)
    assert not new_threads(before)


def test_two_different_merges_are_an_error(graph: gf.Graph) -> None:
    strategy = D.MirroredStrategy(num_devices=2)

    def one(strategy: Any) -> None: ...

    def other(strategy: Any) -> None: ...

    def tower() -> None:
        context = D.get_tower_context()
        context.merge_call(one if context.tower_id == 0 else other)

    with strategy.scope(), pytest.raises(RuntimeError, match=r"Tower 0 makes .*one.* tower 1 makes .*other"):
        strategy.call_for_each_tower(tower)


def test_an_optimizer_in_one_tower_only_is_an_error(graph: gf.Graph) -> None:
    strategy = D.MirroredStrategy(num_devices=2)

    def tower() -> None:
        loss = gf.get_variable("w", initializer=1.0) * 2.0
        if D.get_tower_context().tower_id == 0:
            gf.train.GradientDescentOptimizer(0.1).minimize(loss)

    with strategy.scope(), pytest.raises(RuntimeError, match="Tower 1 returned without the merge_call"):
        strategy.call_for_each_tower(tower)


def test_the_exception_of_a_tower_comes_out_and_ends_the_others(graph: gf.Graph) -> None:
    strategy = D.MirroredStrategy(num_devices=3)
    ended: list[int] = []

    def tower() -> None:
        context = D.get_tower_context()
        try:
            if context.tower_id == 2:
                raise KeyError("in a tower")
            context.merge_call(lambda strategy: None)
        finally:
            ended.append(context.tower_id)

    with strategy.scope(), pytest.raises(KeyError, match="in a tower"):
        strategy.call_for_each_tower(tower)
    assert sorted(ended) == [0, 1, 2]


def test_a_merge_in_a_branch_is_an_error_and_no_hang(graph: gf.Graph) -> None:
    strategy = D.MirroredStrategy(num_devices=2)

    def tower() -> Any:
        context = D.get_tower_context()
        return gf.cond(
            gf.constant(True), lambda: context.merge_call(lambda s: gf.constant(1)), lambda: gf.constant(2)
        )

    with strategy.scope(), pytest.raises(RuntimeError, match="inside a branch or a loop"):
        strategy.call_for_each_tower(tower)


def test_names_of_layers_are_counted_on_where_the_towers_left_off(graph: gf.Graph) -> None:
    strategy = D.MirroredStrategy(num_devices=2)

    def net() -> Any:
        with gf.variable_scope("net", reuse=gf.AUTO_REUSE):
            return gf.layers.dense(gf.ones([2, 3]), 1)

    with strategy.scope():
        strategy.call_for_each_tower(net)
        strategy.call_for_each_tower(net)
        net()
        assert [v.name for v in gf.global_variables()] == ["net/dense/kernel:0", "net/dense/bias:0"]
        strategy.call_for_each_tower(lambda: [gf.layers.dense(gf.ones([2, 3]), 1) for _ in range(2)])
        gf.layers.dense(gf.ones([2, 3]), 1)
    assert [v.name.split("/")[0] for v in gf.trainable_variables()[2::2]] == ["dense", "dense_1", "dense_2"]


def test_towers_see_their_own_losses_and_updates(graph: gf.Graph) -> None:
    strategy = D.MirroredStrategy(num_devices=3)
    seen = []

    def tower() -> Any:
        x = gf.constant([[float(D.get_tower_context().tower_id + 1)]])
        out = gf.layers.dense(
            x,
            1,
            kernel_initializer=gf.ones_initializer(),
            kernel_regularizer=lambda w: 100.0 * gf.reduce_sum(w),
        )
        gf.losses.absolute_difference(0.0 * out, out)
        seen.append((len(gf.losses.get_losses()), len(gf.losses.get_regularization_losses())))
        return gf.losses.get_total_loss()

    with strategy.scope():
        totals = strategy.unwrap(strategy.call_for_each_tower(tower))
        init = gf.global_variables_initializer()
    assert seen == [(1, 1)] * 3
    assert len(gf.losses.get_losses()) == 3
    with session() as run:
        run.run(init)
        assert run.run(totals) == [101.0, 102.0, 103.0]


def test_update_operations_come_before_the_merged_step(graph: gf.Graph) -> None:
    strategy = D.MirroredStrategy(num_devices=2)

    def tower() -> Any:
        count = gf.get_variable(
            "count", initializer=0.0, trainable=False, aggregation=SUM,
            synchronization=gf.VariableSynchronization.ON_READ,
        )  # fmt: skip
        gf.add_to_collection(gf.GraphKeys.UPDATE_OPS, count.assign_add(1.0).op)
        with gf.control_dependencies(gf.get_collection(gf.GraphKeys.UPDATE_OPS)):
            return gf.train.GradientDescentOptimizer(0.1).minimize(
                gf.get_variable("w", initializer=1.0) * 1.0
            )

    with strategy.scope():
        step = gf.group(strategy.unwrap(strategy.call_for_each_tower(tower)))
        init = gf.global_variables_initializer()
    count = next(v for v in gf.global_variables() if v.name == "count:0")
    with session() as run:
        run.run(init)
        run.run(step)
        assert run.run(count) == 2.0


def test_merge_call_gives_each_tower_its_part(graph: gf.Graph) -> None:
    strategy = D.MirroredStrategy(num_devices=2)

    def swap(strategy: Any, value: Any) -> Any:
        first, second = strategy.unwrap(value)
        return D.PerDevice([second, first], value.devices)

    def tower() -> Any:
        context = D.get_tower_context()
        return context.merge_call(swap, f"of tower {context.tower_id}")

    with strategy.scope():
        assert strategy.unwrap(strategy.call_for_each_tower(tower)) == ["of tower 1", "of tower 0"]


def test_results_keep_their_structure(graph: gf.Graph) -> None:
    strategy = D.MirroredStrategy(num_devices=2)
    shared = object()

    def tower() -> Any:
        number = D.get_tower_context().tower_id
        return {"own": [number, (f"t{number}", shared)], "none": None}

    with strategy.scope():
        found = strategy.call_for_each_tower(tower)
    assert strategy.unwrap(found["own"][0]) == [0, 1]
    assert strategy.unwrap(found["own"][1][0]) == ["t0", "t1"]
    assert found["own"][1][1] is shared and found["none"] is None


def test_scopes_of_the_caller_hold_in_every_tower(graph: gf.Graph) -> None:
    strategy = D.MirroredStrategy(num_devices=2)

    @gf.contrib.framework.add_arg_scope
    def scaled(x: Any, by: float = 1.0) -> Any:
        return x * by

    with strategy.scope(), gf.variable_scope("outer"), gf.contrib.framework.arg_scope([scaled], by=3.0):
        values = strategy.unwrap(strategy.call_for_each_tower(lambda: scaled(gf.constant(2.0))))
        names = strategy.call_for_each_tower(lambda: gf.get_variable_scope().name)
    assert [value.name.split("/")[0] for value in values] == ["outer", "outer"]
    assert names == "outer"
    with session() as run:
        assert run.run(values) == [6.0, 6.0]


def test_optimizers_and_strategies_outside_of_towers_say_where_they_belong(graph: gf.Graph) -> None:
    strategy = D.MirroredStrategy(num_devices=2)
    with strategy.scope():
        loss = gf.get_variable("w", initializer=1.0) * 2.0
        with pytest.raises(RuntimeError, match="call_for_each_tower"):
            gf.train.GradientDescentOptimizer(0.1).minimize(loss)
        with pytest.raises(RuntimeError, match="inside the scope of MirroredStrategy"):
            D.OneDeviceStrategy("/cpu:0").scope().__enter__()
    for call in (lambda: strategy.reduce(SUM, 1.0), lambda: strategy.update(loss, gf.identity)):
        with pytest.raises(RuntimeError, match="in the strategy's scope"):
            call()


def test_towers_with_different_variables_are_told_which(graph: gf.Graph) -> None:
    strategy = D.MirroredStrategy(num_devices=2)

    def number() -> int:
        return int(D.get_tower_context().tower_id)

    def train() -> Any:
        weights = [gf.get_variable(name, initializer=1.0) for name in "vw"]
        return gf.train.GradientDescentOptimizer(0.1).minimize(weights[number()] * 2.0)

    cases = [
        (lambda: gf.get_variable(f"x{number()}", [1]), r"Tower 1: Variable x1 does not exist.* same"),
        (lambda: gf.get_variable("y", [1 + number()]), r"Tower 1: .* shape \(2,\) and found shape \(1,\)"),
        (
            lambda: gf.Variable([0.0] * (1 + number()), name="z"),
            r"Tower 1 .*\(2,\) at .*, .*tower 0 .*\(1,\)",
        ),
        (train, r"tower 0 \['v:0'\]; tower 1 \['w:0'\]"),
    ]
    with strategy.scope():
        for tower, message in cases:
            with pytest.raises((ValueError, RuntimeError), match=message):
                strategy.call_for_each_tower(tower)


def test_values_of_all_towers_are_no_tensor(graph: gf.Graph) -> None:
    strategy = D.MirroredStrategy(num_devices=2)
    with strategy.scope():
        number = strategy.call_for_each_tower(lambda: gf.placeholder(gf.float32, []))
        weight = gf.get_variable("w", initializer=1.0)
        with pytest.raises(TypeError, match=r"'w:0' was given a value of each tower.* reduce"):
            strategy.update(weight, gf.assign, number)
        with pytest.raises(ValueError, match="3 values, for 2 towers"):
            strategy.call_for_each_tower(gf.identity, D.PerDevice([1, 2, 3]))
    advice = r"A PerDevice holds a value for each tower .*unwrap"
    with session() as run:
        for use in (
            lambda: run.run(number), lambda: run.run(gf.no_op(), {number: 1.0}), lambda: gf.group(number),
            lambda: gf.identity(number), lambda: number.shape,
        ):  # fmt: skip
            with pytest.raises((TypeError, AttributeError), match=advice):
                use()


def test_devices_and_datasets_that_are_none(graph: gf.Graph) -> None:
    with pytest.raises(TypeError, match=r"list of names, such as \['/cpu:0'\]"):
        D.MirroredStrategy(devices="/cpu:0")
    assert D.MirroredStrategy(num_gpus=0).worker_devices == D.MirroredStrategy(num_devices=1).worker_devices
    for count in ({"num_devices": 0}, {"devices": []}, {"devices": ["/cpu:0", "/cpu:0"]}):
        with pytest.raises(ValueError, match="at least one device, and no two the same"):
            D.MirroredStrategy(**count)
    with pytest.raises(TypeError, match=r"takes a gf.data.Dataset.* got list"):
        D.MirroredStrategy(num_devices=2).distribute_dataset([1, 2])
    strategy = D.MirroredStrategy(num_devices=2)
    with strategy.scope():
        values = strategy.unwrap(strategy.call_for_each_tower(lambda: gf.constant(1.0)))
    with (
        gf.Session() as run,
        pytest.raises(gf.errors.InvalidArgumentError, match=r'device_count=\{"CPU": 2\}'),
    ):
        run.run([value + gf.random_uniform([]) for value in values])


def test_promise_23_operations_grow_linearly_with_the_towers(graph: gf.Graph) -> None:
    def operations(towers: int) -> int:
        strategy = D.MirroredStrategy(num_devices=towers)
        with gf.Graph().as_default() as built, strategy.scope():

            def tower() -> Any:
                x = gf.layers.batch_normalization(gf.layers.dense(gf.ones([4, 3]), 5), training=True)
                return gf.train.AdamOptimizer().minimize(gf.reduce_sum(gf.square(x)))

            strategy.call_for_each_tower(tower)
            return len(built.get_operations())

    two, four, eight = operations(2), operations(4), operations(8)
    assert eight - four == 2 * (four - two)
    assert eight <= 8.5 * operations(1)


@pytest.mark.parametrize(
    "make", [lambda: D.OneDeviceStrategy("/cpu:0"), lambda: D.MirroredStrategy(devices=["/cpu:0"])]
)
def test_promise_23_with_one_device_a_step_is_the_plain_one(make: Any) -> None:
    """Promise 23: one device costs nothing, because what runs is what runs without a strategy."""

    def model() -> Any:
        x = gf.layers.batch_normalization(gf.layers.dense(gf.ones([4, 3]), 5), training=True)
        with gf.control_dependencies(gf.get_collection(gf.GraphKeys.UPDATE_OPS)):
            return gf.train.AdamOptimizer().minimize(
                gf.reduce_sum(gf.square(x)), gf.train.create_global_step()
            )

    def plan(build: Any) -> list[str]:
        with gf.Graph().as_default(), session() as run:
            text = run.explain(build())
        return sorted(line.split("(")[0].split(" = ")[-1] for line in text.splitlines() if " = " in line)

    def distributed() -> Any:
        strategy = make()
        with strategy.scope():
            return strategy.unwrap(strategy.call_for_each_tower(model))[0]

    assert plan(distributed) == plan(model)


def test_collections_that_nobody_used_are_not_there(graph: gf.Graph) -> None:
    strategy = D.MirroredStrategy(num_devices=2)
    with strategy.scope():
        strategy.call_for_each_tower(lambda: gf.losses.add_loss(gf.constant(1.0)))
    assert gf.GraphKeys.LOSSES in graph.collections
    assert gf.GraphKeys.UPDATE_OPS not in graph.collections


def test_slots_can_be_asked_of_any_towers_optimizer(graph: gf.Graph) -> None:
    strategy = D.MirroredStrategy(num_devices=2)
    optimizers = []

    def tower() -> Any:
        optimizers.append(gf.train.MomentumOptimizer(0.1, 0.9))
        return optimizers[-1].minimize(gf.get_variable("w", initializer=np.ones(2, np.float32)) * 1.0)

    with strategy.scope():
        strategy.call_for_each_tower(tower)
    (weight,) = gf.trainable_variables()
    slots = [optimizer.get_slot(weight, "momentum") for optimizer in optimizers]
    assert slots[0] is slots[1] is not None
    assert [copy.name for copy in strategy.unwrap(slots[0])] == ["w/Momentum:0", "w/Momentum/replica_1:0"]
