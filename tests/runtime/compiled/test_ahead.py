"""Tests of the thread that imports the compiler: when it begins, that it is complete, forks, and the end."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import graphflow._core.runtime.compiled.ahead as ahead_module
from graphflow._core.runtime.compiled.ahead import Ahead

PROGRAM = """
import sys
import graphflow as gf
from graphflow._core.runtime.compiled.ahead import AHEAD, MODULES

def loaded():
    return {name for name in sys.modules if name.startswith(("graphflow._core", "llvmlite"))}

x = gf.placeholder(gf.float32, [None, 8])
w = gf.Variable(gf.ones([8, 4]))
loss = gf.reduce_sum(gf.square(gf.matmul(x, w) - 1.0))
train = gf.train.AdamOptimizer(0.1).minimize(loss)
session = gf.Session()
session.run(gf.global_variables_initializer())

def step():
    session.run([train, loss], {x: [[1.0] * 8] * 4})

"""


def program(text: str) -> list[str]:
    """The lines that a process prints which runs PROGRAM and then a text."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM + text], capture_output=True, text=True, timeout=110
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_first_plan_imports_no_compiler() -> None:
    assert program("print(AHEAD.thread, len(loaded() & set(MODULES)))") == ["None 0"]


def test_a_program_that_keeps_to_numpy_imports_no_compiler() -> None:
    text = """
session = gf.Session(config=gf.ConfigProto(compiled="never"))
session.run(gf.global_variables_initializer())
for _ in range(6):
    step()
print(AHEAD.thread, len(loaded() & set(MODULES)))
"""
    assert program(text) == ["None 0"]


def test_the_hot_plan_finds_all_modules_imported() -> None:
    text = """
draw = gf.random_uniform([])
session.run(draw)
for _ in range(3):
    session.run([train, draw], {x: [[1.0] * 8] * 4})
AHEAD.thread.join(100)
before = loaded()
assert not AHEAD.thread.is_alive() and before.issuperset(MODULES), set(MODULES) - before
session.run([train, draw], {x: [[1.0] * 8] * 4})
print(sorted(loaded() - before))
"""
    assert program(text) == ["[]"]


def test_a_plan_of_fixed_bits_begins_the_imports_half_way_to_its_compiled_code() -> None:
    """A program that ends before that has no use for them."""
    text = """
steps = 0
while AHEAD.thread is None:
    step()
    steps += 1
    assert steps < 4000
AHEAD.thread.join(100)
before = loaded()
assert before.issuperset(MODULES), set(MODULES) - before
for _ in range(steps):
    step()
print(steps > 20, sorted(loaded() - before))
assert "compiled for" in session.explain([train, loss], {x: None})
"""
    assert program(text) == ["True []"]


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_children_that_are_forked_meanwhile_compile(steps: int) -> None:
    text = f"""
import os
for _ in range({steps}):
    step()
child = os.fork()
if not child:
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="always")) as own:
        y = gf.placeholder(gf.float32, [3])
        twice = gf.sqrt(y * 2.0)
        found = [own.run(twice, {{y: [2.0, 8.0, 18.0]}}).tolist() for _ in range(5)]
        compiled = "compiled for" in own.explain(twice, [y], compiled=True)
        assert found == [[2.0, 4.0, 6.0]] * 5, found
        assert AHEAD.thread is None
        print(found[0], flush=True)
        os._exit(0)
assert os.waitpid(child, 0)[1] == 0
for _ in range(4):
    step()
print("parent")
"""
    assert program(text) == ["[2.0, 4.0, 6.0]", "parent"]


class Gate(ModuleType):
    """Makes the modules of a test: each is imported when it is let through."""

    def __init__(self) -> None:
        super().__init__("gate")
        self.begun = threading.Event()
        self.open = threading.Event()


@pytest.fixture
def gate(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    gate = Gate()
    monkeypatch.setitem(sys.modules, "ahead_gate", gate)
    for name in ("ahead_first", "ahead_second"):
        (tmp_path / f"{name}.py").write_text(
            "import ahead_gate\nahead_gate.begun.set()\nassert ahead_gate.open.wait(100)\n"
        )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield gate
    gate.open.set()
    for name in ("ahead_first", "ahead_second"):
        sys.modules.pop(name, None)


def begun(gate: Gate) -> Ahead:
    """Imports that have begun, and wait at the gate in the first of two modules."""
    ahead = Ahead(("ahead_first", "ahead_second"))
    ahead.plan_begins()
    assert ahead.thread is None
    ahead.plan_begins()
    assert ahead.thread is not None
    assert gate.begun.wait(100)
    return ahead


def test_a_fork_waits_for_one_module_and_lets_the_next_wait(gate: Gate) -> None:
    ahead = begun(gate)
    thread = ahead.thread
    forking = threading.Thread(target=ahead.before_fork)
    forking.start()
    assert forking.is_alive() and "ahead_second" not in sys.modules
    gate.open.set()
    forking.join(100)
    assert not forking.is_alive()
    if "ahead_second" not in sys.modules:  # The thread may have been the first to begin again.
        assert thread is not None and thread.is_alive()
    ahead.after_fork()
    assert thread is not None
    thread.join(100)
    assert "ahead_second" in sys.modules


def test_a_fork_does_not_wait_for_ever(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    ahead = begun(gate)
    monkeypatch.setattr(ahead_module, "AHEAD_WAIT_SECONDS", 0.05)
    ahead.before_fork()
    ahead.after_fork()
    ahead.in_child()
    ahead.plan_begins()
    assert ahead.thread is None


def test_after_the_end_nothing_more_is_imported(gate: Gate) -> None:
    ahead = begun(gate)
    thread = ahead.thread
    ending = threading.Thread(target=ahead.end)
    ending.start()
    while not ahead._ended:
        pass
    gate.open.set()
    ending.join(100)
    assert thread is not None
    thread.join(100)
    assert "ahead_first" in sys.modules and "ahead_second" not in sys.modules


def test_a_module_that_cannot_be_imported_is_left_to_the_hot_plan(gate: Gate) -> None:
    ahead = Ahead(("ahead_nowhere", "ahead_first"))
    ahead.plan_begins()
    ahead.plan_begins()
    assert ahead.thread is not None
    ahead.thread.join(100)
    assert not ahead.thread.is_alive() and not gate.begun.is_set()
