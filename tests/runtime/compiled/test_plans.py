"""Protects compiled plans as a whole: the order of reads and writes, feeds of every form, errors, many threads."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import check, compiled_plans


def _always() -> gf.Session:
    return gf.Session(config=gf.ConfigProto(compiled="always"))


# ---- reads and writes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [[], [7], [3, 4]])
def test_a_variable_read_written_and_read_again(shape: list[int]) -> None:
    def model() -> Any:
        v = gf.Variable(np.ones(shape, "f"))
        before = v * 2.0
        with gf.control_dependencies([before]):
            first = gf.assign_add(v, before)
        with gf.control_dependencies([first]):
            between = v * 3.0
        with gf.control_dependencies([between]):
            second = gf.assign(v, between - 1.0)
        with gf.control_dependencies([second]):
            after = v + 0.0
        return [before, between, after, v], {}

    check(model)


def test_a_view_of_a_variable_shows_what_it_was_when_read() -> None:
    def model() -> Any:
        v = gf.Variable(np.arange(12, dtype="f").reshape(3, 4))
        row, turned = v[1], gf.transpose(v)
        with gf.control_dependencies([row, turned]):
            step = gf.assign_sub(v, gf.ones([3, 4]))
        return [row, turned, step, gf.reshape(row, [2, 2])], {}

    check(model)


def test_results_of_assignments_are_what_was_assigned() -> None:
    def model() -> Any:
        v, w = gf.Variable(np.ones(5, "f")), gf.Variable(np.zeros((4, 2), "f"))
        return [gf.assign_add(v, v * 2.0), gf.assign(w, gf.ones([4, 2]) * 3.0), gf.reduce_sum(v)], {}

    check(model)


def test_constants_that_are_no_numbers_are_fetched() -> None:
    v = gf.Variable(1.0)
    fetches = [v.assign_add(1.0), gf.constant("text")]
    with _always() as session:
        session.run(v.initializer)
        for _ in range(2):
            count, text = session.run(fetches)
    assert (float(count), text) == (3.0, b"text")


@pytest.mark.parametrize("through", ["constant", "group", "view"])
def test_an_update_waits_for_what_fails_before_it(through: str) -> None:
    def refuse(_: Any) -> None:
        raise ValueError("no")

    v = gf.Variable(1.0)
    x = gf.placeholder(gf.float32, [1, 1])
    checked = gf.py_func(refuse, [x], [], stateful=True)
    if through == "group":
        checked = gf.group(gf.group(checked))
    with gf.control_dependencies([checked]):
        added = gf.reshape(x, []) if through == "view" else gf.constant(1.0)
    update = v.assign_add(added)
    with _always() as session:
        session.run(v.initializer)
        for _ in range(3):
            with pytest.raises(gf.errors.OpError, match="no"):
                session.run(update, {x: [[1.0]]})
        assert session.run(v) == 1.0


def test_two_updates_of_one_variable_stay_in_order() -> None:
    def model() -> Any:
        v = gf.Variable(np.full(9, 2.0, "f"))
        first = gf.assign(v, v * v)
        with gf.control_dependencies([first]):
            second = gf.assign_add(v, gf.ones([9]))
        return [second], {}

    check(model)


# ---- feeds ----------------------------------------------------------------------------------------------


def test_feeds_of_changing_shapes_and_layouts() -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [None, None])
        scale = gf.placeholder(gf.float32, [])
        y = gf.reduce_sum(gf.tanh(x) * scale, axis=1)
        with _always() as session:
            base = np.random.RandomState(0).randn(12, 10).astype("f")
            feeds = [
                base,
                base.T,
                base[::2],
                base[:, ::3],
                base[:0],
                base[3:4],
                np.asfortranarray(base),
                base[::-1],
            ]
            for number in range(3):
                for feed in feeds:
                    got = session.run(y, {x: feed, scale: number + 1.0})
                    np.testing.assert_allclose(
                        got, np.tanh(feed).sum(1) * (number + 1.0), rtol=1e-4, atol=1e-5
                    )
            swapped = base.astype(">f4")
            np.testing.assert_allclose(
                session.run(y, {x: swapped, scale: 1}), np.tanh(base).sum(1), rtol=1e-4, atol=1e-5
            )


def test_what_is_fetched_belongs_to_the_user() -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [4])
        v = gf.Variable(np.zeros(4, "f"))
        y = x + 1.0
        with _always() as session:
            session.run(v.initializer)
            first, held = session.run([y, v], {x: np.zeros(4, "f")})
            session.run([y, gf.assign_add(v, x)], {x: np.ones(4, "f")})
            np.testing.assert_array_equal(first, np.ones(4))
            np.testing.assert_array_equal(held, np.zeros(4))


# ---- errors ---------------------------------------------------------------------------------------------


def test_division_by_zero_names_the_operation_and_the_line() -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.int32, [3])
        y = gf.floordiv(gf.constant([7, 8, 9]), x, name="quotient") + 1
        with _always() as session:
            np.testing.assert_array_equal(session.run(y, {x: [1, 2, 3]}), [8, 5, 4])
            np.testing.assert_array_equal(session.run(y, {x: [2, 2, 3]}), [4, 5, 4])
            with pytest.raises(gf.errors.InvalidArgumentError, match="quotient") as caught:
                session.run(y, {x: [1, 0, 3]})
            assert Path(__file__).name in str(caught.value)
            np.testing.assert_array_equal(session.run(y, {x: [1, 2, 3]}), [8, 5, 4])


def test_an_index_out_of_range_names_the_operation_and_the_line() -> None:
    with gf.Graph().as_default():
        table = gf.Variable(np.arange(20, dtype="f").reshape(5, 4))
        ids = gf.placeholder(gf.int32, [2])
        rows = gf.gather(table, ids, name="rows") * 2.0
        with _always() as session:
            session.run(table.initializer)
            for _ in range(2):
                np.testing.assert_array_equal(session.run(rows, {ids: [0, 4]})[1], [32, 34, 36, 38])
            for bad in (5, -1):
                with pytest.raises(gf.errors.InvalidArgumentError, match="rows") as caught:
                    session.run(rows, {ids: [0, bad]})
                assert Path(__file__).name in str(caught.value)


# ---- threads, and variables that change underneath ------------------------------------------------------


def test_many_threads_share_a_compiled_plan() -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [64])
        total = gf.Variable(np.zeros(64, "f"))
        y = gf.exp(gf.tanh(x)) + 1.0
        step = gf.assign_add(total, gf.ones([64]))
        runs, workers = 20, 24
        failures: list[Any] = []
        with _always() as session:
            session.run(total.initializer)
            session.run([y, step], {x: np.zeros(64, "f")})

            def work(number: int) -> None:
                feed = np.full(64, number / workers, "f")
                for _ in range(runs):
                    got, _ = session.run([y, step], {x: feed})
                    if not np.allclose(got, np.exp(np.tanh(feed)) + 1.0, rtol=1e-5):
                        failures.append((number, got))

            threads = [threading.Thread(target=work, args=(n,)) for n in range(workers)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not failures
            np.testing.assert_array_equal(session.run(total), np.full(64, 1.0 + runs * workers, "f"))


def test_a_variable_that_gets_another_shape_or_buffer_between_runs() -> None:
    with gf.Graph().as_default():
        v = gf.Variable(np.ones((2, 3), "f"), validate_shape=False)
        new = gf.placeholder(gf.float32)
        change = gf.assign(v, new, validate_shape=False)
        y = gf.reduce_sum(v * 2.0)
        with _always() as session:
            session.run(v.initializer)
            for _ in range(3):
                assert session.run(y) == 12.0
            session.run(change, {new: np.ones((4, 5), "f")})
            assert session.run(y) == 40.0
            session.run(change, {new: np.full((2, 3), 2.0, "f")})
            assert session.run(y) == 24.0


def test_a_branch_uses_values_of_a_compiled_plan() -> None:
    def model() -> Any:
        x = gf.placeholder(gf.float32, [16])
        flag = gf.placeholder(gf.bool, [])
        a, b = gf.tanh(x), gf.exp(x)
        y = gf.cond(flag, lambda: a * 2.0, lambda: b - 1.0)
        return [y + 1.0, gf.reduce_sum(a)], {x: np.linspace(-1, 1, 16).astype("f"), flag: True}

    check(model)


def test_a_value_and_other_views_of_it_in_one_operation() -> None:
    def model() -> Any:
        x = gf.placeholder(gf.float32, [4, 4])
        y = x * 2.0
        others = [gf.transpose(y), y[::-1], y[:, ::-1], y[:1], y[:, 1:2], gf.reshape(y, [4, 4])]
        values = np.random.default_rng(3).uniform(-1, 1, [4, 4]).astype("f")
        return [y + other for other in others] + [gf.add_n([y, gf.transpose(y)])], {x: values}

    check(model)


def test_rows_of_a_variable_are_changed_by_those_that_it_had() -> None:
    def model() -> Any:
        v = gf.Variable(np.arange(12.0, dtype="f").reshape(4, 3))
        return gf.scatter_update(v, [1, 2, 3, 0], v).op, {}

    check(model)


def test_small_values_between_stages_have_a_place_of_their_own() -> None:
    """No address is put where it counts for them in each run, and what a run has given stays as it was."""
    with (
        gf.Graph().as_default(),
        gf.Session(config=gf.ConfigProto(compiled="always", device_count={"CPU": 2})) as s,
    ):
        x = gf.placeholder(gf.float32, [None, 4])
        with gf.device("/cpu:0"):
            few, many = gf.tanh(x[:2]), gf.sin(x)
        with gf.device("/cpu:1"):
            results = [few * 2.0, gf.transpose(few) + 1.0, many - 0.5]
        found = []
        for k in range(4):
            fed = np.full((1000, 4), 0.1 * k, np.float32) + np.arange(4, dtype=np.float32)
            found.append((fed, s.run(results, {x: fed})))
        for fed, (doubled, turned, large) in found:
            np.testing.assert_allclose(doubled, 2 * np.tanh(fed[:2]), rtol=1e-5)
            np.testing.assert_allclose(turned, np.tanh(fed[:2]).T + 1, rtol=1e-5)
            np.testing.assert_allclose(large, np.sin(fed) - 0.5, rtol=1e-4, atol=1e-6)
        taking = next(plan for plan in compiled_plans(s) if len(plan.parts.plan.feeds) == 2)
        assert len(taking.parts.staging) == 1 and len(taking.parts.externals) >= 1
