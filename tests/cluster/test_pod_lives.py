"""Protects the lives that a pod counts: an earlier one that is heard again is refused, and disturbs nobody."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

import pytest

import graphflow as gf
import graphflow.errors as errors
from graphflow._core.cluster.ports import ReservedPorts
from graphflow._core.cluster.resolvers.pod_lives import LIVES_VARIABLE, next_life
from tests.cluster.serving import serve


def test_what_begins_later_has_a_higher_number_in_a_pod_and_in_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert next_life({}) == next_life({LIVES_VARIABLE: ""}) == 0
    now = 1_700_000_000_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: now)
    found = []
    for pod in ("first", "second"):
        (tmp_path / pod).mkdir()
        for _ in range(3):
            found.append(next_life({LIVES_VARIABLE: str(tmp_path / pod)}))
            now += 2_000_000
    # What lives on in the first pod, and is begun anew there, comes before what is in the second.
    late = next_life({LIVES_VARIABLE: str(tmp_path / "first")})
    assert found == sorted(set(found)) and found[2] < late < found[3]
    assert 0 < late < 1 << 63
    with pytest.raises(FileNotFoundError):
        next_life({LIVES_VARIABLE: str(tmp_path / "missing")})


def test_a_ps_of_an_earlier_pod_is_refused_and_the_later_one_is_not_disturbed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are there at once, at two addresses, as when a node was cut off; the earlier one has met nobody yet."""
    for pod in ("earlier", "later"):
        (tmp_path / pod).mkdir()
    with ReservedPorts(3) as reserved, ExitStack() as stack:
        here, there, worker = [f"localhost:{port}" for port in reserved.ports]
        monkeypatch.setenv(LIVES_VARIABLE, str(tmp_path / "earlier"))
        old = serve(stack, {"ps": [there], "worker": [worker]}, "ps")
        time.sleep(0.01)  # A clock of milliseconds has gone on.
        monkeypatch.setenv(LIVES_VARIABLE, str(tmp_path / "later"))
        serve(stack, {"ps": [here], "worker": [worker]}, "ps")
        monkeypatch.delenv(LIVES_VARIABLE)
        master = serve(stack, {"ps": [here], "worker": [worker]}, "worker")
        with gf.device("/job:ps/task:0"):
            total = gf.get_variable("total", initializer=0.0)
        with gf.device("/job:worker/task:0"):
            added = total.assign_add(gf.constant(1.0))
        with gf.Session(master.target) as session:
            session.run(total.initializer)
            assert session.run(added) == 1.0
            with (
                pytest.raises(errors.OpError, match="what an earlier one says does not count any more"),
                gf.Session(old.target, config=gf.ConfigProto(connect_timeout_in_ms=3000)) as late,
            ):
                late.run(total.initializer)
            assert session.run(added) == 2.0, "the later ps was given up"
