"""Protects variables with copies: reads and writes from towers and from outside, averages, metrics, sessions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.distribute.test_layers import TwoTowersOneCopy

D = gf.distribute
SUM, MEAN = gf.VariableAggregation.SUM, gf.VariableAggregation.MEAN
ON_READ = gf.VariableSynchronization.ON_READ
CONFIG = gf.ConfigProto(device_count={"CPU": 4})


@pytest.fixture
def strategy() -> Iterator[Any]:
    with gf.Graph().as_default():
        yield D.MirroredStrategy(num_devices=2)


def run(fetches: Any, *steps: Any) -> Any:
    with gf.Session(config=CONFIG) as session:
        session.run([gf.global_variables_initializer(), gf.local_variables_initializer()])
        for step in steps:
            session.run(step)
        return session.run(fetches)


@pytest.mark.parametrize(
    ("how", "expected"), [(SUM, 13.0), (MEAN, 11.5), (gf.VariableAggregation.ONLY_FIRST_TOWER, 11.0)]
)
def test_towers_write_a_mirrored_variable_together(strategy: Any, how: int, expected: float) -> None:
    def tower() -> Any:
        v = gf.get_variable("v", initializer=10.0, aggregation=how)
        return v.assign_add(D.get_tower_context().tower_id + 1.0)

    with strategy.scope():
        written = strategy.unwrap(strategy.call_for_each_tower(tower))
        copies = strategy.unwrap(gf.trainable_variables()[0])
    assert run(copies, written) == [expected, expected]


@pytest.mark.parametrize(
    ("how", "expected"), [(SUM, 13.0), (MEAN, 11.5), (gf.VariableAggregation.ONLY_FIRST_TOWER, 11.0)]
)
def test_towers_write_the_one_copy_that_they_share_together(how: int, expected: float) -> None:
    strategy = TwoTowersOneCopy()

    def tower() -> Any:
        v = gf.get_variable("v", initializer=10.0, aggregation=how)
        return v.assign_add(D.get_tower_context().tower_id + 1.0)

    with gf.Graph().as_default(), strategy.scope():
        written = strategy.unwrap(strategy.call_for_each_tower(tower))
        copies = strategy.unwrap(gf.trainable_variables()[0])
        assert run(copies, written) == [expected]


def test_a_tower_does_not_write_without_an_aggregation(strategy: Any) -> None:
    with strategy.scope(), pytest.raises(ValueError, match=r"'v:0' is mirrored .* aggregation"):
        strategy.call_for_each_tower(lambda: gf.assign(gf.get_variable("v", initializer=1.0), 2.0))


def test_outside_of_towers_all_copies_are_written(strategy: Any) -> None:
    with strategy.scope():
        v = gf.get_variable("v", initializer=np.zeros(3, np.float32))
        inside = gf.assign_add(v, [1.0, 2.0, 3.0])
        copies = strategy.unwrap(v)
    outside = gf.scatter_add(v, [0], [10.0])
    with gf.Session(config=CONFIG) as session:
        session.run(gf.global_variables_initializer())
        assert session.run(inside).tolist() == [1, 2, 3]
        assert session.run(outside).tolist() == [11, 2, 3]
        v.load(session.run(v) + 1, session)
        for copy in session.run(copies):
            assert copy.tolist() == [12, 3, 4]


def test_copies_begin_equal_with_random_values(strategy: Any) -> None:
    with strategy.scope():
        first, second = strategy.unwrap(gf.get_variable("v", [20]))
    found = run([first, second])
    assert np.array_equal(*found) and np.std(found[0]) > 0


def test_plain_variables_are_shared_by_order(strategy: Any) -> None:
    def tower() -> Any:
        return [gf.Variable(i * 1.0, name="same") for i in range(3)]

    with strategy.scope():
        made = strategy.call_for_each_tower(tower)
        assert made == gf.global_variables()
        assert [v.name for v in made] == ["same:0", "same_1:0", "same_2:0"]

        def other() -> None:
            if D.get_tower_context().tower_id:
                gf.Variable(1.0, name="only here")

        with pytest.raises(RuntimeError, match="that tower 0 has not made"):
            strategy.call_for_each_tower(other)


def test_tower_local_variables_come_together_when_read_outside(strategy: Any) -> None:
    def tower() -> Any:
        number = D.get_tower_context().tower_id + 1.0
        total = gf.get_variable(
            "total", initializer=0.0, trainable=False, synchronization=ON_READ, aggregation=SUM
        )
        mean = gf.get_variable(
            "mean", initializer=0.0, trainable=False, synchronization=ON_READ, aggregation=MEAN
        )
        return [total.assign_add(number).op, mean.assign(number).op]

    with strategy.scope():
        ops = [op for one in strategy.call_for_each_tower(tower) for op in strategy.unwrap(one)]
        total, mean = gf.global_variables()
        read = [strategy.read_var(v) for v in (total, mean)]
    assert run([total, mean, *read, total + 1.0], ops) == [3.0, 1.5, 3.0, 1.5, 4.0]


def test_metrics_add_up_over_towers(strategy: Any) -> None:
    def tower(values: Any) -> Any:
        return gf.metrics.mean(values)

    with strategy.scope():
        data = D.PerDevice([[1.0, 2.0], [3.0, 4.0, 5.0]])
        value, update = strategy.call_for_each_tower(tower, data)
        updates = strategy.unwrap(update)
    assert run(value, updates, updates) == 3.0


def test_moving_averages_of_variables_and_of_what_towers_have(strategy: Any) -> None:
    averages = []

    def tower() -> Any:
        v = gf.get_variable("v", initializer=1.0)
        own = gf.constant(D.get_tower_context().tower_id * 2.0, name="own")
        averages.append(gf.train.ExponentialMovingAverage(0.5))
        step = averages[-1].apply([v, own])
        return step, averages[-1].average(own)

    with strategy.scope():
        step, average = strategy.call_for_each_tower(tower)
        steps, copies = strategy.unwrap(step), strategy.unwrap(average)
        change = gf.trainable_variables()[0].assign(3.0)
        shadow = strategy.unwrap(averages[1].average(gf.trainable_variables()[0]))
    assert len(steps) == 1
    assert run([copies, shadow], change, steps) == [[0.5, 0.5], [2.0, 2.0]]


def test_corrected_averages_have_the_variables_of_one_device() -> None:
    """The correction has copies, too: a checkpoint of two towers is that of one device."""

    def trained(strategy: Any) -> dict[str, Any]:
        def tower() -> Any:
            kept = gf.get_variable("kept", initializer=0.0, trainable=False)
            value = gf.constant(2.0, name="value")
            average = gf.train.ExponentialMovingAverage(0.5, zero_debias=True)
            return average.apply([value]), gf.train.moving_averages.assign_moving_average(kept, value, 0.9)

        with gf.Graph().as_default(), strategy.scope():
            steps = [strategy.unwrap(one) for one in strategy.call_for_each_tower(tower)]
            return run({v.name: v for v in gf.global_variables()}, steps, steps)  # type: ignore[no-any-return]

    found = trained(D.MirroredStrategy(num_devices=2))
    assert found == trained(D.OneDeviceStrategy("/cpu:0"))
    assert found["kept:0"] == pytest.approx(2.0) and found["kept/local_step:0"] == 2.0


def test_towers_begin_with_values_of_a_checkpoint(strategy: Any, tmp_path: Path) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        session.run(gf.get_variable("old/w", initializer=5.0).initializer)
        gf.train.Saver().save(session, str(tmp_path / "model"))

    def tower() -> Any:
        w = gf.get_variable("new/w", initializer=1.0)
        gf.train.init_from_checkpoint(f"{tmp_path}", {"old/": "new/"})
        return w * 1.0

    with strategy.scope():
        values = strategy.unwrap(strategy.call_for_each_tower(tower))
    assert run(values) == [5.0, 5.0]


def test_a_checkpoint_fills_every_copy_and_the_copies_stay_apart(strategy: Any, tmp_path: Path) -> None:
    def tower() -> Any:
        v = gf.get_variable("v", initializer=np.arange(3, dtype=np.float32))
        count = gf.get_variable(
            "count", initializer=1.0, trainable=False, synchronization=ON_READ, aggregation=SUM
        )
        step = gf.train.MomentumOptimizer(1.0, 0.9).minimize(gf.reduce_sum(v))
        return step, count.assign_add(1.0).op

    with strategy.scope():
        step, counted = strategy.call_for_each_tower(tower)
        ops = [strategy.unwrap(step), strategy.unwrap(counted)]
        by_name = {v.name: v for v in gf.global_variables()}
        copies = [strategy.unwrap(v) for v in gf.global_variables()]
        saver = gf.train.Saver()
    with gf.Session(config=CONFIG) as session:
        session.run(gf.global_variables_initializer())
        session.run(ops)
        path = saver.save(session, str(tmp_path / "model"))
        expected = session.run(by_name)
    assert sorted(n for n, _ in gf.train.list_variables(path)) == ["count", "v", "v/Momentum"]
    assert expected["count:0"] == 4.0
    with gf.Session(config=CONFIG) as session:
        saver.restore(session, path)
        for name, value in session.run(by_name).items():
            assert np.array_equal(value, expected[name])
        session.run(ops)
        values = session.run(copies)
        assert session.run(by_name["count:0"]) == 6.0
    for same in values[0], values[2]:
        assert np.array_equal(same[0], same[1])
    assert np.allclose(values[0][0], [-2.9, -1.9, -0.9])


def test_a_saver_made_in_a_tower_saves_what_all_have(strategy: Any, tmp_path: Path) -> None:
    def tower() -> Any:
        gf.get_variable("v", initializer=3.0)
        count = gf.get_variable(
            "count", initializer=1.0, trainable=False, synchronization=ON_READ, aggregation=SUM
        )
        return count.assign_add(1.0).op, gf.train.Saver()

    with strategy.scope():
        counted, savers = strategy.call_for_each_tower(tower)
        ops = strategy.unwrap(counted)
        copies = strategy.unwrap(gf.trainable_variables()[0])
    for saver in strategy.unwrap(savers):
        with gf.Session(config=CONFIG) as session:
            session.run(gf.global_variables_initializer())
            session.run(ops)
            path = saver.save(session, str(tmp_path / "model"))
            session.run(gf.global_variables_initializer())
            saver.restore(session, path)
            assert session.run([copies, gf.global_variables()]) == [[3.0, 3.0], [3.0, 4.0]]


def test_a_monitored_session_trains_and_goes_on(tmp_path: Path) -> None:
    def train(last: int) -> tuple[int, list[Any]]:
        with gf.Graph().as_default():
            strategy = D.MirroredStrategy(num_devices=2)

            def tower(x: Any) -> Any:
                w = gf.get_variable("w", initializer=0.0)
                gf.summary.scalar("w", w)
                step = gf.train.get_or_create_global_step()
                return gf.train.AdamOptimizer(0.1).minimize(gf.square(w - x), global_step=step)

            with strategy.scope():
                data = gf.data.Dataset.from_tensor_slices(np.float32([1, 3])).repeat()
                train_op = strategy.call_for_each_tower(tower, strategy.distribute_dataset(data).get_next())
                step = strategy.group(train_op)
                copies = strategy.unwrap(gf.trainable_variables()[0])
            with gf.train.MonitoredTrainingSession(
                checkpoint_dir=str(tmp_path), hooks=[gf.train.StopAtStepHook(last_step=last)], config=CONFIG,
                log_step_count_steps=None,
            ) as session:  # fmt: skip
                begin = int(session.run_step_fn(lambda c: c.session.run(gf.train.get_global_step())))
                found = []
                while not session.should_stop():
                    _, found = session.run([step, copies])
            return begin, found

    assert train(4)[0] == 0
    begin, found = train(8)
    assert begin == 4 and found[0] == found[1] > 0


def test_increment_var_counts_once_for_all_towers(strategy: Any) -> None:
    def tower() -> Any:
        v = gf.get_variable("v", initializer=0, trainable=False)
        return D.increment_var(v)

    with strategy.scope():
        op = strategy.unwrap(strategy.call_for_each_tower(tower))
        other = D.increment_var(gf.global_variables()[0], 10)
        copies = strategy.unwrap(gf.global_variables()[0])
    assert run(copies, op, op, other) == [12, 12]
