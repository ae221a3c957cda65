"""Runs in parts: what was computed in one part is there in the next, and no operation runs twice."""

from __future__ import annotations

import pytest

import graphflow as gf


def test_a_run_goes_on_with_what_the_program_computes() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        a, b, c = (gf.placeholder(gf.float32, []) for _ in range(3))
        sums = a + b
        product = sums * c
        for factor in (17, 18):
            handle = session.partial_run_setup([sums, product], [a, b, c])
            found = session.partial_run(handle, sums, feed_dict={a: 1, b: 2})
            assert found == 3
            assert session.partial_run(handle, product, feed_dict={c: found * factor}) == 9 * factor
        with pytest.raises(gf.errors.InvalidArgumentError, match="Must run 'setup'"):
            session.partial_run(handle, product)


def test_an_operation_runs_once() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        counter = gf.Variable(0.0)
        drawn = gf.random_uniform([3])
        with gf.control_dependencies([counter.assign_add(1.0)]):
            first = drawn + 1.0
        second, third = drawn + 2.0, first * 2.0
        session.run(counter.initializer)
        handle = session.partial_run_setup([first, second, third])
        values = [session.partial_run(handle, tensor) for tensor in (first, second, third)]
        assert values[1].tolist() == pytest.approx((values[0] + 1.0).tolist())
        assert values[2].tolist() == (values[0] * 2.0).tolist()
        assert session.run(counter) == 1.0


def test_what_was_not_announced_or_comes_again_is_refused() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        a, b, c = (gf.placeholder(gf.float32, [], name=name) for name in "abc")
        one, other = a + b, a * c
        handle = session.partial_run_setup([one], [a, b])
        for fetch, feed in ((one, {a: 1, b: 2, c: 3}), (other, {a: 1})):
            with pytest.raises(
                gf.errors.InvalidArgumentError, match=r"was not specified in partial_run_setup\.$"
            ):
                session.partial_run(handle, fetch, feed)
        handle = session.partial_run_setup([one, other], [a, b, c])
        session.partial_run(handle, one, {a: 1, b: 2})
        with pytest.raises(gf.errors.InvalidArgumentError, match=r"a:0 has already been fed\.$"):
            session.partial_run(handle, other, {a: 1, c: 3})
        with pytest.raises(gf.errors.InvalidArgumentError, match=r"has already been fetched\.$"):
            session.partial_run(handle, one, {c: 3})
        with pytest.raises(gf.errors.InvalidArgumentError, match="at least one target"):
            session.partial_run_setup([], [a])


def test_feeds_may_come_before_anything_is_fetched() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        x = gf.placeholder(gf.float32)
        doubled = x * 2.0
        handle = session.partial_run_setup([doubled], [x])
        assert session.partial_run(handle, [], {x: 3.0}) == []
        assert session.partial_run(handle, [doubled]) == [6.0]


def test_branches_and_loops_are_parts_of_parts() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        x, y = gf.placeholder(gf.float32, []), gf.placeholder(gf.float32, [])
        grown = gf.while_loop(lambda v: v < 10.0, lambda v: v * 2.0, [x])
        chosen = gf.cond(y > 0.0, lambda: grown + y, lambda: grown - y)
        handle = session.partial_run_setup([grown, chosen], [x, y])
        assert session.partial_run(handle, grown, {x: 3.0}) == 12.0
        assert session.partial_run(handle, chosen, {y: 1.0}) == 13.0
