"""Protects the rendezvous of launchers, as a state machine: when a group begins, why it ends, and who hears what."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphflow._core.cluster.elastic.group_timeouts import (
    GROUP_SETTLE_SECONDS,
    GROUP_WAIT_SECONDS,
    NODE_LEASE_SECONDS,
)
from graphflow._core.cluster.elastic.rendezvous import Do, NodeState, Order, Rendezvous, Report

LEASE, SETTLE, WAIT, PAUSE = NODE_LEASE_SECONDS, GROUP_SETTLE_SECONDS, GROUP_WAIT_SECONDS, 1.0
LOST = LEASE * 1.1 + 0.1


class World:
    """A rendezvous and its nodes, which do what they hear; those in `deaf` do not, and those in `gone` say nothing."""

    def __init__(self, least: int, most: int, restarts: int = 0) -> None:
        self.nodes = least, most
        self.now = 100.0
        self.rendezvous = Rendezvous(
            least,
            most,
            restarts,
            lease_seconds=LEASE,
            settle_seconds=SETTLE,
            wait_seconds=WAIT,
            pause_seconds=PAUSE,
        )
        self.reports: dict[str, Report] = {}
        self.orders: dict[str, Order] = {}
        self.stops: list[str] = []
        self.gone: set[str] = set()
        self.deaf: set[str] = set()

    def come(self, *names: str) -> None:
        for name in names:
            self.reports[name] = Report(name, name, NodeState.WAITING, self.nodes, 0, (f"{name}:1",))

    def is_in(self, name: str, state: NodeState, reason: str = "") -> None:
        self.reports[name] = replace(self.reports[name], state=state, reason=reason)

    def turn(self, seconds: float = 0.0) -> None:
        """Some time passes, in which each node reports several times."""
        limit = self.now + seconds
        while True:
            for name, report in list(self.reports.items()):
                if name not in self.gone:
                    self._obey(name, self.rendezvous.heard(report, self.now))
            if self.now >= limit:
                return
            self.now = min(limit, self.now + 0.5)

    def _obey(self, name: str, order: Order) -> None:
        self.orders[name], report = order, self.reports[name]
        if name in self.deaf:
            return
        if order.do is Do.RUN and report.state is NodeState.WAITING:
            self.reports[name] = replace(report, state=NodeState.RUNNING, generation=order.generation)
        if order.do is Do.STOP:
            self.stops.append(name)
            left = report.state is NodeState.LEAVING
            self.reports[name] = replace(report, state=NodeState.LEFT if left else NodeState.WAITING)

    def group(self) -> tuple[int, list[str]]:
        """The group that runs, as all its nodes know it."""
        running = {name for name, report in self.reports.items() if report.state is NodeState.RUNNING}
        found = {(self.orders[name].generation, self.orders[name].nodes) for name in running - self.gone}
        assert len(found) == 1, self.orders
        ((generation, nodes),) = found
        return generation, [name for name, _ in nodes]


def test_a_group_begins_with_the_least_nodes_after_a_moment_and_with_the_most_at_once() -> None:
    world = World(2, 3)
    world.come("a")
    world.turn(50.0)
    assert world.orders["a"].do is Do.WAIT and "1 of at least 2 nodes (a)" in world.orders["a"].text
    world.come("b")
    world.turn(SETTLE - 0.5)
    assert world.orders["a"].do is Do.WAIT
    world.turn(1.0)
    assert world.group() == (1, ["a", "b"])
    assert world.orders["b"].nodes == (("a", ("a:1",)), ("b", ("b:1",)))
    full = World(2, 3)
    full.come("a", "b", "c")
    full.turn()
    full.turn()
    assert full.group() == (1, ["a", "b", "c"])


def test_too_few_nodes_are_not_waited_for_for_ever() -> None:
    world = World(2, 2)
    world.come("a")
    world.turn(WAIT - 1.0)
    assert world.orders["a"].do is Do.WAIT
    world.turn(2.0)
    assert (world.orders["a"].do, world.orders["a"].status) == (Do.END, 1)
    assert "1 of at least 2 nodes (a) came within 600 s" in world.orders["a"].text
    assert world.rendezvous.over


def test_a_node_that_comes_is_taken_in_after_the_chief_has_ended_before_the_others() -> None:
    world = World(1, 3)
    world.come("a", "b")
    world.turn(SETTLE + 1.0)
    assert world.group() == (1, ["a", "b"])
    world.deaf = {"a"}  # The chief is saving.
    world.come("c")
    world.turn(5.0)
    assert world.orders["a"] == Order(Do.STOP, "c joins", 1) and world.orders["b"].do is Do.RUN
    assert world.orders["c"].text == "waits for the workers on a, b to end: c joins"
    world.deaf = set()
    world.turn(1.0)
    world.turn()
    assert world.stops[0] == "a" and world.group() == (2, ["a", "b", "c"])
    assert world.orders["a"].text == "c joins"


def test_more_nodes_than_there_may_be_stand_by_and_take_the_place_of_one_that_is_lost() -> None:
    world = World(2, 2)
    world.come("a", "b", "c")
    world.turn()
    world.turn()
    assert world.group() == (1, ["a", "b"])
    assert world.orders["c"].do is Do.WAIT and "stands by" in world.orders["c"].text
    world.gone = {"b"}
    world.turn(LEASE)
    assert world.group() == (1, ["a", "b"])
    world.turn(LOST - LEASE + 1.0)
    assert world.group() == (2, ["a", "c"])
    assert "b is lost: nothing was heard of it" in world.orders["a"].text


def test_the_chiefs_node_is_lost_and_the_next_one_has_the_chief() -> None:
    world = World(1, 2)
    world.come("a", "b")
    world.turn()
    world.gone = {"a"}
    world.turn(LOST + SETTLE + 2.0)
    assert world.group() == (2, ["b"])
    world.gone = set()
    world.deaf = {"b"}
    world.reports["a"] = replace(world.reports["a"], state=NodeState.WAITING)  # It has killed its workers.
    world.turn(1.0)
    assert world.orders["b"].do is Do.STOP
    world.deaf = set()
    world.turn(1.0)
    assert world.group() == (3, ["b", "a"])


def test_a_node_that_was_lost_and_still_runs_an_old_group_is_told_to_stop() -> None:
    world = World(1, 2)
    world.come("a", "b")
    world.turn()
    world.turn()
    world.gone = {"b"}
    world.turn(LOST + SETTLE + 2.0)
    assert world.group() == (2, ["a"])
    world.gone = set()
    order = world.rendezvous.heard(world.reports["b"], world.now)
    assert (order.do, order.generation) == (Do.STOP, 1)


def test_a_worker_that_fails_has_the_group_begin_anew_after_a_pause_as_often_as_it_may() -> None:
    world = World(1, 2, restarts=1)
    world.come("a", "b")
    world.turn()
    world.turn()
    world.is_in("b", NodeState.FAILED, "worker 1 failed (killed by SIGKILL)")
    world.turn()
    world.turn()
    assert world.stops[0] == "a"
    world.turn(PAUSE + 0.5)
    assert world.group() == (2, ["a", "b"])
    assert world.orders["a"].text == "worker 1 failed (killed by SIGKILL); the group begins anew, 1 of 1"
    world.is_in("a", NodeState.FAILED, "worker 0 failed (exit status 3)")
    world.turn()
    for order in world.orders.values():
        assert order == Order(Do.END, "worker 0 failed (exit status 3)", status=1)


def test_a_node_that_leaves_does_so_when_the_chief_has_saved() -> None:
    world = World(1, 2)
    world.come("a", "b")
    world.turn()
    world.turn()
    world.deaf = {"a"}
    world.is_in("b", NodeState.LEAVING)
    world.turn(1.0)
    assert world.orders["a"].do is Do.STOP and world.orders["b"].do is Do.RUN
    world.deaf = set()
    world.turn(1.0)
    assert world.stops == ["a", "b"]
    assert world.reports["b"].state is NodeState.LEFT and world.orders["b"].do is Do.END
    del world.reports["b"]
    world.turn(SETTLE + 1.0)
    assert world.group() == (2, ["a"])


def test_the_chiefs_good_end_is_that_of_all_also_if_the_group_was_to_end() -> None:
    for joins in (False, True):
        world = World(1, 3)
        world.come("a", "b")
        world.turn(SETTLE + 1.0)
        world.deaf = {"a", "b"}
        if joins:
            world.come("c")
            world.turn(0.5)
        world.is_in("a", NodeState.ENDED)
        world.turn(0.5)
        assert {(order.do, order.status) for order in world.orders.values()} == {(Do.END, 0)}
        assert world.rendezvous.over


def test_the_end_of_the_job_comes_when_all_workers_have_ended() -> None:
    world = World(1, 2)
    world.come("a", "b")
    world.turn()
    world.turn()
    world.rendezvous.end(130, "SIGINT", world.now)
    assert not world.rendezvous.over
    world.turn(1.0)
    world.turn()
    assert world.stops == ["a", "b"]
    assert {(order.do, order.status, order.text) for order in world.orders.values()} == {
        (Do.END, 130, "SIGINT")
    }
    assert world.rendezvous.over


def test_a_node_that_has_not_heard_of_the_end_says_something_again_and_is_told_again() -> None:
    world = World(1, 2)
    world.come("a", "b")
    world.turn()
    world.turn()
    world.is_in("a", NodeState.ENDED)
    world.turn()
    assert world.rendezvous.over and not world.rendezvous.heard_by_all("a", 2.0, world.now)
    world.turn(5.0)  # The answer is lost each time.
    assert not world.rendezvous.heard_by_all("a", 2.0, world.now)
    world.gone.add("b")
    world.turn(1.5)
    assert not world.rendezvous.heard_by_all("a", 2.0, world.now)
    world.turn(1.0)
    assert world.rendezvous.heard_by_all("a", 2.0, world.now)


def test_a_new_rendezvous_stops_what_an_earlier_one_has_begun_and_goes_on_counting() -> None:
    """It is at the same address: its launcher was started again, or another one on that machine took its place."""
    world = World(1, 2)
    world.come("a", "b")
    for name in world.reports:
        world.reports[name] = replace(world.reports[name], state=NodeState.RUNNING, generation=7)
    world.turn()
    assert world.stops == ["a", "b"]
    world.turn()
    world.turn()
    assert world.group() == (8, ["a", "b"])


def test_a_node_that_was_told_other_numbers_is_refused() -> None:
    world = World(1, 2)
    world.come("a")
    world.turn()
    found = world.rendezvous.heard(Report("b", "b", NodeState.WAITING, (1, 4), 0, ("b:1",)), world.now)
    assert (found.do, found.status) == (Do.END, 2) and "--nnodes 1:4, and the others 1:2" in found.text


@pytest.mark.parametrize(
    "wrong", [None, 5, {}, {"state": "dancing"}, {"addresses": []}, {"nodes": [1]}, {"generation": "x"}]
)
def test_what_is_no_report_is_refused(wrong: object) -> None:
    good = Report("a", "a", NodeState.WAITING, (1, 2), 0, ("a:1",))
    assert Report.of(good.details()) == good
    found = {**good.details(), **wrong} if isinstance(wrong, dict) and wrong else wrong
    with pytest.raises(ValueError, match="A report of a node is wrong"):
        Report.of(found)


def test_orders_come_as_they_were_given() -> None:
    order = Order(Do.RUN, "c joins", 3, (("a", ("a:1", "a:2")), ("c", ("c:1",))))
    assert Order.of(order.details()) == order
    with pytest.raises(ValueError, match="An order of the rendezvous is wrong"):
        Order.of({"do": "dance"})
