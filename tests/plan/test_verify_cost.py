"""Protects what verification costs: it is done after each pass of every plan of this suite.

Of the suite it takes 4.4 % of the processor time of pytest's processes, and 0.4 % of the time that passes: a sample of
one test in 14 of every room; the goal is 5 %. tests/plan, tests/ops and tests/oracle, which do little but plan, pay 6
to 13 %. Times depend on the machine, so what is held here is counted: the Python calls of verification, of all calls
of a program that builds a model and runs it once.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.plan.found_right import RIGHT
from graphflow._core.plan.verify import Verifier

MOST: Final = 0.12
"""Of all calls; it is 0.099, and 0.19 if nothing is remembered from pass to pass and plan to plan."""
ENTRY: Final = Verifier.__call__


class Counted:
    """Python calls: all, and those within verification."""

    def __init__(self) -> None:
        self.all = self.verifying = 0


@contextmanager
def counting() -> Iterator[Counted]:
    """Counts the calls of this thread."""
    counted, inside = Counted(), 0
    entry = ENTRY.__code__

    def note(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal inside
        if event == "call":
            counted.all += 1
            inside += frame.f_code is entry
            counted.verifying += inside > 0
        elif event == "return":
            inside -= frame.f_code is entry

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield counted
    finally:
        sys.setprofile(before)


def program() -> None:
    """Builds a model of layers, a recurrent network and an optimizer, and runs it once."""
    with gf.Graph().as_default():
        x, labels = gf.placeholder(gf.float32, [None, 8]), gf.placeholder(gf.int64, [None])
        hidden = x
        for _ in range(3):
            hidden = gf.layers.dense(hidden, 16, activation=gf.nn.relu)
        outputs, _ = gf.nn.dynamic_rnn(
            gf.nn.rnn_cell.GRUCell(8), gf.reshape(hidden, [-1, 2, 8]), dtype=gf.float32
        )
        scores = gf.layers.dense(gf.reshape(outputs, [-1, 16]), 4)
        step = gf.train.AdamOptimizer(0.01).minimize(gf.losses.sparse_softmax_cross_entropy(labels, scores))
        with gf.Session(config=gf.ConfigProto(compiled="never", verify_plans=True)) as session:
            session.run(gf.global_variables_initializer())
            session.run(step, {x: np.ones((6, 8), np.float32), labels: np.zeros(6, np.int64)})


def share() -> float:
    with counting() as counted:
        program()
    assert counted.verifying > 1000, "nothing was verified"
    return counted.verifying / counted.all


def test_verification_is_a_small_part_of_planning() -> None:
    program()  # What is imported or inferred once a process is there then.
    assert share() < MOST


def test_the_count_finds_a_verification_that_remembers_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(self: Verifier, after: str, plan: Any) -> None:
        RIGHT.forget()
        ENTRY(self, after, plan)

    program()
    monkeypatch.setattr(Verifier, "__call__", forgetful)
    assert share() > 1.3 * MOST
