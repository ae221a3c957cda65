"""Protects simulated time: figures that can be worked out by hand come out, and the same each time."""

from __future__ import annotations

from random import Random

import pytest

from graphflow._core.simulation.engine import Clock, Cores, Thread, Wire


def _until_rest(clock: Clock) -> None:
    assert not clock.run(lambda: False)


def test_events_of_one_moment_come_in_the_order_in_which_they_were_asked_for() -> None:
    clock, seen = Clock(), []
    for name in "abc":
        clock.after(1.0, seen.append, name)
    clock.at(0.5, seen.append, "first")
    _until_rest(clock)
    assert seen == ["first", "a", "b", "c"] and clock.now == 1.0


def test_jobs_share_cores_evenly_and_take_one_each_at_most() -> None:
    clock, ended = Clock(), {}
    cores = Cores(clock, 2)
    for name, seconds in (("a", 1.0), ("b", 2.0), ("c", 3.0)):
        cores.work(seconds, lambda name=name: ended.setdefault(name, clock.now))
    _until_rest(clock)
    # Three share two cores until a has its second, at 1.5; then b and c have a core each.
    assert ended == pytest.approx({"a": 1.5, "b": 2.5, "c": 3.5})
    assert cores.reckoned() == pytest.approx(6.0)


def test_a_job_that_comes_later_slows_those_that_are_there() -> None:
    clock, ended = Clock(), {}
    cores = Cores(clock, 1)
    cores.work(2.0, lambda: ended.setdefault("long", clock.now))
    clock.at(1.0, lambda: cores.work(0.5, lambda: ended.setdefault("short", clock.now)))
    _until_rest(clock)
    assert ended == pytest.approx({"short": 2.0, "long": 2.5})


def test_messages_share_a_link_by_their_weights() -> None:
    clock, ended = Clock(), {}
    wire = Wire(clock)
    for name, seconds, weight in (("a", 3.0, 3.0), ("b", 3.0, 1.0)):
        wire.carry(seconds, weight, lambda name=name: ended.setdefault(name, clock.now))
    clock.at(6.0, lambda: wire.work(1.0, lambda: ended.setdefault("c", clock.now)))
    _until_rest(clock)
    # a gets three quarters and ends at 4, when b has one second of its three; it has the link alone from then on.
    assert ended == pytest.approx({"a": 4.0, "b": 6.0, "c": 7.0})
    assert wire.reckoned() == pytest.approx(7.0)


def test_a_link_is_never_idle_while_there_are_messages() -> None:
    clock, ended, random = Clock(), [], Random(1)
    wire = Wire(clock)
    sizes = [random.uniform(0.1, 1.0) for _ in range(200)]

    def next_one(number: int) -> None:
        ended.append(clock.now)
        if number + 4 < len(sizes):
            wire.carry(sizes[number + 4], random.lognormvariate(0.0, 1.0), next_one, number + 4)

    for number in range(4):
        wire.carry(sizes[number], random.lognormvariate(0.0, 1.0), next_one, number)
    _until_rest(clock)
    assert len(ended) == 200 and clock.now == pytest.approx(sum(sizes)) == pytest.approx(wire.reckoned())


def test_short_jobs_end_after_a_long_time() -> None:
    clock, ended = Clock(), []
    cores = Cores(clock, 1)
    clock.at(1e6, lambda: [cores.work(1e-7 / 3, lambda: ended.append(clock.now)) for _ in range(7)])
    _until_rest(clock)
    assert ended == pytest.approx([1e6] * 7)


def test_divided_work_uses_several_cores() -> None:
    clock = Clock()
    Cores(clock, 4).divided(8.0, 4, lambda: None)
    _until_rest(clock)
    assert clock.now == pytest.approx(2.0)


def test_a_thread_does_one_job_after_the_other() -> None:
    clock, ended = Clock(), []
    thread = Thread(Cores(clock, 8))
    for seconds in (1.0, 2.0):
        thread.work(seconds, lambda: ended.append(clock.now))
    _until_rest(clock)
    assert ended == pytest.approx([1.0, 3.0]) and thread.seconds == pytest.approx(3.0)
