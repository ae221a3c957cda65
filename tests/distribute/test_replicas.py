"""Protects the names of tf.distribute: what a strategy does for its replicas is what it does for its towers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf

D = gf.distribute

_THREE = gf.ConfigProto(device_count={"CPU": 3})


def _number() -> Any:
    context = D.get_replica_context()
    assert context.num_replicas_in_sync == context.strategy.num_towers
    return context.replica_id_in_sync_group


def test_a_function_runs_once_in_each_replica() -> None:
    strategy = D.MirroredStrategy(num_devices=3)
    with gf.Graph().as_default(), gf.Session(config=_THREE) as session:
        found = strategy.experimental_run_v2(lambda x: _number() + x, args=(10,))
        each = strategy.experimental_local_results(found)
        assert [int(value) for value in session.run(each)] == [10, 11, 12]
        with strategy.scope():
            inside = strategy.extended.call_for_each_replica(_number)
            total = strategy.extended.reduce_to("SUM", inside, "/cpu:0")
            with pytest.raises(ValueError, match='reduce_op is "SUM" or "MEAN"'):
                strategy.extended.reduce_to("PRODUCT", inside, "/cpu:0")
        assert session.run(strategy.unwrap(total)[0]) == 3
        assert strategy.extended.worker_devices == tuple(strategy.worker_devices)
        assert strategy.experimental_local_results(7) == (7,)


def test_under_no_strategy_there_is_one_replica() -> None:
    with gf.Graph().as_default(), gf.Session(config=_THREE) as session:
        strategy = D.get_strategy()
        assert session.run(strategy.experimental_run(_number)) == 0
        assert strategy.extended.call_for_each_replica(lambda a, b: a + b, (1,), {"b": 2}) == 3


def test_copies_of_a_variable_are_updated() -> None:
    strategy = D.MirroredStrategy(num_devices=2)
    with gf.Graph().as_default(), gf.Session(config=_THREE) as session:
        with strategy.scope():
            v = gf.get_variable("v", initializer=1.0, aggregation=gf.VariableAggregation.SUM)
            change = strategy.extended.update(v, lambda copy, by: copy.assign_add(by), args=(2.0,))
        session.run(gf.global_variables_initializer())
        session.run(change)
        assert session.run(strategy.unwrap(v)) == [3.0, 3.0]


@pytest.mark.parametrize("replicas", [1, 2])
def test_a_dynamic_scale_falls_if_a_gradient_of_any_replica_is_not_finite(replicas: int) -> None:
    strategy = D.MirroredStrategy(num_devices=replicas)
    with gf.Graph().as_default(), gf.Session(config=_THREE) as session:
        values = gf.placeholder(gf.float32, [2])
        with strategy.scope():
            scale = gf.train.experimental.DynamicLossScale(8.0, increment_period=1, multiplier=2.0)
            gradient = strategy.call_for_each_tower(
                lambda: values[D.get_replica_context().replica_id_in_sync_group]
            )
            update, finite = scale.update([gradient, None])
        session.run(gf.global_variables_initializer())
        for given, is_finite, now in (([1.0, 1.0], True, 16.0), ([np.nan, 1.0], False, 8.0)):
            got = session.run([finite, update], {values: given})[0]
            assert (bool(got), session.run(scale())) == (is_finite, now)
        if replicas == 2:
            session.run(update, {values: [1.0, np.inf]})
            assert session.run(scale()) == 4.0


def test_a_scale_without_gradients_grows() -> None:
    with gf.Graph().as_default(), gf.Session(config=_THREE) as session:
        scale = gf.train.experimental.DynamicLossScale(2.0, increment_period=1)
        update, finite = scale.update([None])
        session.run(gf.global_variables_initializer())
        assert session.run([finite, update])[0]
        assert session.run(scale()) == 4.0
