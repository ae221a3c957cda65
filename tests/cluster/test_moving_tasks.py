"""Protects training on engines that begin a task anew elsewhere: its name stays, and its place is asked for again."""

from __future__ import annotations

import json
import re
import signal
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

import graphflow as gf
from graphflow._core.cluster.resolvers.moving import Place
from graphflow._core.transport.names import NAMES
from tests.cluster.folder_resolver import FolderClusterResolver
from tests.cluster.processes import Processes
from tests.cluster.serving import serve

JOBS = {"ps": 1, "worker": 1}


def test_the_names_of_tasks_stay_and_say_who_they_are(tmp_path: Path) -> None:
    resolver = FolderClusterResolver(tmp_path, {"ps": 2, "worker": 1}, "ps", 1, life=3)
    spec, job, index = resolver.task()
    assert (job, index, resolver.incarnation()) == ("ps", 1, "3")
    hosts = [address.rpartition(":")[0] for address in spec.as_dict()["ps"]]
    assert hosts == [f"ps-{i}.{tmp_path.name}" for i in range(2)]
    assert len({*spec.as_dict()["ps"], *spec.as_dict()["worker"]}) == 3
    resolver.begin().publish(Place("localhost:7", 1, "ab"))
    assert resolver.place("ps", 1) == Place("localhost:7", 1, "ab") and resolver.place("ps", 0) is None
    assert FolderClusterResolver(tmp_path, JOBS).incarnation() is None


def test_a_session_reaches_a_task_by_its_name_and_again_where_it_comes_back(tmp_path: Path) -> None:
    with ExitStack() as stack:
        first = serve(stack, FolderClusterResolver(tmp_path, JOBS, "ps", 0).begin(), None, None)
        outside = FolderClusterResolver(tmp_path, JOBS)
        target = outside.master("ps", 0)
        assert target == first.target
        with gf.device("/job:ps/task:0"):
            constant = gf.constant(3.0) + 1.0
        config = gf.ConfigProto(device_filters=["/job:ps"])
        with gf.Session(target, config=config) as session:
            assert session.run(constant) == 4.0
        asked = outside.asked
        before = outside.place("ps", 0)
        first.stop()
        serve(stack, FolderClusterResolver(tmp_path, JOBS, "ps", 0).begin(), None, None)
        outside.master("ps", 0)
        with gf.Session(target, config=config) as session:
            assert session.run(constant) == 4.0
        after = outside.place("ps", 0)
        assert before is not None and after is not None
        assert (before.life, after.life) == (1, 2) and before.address != after.address
        assert outside.asked > asked + 2, "the second connection did not ask where the task is"


def test_a_name_is_left_by_who_followed_it_last(tmp_path: Path) -> None:
    resolver = FolderClusterResolver(tmp_path, JOBS)
    name = resolver.cluster_spec().task_address("ps", 0)
    ends = [resolver.follow(), resolver.follow()]
    ends[0]()
    assert NAMES.follows(name)
    ends[1]()
    assert not NAMES.follows(name)


def test_a_task_that_is_nowhere_is_named_with_the_reason(tmp_path: Path) -> None:
    with ExitStack() as stack:
        worker = serve(stack, FolderClusterResolver(tmp_path, JOBS, "worker", 0).begin(), None, None)
        with gf.device("/job:ps/task:0"):
            constant = gf.constant(1.0) + 1.0
        config = gf.ConfigProto(connect_timeout_in_ms=500)
        with pytest.raises(gf.errors.UnavailableError, match=r"nothing says where the task ps-0.* is now"):
            gf.Session(worker.target, config=config).run(constant)


@pytest.mark.skipif(sys.platform != "linux", reason="the processes are looked after as Linux does")
def test_a_ps_and_a_worker_come_back_at_other_ports_and_training_goes_on_exactly_once(tmp_path: Path) -> None:
    with Processes(tmp_path, "tests.cluster.moving_role", {}) as run:
        for index in range(2):
            run.start("ps", index)
        for index in range(2):
            run.start("trainer", index, save_steps=10)

        def later(*names: str) -> None:
            for name in names:
                run.wait_until(len(run.acknowledged(name)) + 30, name)

        later("trainer_0_0", "trainer_1_0")
        places = FolderClusterResolver(tmp_path / "places", {"ps": 2, "worker": 2})
        before = places.place("ps", 1)
        run.signal("ps", 1, signal.SIGKILL)
        run.start("ps", 1)
        later("trainer_0_0", "trainer_1_0")
        after = places.place("ps", 1)
        assert before is not None and after is not None and (before.life, after.life) == (1, 2)
        run.signal("trainer", 1, signal.SIGKILL)
        again = run.start("trainer", 1, save_steps=10)
        later("trainer_0_0", again)
        (tmp_path / "finish").touch()
        for index in (1, 0):
            assert run.ended("trainer", index) == 0, run.text()
        recovered = re.findall(r"^RECOVERY (\d+) (\d+) ", run.log("trainer_0_0"), re.MULTILINE)
        lost = sum(int(old) - int(new) for old, new in recovered)
        acknowledged = set(run.acknowledged())
    found = json.loads((tmp_path / "result").read_text())
    first, second = ({int(tag): count for tag, count in ledger.items()} for ledger in found["ledgers"])
    assert {*first.values(), *second.values()} == {1.0}, "an update was applied twice"
    gone = acknowledged - (first.keys() & second.keys())
    assert len(gone) <= lost + 4, "more was lost than the training went back"
