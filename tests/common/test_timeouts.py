"""Protects the times after which something happens: all in one module, with unit, reason and test; their order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import graphflow
from graphflow._core.cluster.elastic import group_timeouts as g
from graphflow._core.common import compile_timeouts as c
from graphflow._core.common import timeouts as t
from graphflow._core.common.waiting import wait_timeouts as w
from tests.common.timeouts import MODULES, PAGE, PROJECT, page, read

PACKAGE = Path(graphflow.__file__).parent
ELSEWHERE = ("_core/codegen/cpu/compiler_process.py", "_core/codegen/cpu/programs/")
"""These have their own times: they import nothing that they can do without."""
NAMES = [Path(module.__file__ or "").name for module in MODULES]
WAITS = {"sleep", "wait", "join", "poll", "acquire", "settimeout", "select", "wait_for"}
UNIT = re.compile(r"(SECONDS|SECS|_MS|MILLISECONDS|TIMEOUT|PATIENCE|PAUSE|DELAY)\b")
"""How the name of a time ends. A limit of something else, such as bytes a second, ends otherwise."""


@cache
def modules() -> list[tuple[str, ast.Module]]:
    """Each module of the package in which a time is named, but those with times of their own, by its path in it."""
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(ELSEWHERE) and path.name not in NAMES:
            text = path.read_text("utf-8")
            if UNIT.search(text):
                found.append((name, ast.parse(text)))
    return found


def test_each_says_its_unit_its_reason_and_its_test() -> None:
    for timeout in read():
        assert timeout.name.endswith(("_SECONDS", "_MS")), timeout.name
        assert timeout.value > 0 and timeout.readable, timeout.name
        assert timeout.reason.endswith("."), timeout.name
        file, _, name = timeout.guard.partition("::")
        assert f"def {name}(" in (PROJECT / file).read_text("utf-8"), f"{timeout.name}: {timeout.guard}"


def test_there_are_no_times_elsewhere() -> None:
    found = [
        f"graphflow/{name}:{node.lineno}: {target.id}"
        for name, module in modules()
        for node in module.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id.isupper() and UNIT.search(target.id)
    ]
    assert not found, "these belong into graphflow/_core/common/timeouts.py:\n" + "\n".join(found)


def _waits_with_numbers(module: ast.Module) -> Iterator[ast.Call]:
    """The calls that wait, with a number written into them; 0 is no wait."""
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name | ast.Attribute):
            name = node.func.id if isinstance(node.func, ast.Name) else node.func.attr
            given = [k.value for k in node.keywords if re.search("timeout|seconds", k.arg or "")]
            given += node.args if name in WAITS else []
            if any(isinstance(a, ast.Constant) and type(a.value) in (int, float) and a.value for a in given):
                yield node


def test_waits_are_found() -> None:
    text = "time.sleep(0.1); lock.acquire(timeout=5); event.wait(TICK); thread.join(0); f(3); ask(b, timeout=TICK)"
    assert [node.lineno for node in _waits_with_numbers(ast.parse(text.replace("; ", "\n")))] == [1, 2]


def test_no_wait_has_a_number_of_its_own() -> None:
    found = [
        f"{path.relative_to(PACKAGE.parent)}:{node.lineno}: {ast.unparse(node)}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if not path.relative_to(PACKAGE).as_posix().startswith((*ELSEWHERE, "testing/"))
        for node in _waits_with_numbers(ast.parse(path.read_text("utf-8")))
    ]
    assert not found, "give these a name in graphflow/_core/common/timeouts.py:\n" + "\n".join(found)


def test_each_is_used() -> None:
    imported = {
        alias.name
        for _, module in modules()
        for node in ast.walk(module)
        if isinstance(node, ast.ImportFrom) and node.module in {m.__name__ for m in MODULES}
        for alias in node.names
    }
    assert imported == {timeout.name for timeout in read()}


def test_times_that_depend_on_each_other_are_in_order() -> None:
    """What the reasons of the module say of two times at once."""
    heard_nothing = (t.HEARTBEAT_MS + t.HEARTBEAT_TIMEOUT_MS) / 1000
    assert heard_nothing + t.TICK_SECONDS < 5.0  # A silent peer is noticed within 5 s: promise 5.
    assert t.HEARTBEAT_MS < t.HEARTBEAT_TIMEOUT_MS
    assert 4 * t.ALIVE_SECONDS < t.LEASE_SECONDS  # A word or two of a client may be late.
    assert t.TICK_SECONDS < t.DEAF_SECONDS < t.ALIVE_SECONDS
    assert t.STRANGER_SECONDS < t.RECONNECT_SECONDS and t.OLD_STRANGER_SECONDS < t.STRANGER_SECONDS
    assert t.CONNECT_SECONDS < t.MOST_CONNECT_SECONDS and t.QUERY_SECONDS < t.MOST_QUERY_SECONDS
    assert t.REPLICA_WAIT_MS < t.MOST_REPLICA_WAIT_MS
    assert 1000 * t.ROUND_GRACE_SECONDS < t.REPLICA_WAIT_MS
    assert t.ROUND_SAY_SECONDS < t.ROUND_GRACE_SECONDS < t.ROUND_SLOW_SECONDS
    assert t.SHARED_TRIM_SECONDS < t.IDLE_SHARED_SECONDS < t.IDLE_PIECES_SECONDS
    assert t.RATE_SAMPLE_SECONDS < t.RATE_SECONDS
    assert 5 * c.COMPILE_SERVER_ALIVE_SECONDS < c.COMPILE_SERVER_SILENT_SECONDS  # Loaded machines are late.
    assert 10 * c.COMPILE_SERVER_POLL_SECONDS < c.LAST_REQUESTS_SECONDS < c.COMPILE_SERVER_START_SECONDS
    assert c.COMPILE_SERVER_LOOK_SECONDS <= c.COMPILE_SERVER_ALIVE_SECONDS < c.COMPILE_SERVER_IDLE_SECONDS
    assert 100 * c.KERNEL_LOOK_SECONDS < t.COMPILE_LOOK_SECONDS < c.COMPILE_SECONDS
    assert t.FIRST_RECOVERY_SECONDS < t.LONGEST_RECOVERY_SECONDS
    assert t.COMPILE_AGAIN_SECONDS < t.LONGEST_COMPILE_AGAIN_SECONDS
    assert t.INTERRUPTED_RUN_SECONDS + t.INTERRUPTED_SAVE_SECONDS <= t.LAUNCHER_CHIEF_SECONDS
    assert t.SERVED_AT_ONCE_SECONDS <= t.SIGNAL_LOOK_SECONDS < t.TICK_SECONDS / 100
    assert t.LAUNCHER_POLL_SECONDS < g.NODE_BEAT_SECONDS and 20 * g.NODE_BEAT_SECONDS <= g.NODE_LEASE_SECONDS
    assert g.NODE_BEAT_SECONDS < g.NODE_GOODBYE_SECONDS < g.NODE_LEASE_SECONDS < g.NODE_SAY_SECONDS
    assert g.NODE_SAY_SECONDS < g.GROUP_WAIT_SECONDS / 10
    assert t.LAUNCHER_POLL_SECONDS < t.LAUNCHER_STOP_SECONDS
    assert (
        2.5 * t.LAUNCHER_STOP_SECONDS + t.LAUNCHER_DRAIN_SECONDS < 5.0
    )  # Promise 3: nothing is left after 5 s.
    assert (
        2 * w.WATCH_LOOK_SECONDS
        <= w.WAIT_PATIENCE_SECONDS
        < w.FUNCTION_PATIENCE_SECONDS
        < w.WATCH_IDLE_SECONDS
    )
    assert t.MEMBER_BUSY_SECONDS < t.QUICK_STAGE_SECONDS < t.SERVED_AT_ONCE_SECONDS


def test_the_page_is_written_from_the_module() -> None:
    assert PAGE.read_text("utf-8") == page(), (
        "docs/timeouts.md is out of date. Renew it: python -m tests.common.timeouts --write"
    )
