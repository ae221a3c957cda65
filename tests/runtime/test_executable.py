"""What runs a plan has one form whatever it runs on, and one way to be run: counted, and freed of what it holds."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.cluster.client import remote
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime import planner
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Executable, carry_out
from graphflow._core.runtime.gpu import (
    planning as planning,  # the kinds of GPUs, which are loaded where there is one
)
from graphflow._core.session import executables
from graphflow._core.simulation import measure

MODULES = (planner, remote, measure)
"""What is imported here has defined all kinds of executables."""


class Does(Executable):
    """Runs a function of the run."""

    def __init__(self, function: Callable[[RunContext], Any], uses_variables: bool) -> None:
        self.function = function
        self.uses_variables = uses_variables

    def run(self, run: RunContext, feeds: Sequence[Any]) -> tuple[Any, ...]:
        return (self.function(run), *feeds)


def kinds() -> list[type]:
    """All classes of the engine that run plans."""
    found, todo = [], [Executable]
    while todo:
        todo += (inner := todo.pop().__subclasses__())
        found += [kind for kind in inner if kind.__module__.startswith("graphflow._core.")]
    return found


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_every_kind_has_what_callers_ask_for_and_nobody_looks_which_it_is(kind: type) -> None:
    for name, method in inspect.getmembers(Executable, inspect.isfunction):
        if not name.startswith("_"):
            assert list(inspect.signature(getattr(kind, name)).parameters) == list(
                inspect.signature(method).parameters
            )
    assert kind.run is not Executable.run


def test_all_kinds_are_found() -> None:
    assert {kind.__name__ for kind in kinds()} == {
        "ControlledExecutable", "CutExecutable", "DeviceExecutable", "InProcessExecutable", "MeasuredExecutable",
        "NumpyExecutable", "RemoteExecutable", "StagedExecutable", "TieredExecutable", "TracedExecutable",
    }  # fmt: skip


def is_alone(store: ResourceStore) -> bool:
    """Whether at most one run is active."""
    alone = store.begin_in_place()
    if alone:
        store.end_in_place()
    return alone


@pytest.mark.parametrize("uses_variables", [False, True])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_run_counts_while_it_goes_on_and_one_that_fails_frees_what_it_holds(
    uses_variables: bool, error: type[BaseException]
) -> None:
    store, freed = ResourceStore(), []

    def inside(run: RunContext) -> tuple[bool, bool]:
        other = Does(lambda run: is_alone(store), True)
        return run.pausable, carry_out(other, RunContext(store), ())[0]

    found = carry_out(Does(inside, uses_variables), RunContext(store), [7])
    assert found == ((uses_variables, not uses_variables), 7)

    def fails(run: RunContext) -> None:
        run.add_cleanup("it", lambda: freed.append("cleanup"))
        run.on_abort("it", lambda: freed.append("on_abort"))
        raise error

    with pytest.raises(error):
        carry_out(Does(fails, uses_variables), RunContext(store), ())
    assert freed == ["cleanup", "on_abort"]
    assert carry_out(Does(lambda run: is_alone(store), True), RunContext(store), ())[0]


def test_what_ends_before_it_begins_is_not_counted() -> None:
    """A run that is to end while another changes a variable in place."""
    store, run = ResourceStore(), RunContext(ResourceStore())
    run.store = store
    ran: list[Any] = []
    store.enter()
    assert store.begin_in_place()
    run.cancel()
    with pytest.raises(gf.errors.CancelledError):
        carry_out(Does(ran.append, True), run, ())
    store.end_in_place()
    assert not ran and is_alone(store)
    store.leave()


def test_a_plan_says_what_became_of_it_whatever_it_consists_of() -> None:
    x = gf.placeholder(gf.float32, [64], name="x")
    queue = gf.FIFOQueue(1, gf.float32, shapes=[64])
    put = queue.enqueue([x * 2.0 + 1.0])
    with gf.control_dependencies([put]):
        taken = queue.dequeue()
    y = gf.reduce_sum(gf.tanh(taken) * 3.0 + gf.exp(taken * 0.1))
    words = gf.string_join([gf.constant(["a"]), gf.constant(["b"])])
    value = np.ones(64, np.float32)
    with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        for _ in range(3):
            session.run(y, {x: value})
            session.run(words)
        staged, strings = executables(session)
        assert len(staged.compiled()) == staged.describe().count("compiled for") >= 1
        assert [type(reason).__name__ for reason in strings.reasons()] == ["NothingNative"]
        assert not strings.compiled() and strings.describe() == ""
        assert staged.describe() in session.explain(y, [x])
    with gf.Session(config=gf.ConfigProto(compiled="never")) as session:
        session.run(y, {x: value})
        (plain,) = executables(session)
        assert (plain.describe(), list(plain.compiled()), list(plain.reasons())) == ("", [], [])
