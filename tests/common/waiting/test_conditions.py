"""Protects that Ctrl-C leaves every condition free, whenever it comes: what comes later hangs at one that is taken."""

from __future__ import annotations

import ast
import dis
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

import graphflow
from graphflow._core.common.waiting.conditions import Condition

OWN = "conditions.py"
LIMIT = 30.0


def _may_interrupt(name: str) -> bool:
    """Whether Python looks for signals at the end of an instruction."""
    return name in ("CALL", "CALL_KW", "CALL_FUNCTION_EX", "RESUME") or "BACKWARD" in name


def _handler(code: CodeType, offset: int) -> int | None:
    """Where what an instruction raises is handled."""
    entries = dis._parse_exception_table(code)  # type: ignore[attr-defined]
    return next((entry.target for entry in entries if entry.start <= offset < entry.end), None)


def interrupted(function: Callable[[], object], moment: int) -> bool:
    """Whether KeyboardInterrupt was raised in a function at that one of the moments at which Python looks for signals.

    It is raised before the next instruction, and not by the one at whose end Python looks: not if that is handled
    elsewhere.
    """
    left = moment
    last: dict[FrameType, int] = {}

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal left
        frame.f_trace_opcodes = True
        if event == "opcode":
            code, before = frame.f_code, last.get(frame, -1)
            last[frame] = frame.f_lasti
            may = before >= 0 and _may_interrupt(dis.opname[code.co_code[before]])
            may = may and _handler(code, before) == _handler(code, frame.f_lasti)
            left -= may
            if may and left < 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    own = sys.gettrace()
    sys.settrace(trace)
    try:
        function()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(own)
        last.clear()
    return False


def is_free(condition: threading.Condition) -> bool:
    """Whether another thread can enter a condition."""
    found: list[bool] = []

    def enter() -> None:
        found.append(condition.acquire(timeout=0.1))
        if found[0]:
            condition.release()

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join(LIMIT)
    return found == [True]


def harmful_moments(make: Callable[[], threading.Condition]) -> list[int]:
    """The moments of an interrupt during a wait that leave a condition taken, or someone in it who waits no more.

    So do those in which the error is not that of the interrupt, since the lock was given back that was not taken.
    """
    found, moment = [], 0
    while True:
        condition = make()

        def wait(condition: threading.Condition = condition) -> None:
            with condition:
                condition.wait(0.001)
            with condition:
                condition.notify_all()

        try:
            raised = interrupted(wait, moment)
        except RuntimeError:
            found.append(moment)
        else:
            if not raised:
                assert moment > 5
                return found
            if not is_free(condition) or not repr(condition).endswith(", 0)>"):  # It says how many wait.
                found.append(moment)
        moment += 1


def test_an_interrupt_leaves_a_condition_free_whenever_it_comes() -> None:
    assert harmful_moments(Condition) == []


def test_one_of_pythons_own_may_stay_taken() -> None:
    assert harmful_moments(threading.Condition), "then ours is not needed any more"


def test_an_interrupt_of_what_is_called_without_the_lock_comes_back_with_it() -> None:
    condition = Condition()

    def interrupt() -> None:
        assert is_free(condition)
        raise KeyboardInterrupt

    with condition:
        with pytest.raises(KeyboardInterrupt):
            condition.without_lock(interrupt)
        assert not is_free(condition)
    assert is_free(condition)


def test_a_thread_may_enter_twice_and_wait_there() -> None:
    condition = Condition()
    came: list[int] = []

    def notify() -> None:
        with condition:
            came.append(1)
            condition.notify()

    with condition, condition:
        assert not condition.wait(0)
        thread = threading.Thread(target=notify)
        thread.start()
        assert condition.wait_for(lambda: came, LIMIT)
        assert not is_free(condition)
    thread.join(LIMIT)
    assert is_free(condition)


def test_nothing_else_makes_conditions() -> None:
    found = []
    for path in sorted(Path(graphflow.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            by_module = isinstance(node, ast.Attribute) and ast.unparse(node) == "threading.Condition"
            by_name = (
                isinstance(node, ast.ImportFrom)
                and node.module == "threading"
                and any(alias.name == "Condition" for alias in node.names)
            )
            if (by_module or by_name) and path.name != OWN:
                found.append(f"{path.name}:{node.lineno}")  # type: ignore[attr-defined]
    assert found == [], "use graphflow._core.common.waiting.conditions.Condition"
