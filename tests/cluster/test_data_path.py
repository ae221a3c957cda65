"""Protects values on their way between tasks and clients, by shared memory and by the network: none is torn by a
change that happens meanwhile, what is fetched belongs to the client, and steps leave no memory behind."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.cluster.server.step_output import StepContext
from graphflow._core.resources.store import ResourceStore
from graphflow._core.resources.variables import VariableCell
from graphflow._core.transport import shared
from tests.cluster.serving import serve_all, spec_of
from tests.left_over import nothing_stays, threads_and_files

COUNT = 200_000
LARGE = 2_000_000


@pytest.fixture(params=["shared memory", "network"])
def servers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    if request.param == "network":
        monkeypatch.delattr(shared.os, "memfd_create", raising=False)
    elif not sys.platform.startswith("linux"):
        pytest.skip("needs memfd_create and /proc")
    with ExitStack() as stack:
        yield serve_all(stack, spec_of(stack, ps=1, worker=1))


def test_a_value_that_is_sent_while_it_changes_arrives_whole(servers: list[Any]) -> None:
    ps, worker = servers
    with gf.Graph().as_default() as graph:
        with gf.device("/job:ps"):
            variable = gf.Variable(gf.zeros([LARGE]))
            step = gf.assign_add(variable, gf.ones([LARGE])).op
        with gf.device("/job:worker"):
            ends = [gf.reduce_min(variable), gf.reduce_max(variable)]
        with gf.Session(worker.target) as session:
            session.run(gf.global_variables_initializer())
        stopped = threading.Event()
        failed: list[BaseException] = []

        def change() -> None:
            try:
                with gf.Session(ps.target, graph=graph) as session:
                    while not stopped.is_set():
                        session.run(step)
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=change)
        with gf.Session(worker.target) as session:
            session.run(ends)
            thread.start()
            last = -1.0
            kept = []
            for number in range(40):
                low, high = session.run(ends)
                assert low == high and low >= last
                last = low
                whole = session.run(variable)
                assert whole.min() == whole.max() >= last
                if number % 10 == 0:
                    kept.append((whole, float(whole[0])))
            stopped.set()
            thread.join()
            assert not failed and last > 0
            for whole, value in kept:
                assert whole.min() == whole.max() == value


def test_what_is_fetched_belongs_to_the_client_and_what_is_fed_may_change_afterwards(
    servers: list[Any],
) -> None:
    _, worker = servers
    with gf.Graph().as_default():
        with gf.device("/job:ps"):
            variable = gf.Variable(gf.zeros([COUNT]))
        fed = gf.placeholder(gf.float32, [COUNT])
        with gf.device("/job:worker"):
            double = fed * 2.0
        with gf.device("/job:ps"):
            step = gf.assign(variable, double).op
        value = np.ones(COUNT, np.float32)
        with gf.Session(worker.target) as session:
            for number in range(1, 12):
                value[:] = number
                session.run(step, {fed: value})
                value[:] = -1
                found = session.run(variable)
                assert found.min() == found.max() == 2 * number
                found[:] = 0
                assert session.run(variable)[0] == 2 * number


def test_training_over_two_tasks_keeps_no_memory(servers: list[Any]) -> None:
    _, worker = servers
    generator = np.random.default_rng(0)
    with (
        gf.Graph().as_default(),
        gf.device(gf.train.replica_device_setter(ps_tasks=1, worker_device="/job:worker/task:0")),
    ):
        x = gf.placeholder(gf.float32, [None, 400])
        weights = gf.Variable(generator.normal(size=(400, 300)).astype("f"))
        loss = gf.reduce_mean(gf.square(gf.matmul(x, weights)))
        train = gf.train.GradientDescentOptimizer(0.01).minimize(loss)
        batch = generator.normal(size=(64, 400)).astype("f")
        with gf.Session(worker.target) as session:
            session.run(gf.global_variables_initializer())
            losses = [session.run([train, loss], {x: batch})[1] for _ in range(40)]
            sizes = [s._service.sharing.memory.size for s in servers]
            nothing_stays(
                lambda: losses.append(session.run([train, loss], {x: batch})[1]),
                100,
                threads_and_files if sys.platform.startswith("linux") else dict,
            )
            assert np.isfinite(losses).all() and (np.diff(losses) < 0).all()
            for server, size in zip(servers, sizes, strict=True):
                assert server._service.sharing.memory.size <= size + (4 << 20)


def test_a_variable_that_is_lent_once_is_then_read_where_it_is(servers: list[Any], monkeypatch: Any) -> None:
    _, worker = servers
    copies = []
    original = VariableCell.copied_value
    monkeypatch.setattr(
        VariableCell, "copied_value", lambda cell, old: copies.append(cell.name) or original(cell, old)
    )
    with gf.Graph().as_default():
        with gf.device("/job:ps"):
            variable = gf.Variable(gf.ones([COUNT]))
        with gf.device("/job:worker"):
            largest = gf.reduce_max(variable)
        with gf.Session(worker.target) as session:
            session.run(gf.global_variables_initializer())
            assert [session.run(largest) for _ in range(10)] == [1.0] * 10
            held = servers[0]._service.store.variables()[0].value
            assert session.run(largest) == 1.0
            assert servers[0]._service.store.variables()[0].value is held and not copies


def test_a_step_counts_as_active_once_with_however_many_devices_at_work() -> None:
    """Else what the devices of a task write at the same time could not be written in place, nor compiled."""
    store = ResourceStore()
    step, other = (StepContext(store, (7, number), lambda context: None) for number in (1, 2))

    def is_alone(*_: Any) -> bool:
        alone = store.begin_in_place()
        if alone:
            store.end_in_place()
        return alone

    def with_another(*_: Any) -> tuple[bool, bool, bool]:
        with_its_own = step.running(step, is_alone, ())
        return with_its_own, other.running(other, is_alone, ()), is_alone()

    assert step.running(step, with_another, ()) == (True, False, True)
    assert other.running(other, lambda run, values: step.running(step, with_another, ()), ()) == (False,) * 3
    assert is_alone()
