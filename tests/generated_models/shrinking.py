"""The smallest program that still fails: steps are dropped, then runs, then what the optimizer does."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from .program import Program


def shrink(program: Program, fails: Callable[[Program], bool], seconds: float = 120.0) -> Program:
    """A program without anything that the failure does not need, as far as there is time. `fails` asks for one."""
    until = time.monotonic() + seconds

    def wanted(candidate: Program | None) -> bool:
        if candidate is None or time.monotonic() > until:
            return False
        try:
            return fails(candidate)
        except (
            Exception
        ):  # What is no program any more, such as one without inputs, is not what is looked for.
            return False

    for changes in (
        {"shown": ()},
        {"clipped": False},
        {"optimizer": "tf.train.GradientDescentOptimizer(0.05)"},
        {"batches": program.batches[:2]},
        {"batches": program.batches[:1]},
    ):
        candidate = replace(program, **changes)
        if wanted(candidate):
            program = candidate
    before = -1
    while before != len(program.steps) and time.monotonic() < until:
        before = len(program.steps)
        for number in reversed(range(len(program.steps))):
            if number < len(program.steps):
                candidate = program.without(number)
                if candidate is not None:
                    candidate = without_unused(candidate)
                if wanted(candidate):
                    assert candidate is not None
                    program = candidate
    return program


def without_unused(program: Program) -> Program:
    """The program without steps that nothing of the loss, and nothing fetched, comes from."""
    needed = set(program.shown)
    kept = []
    for step in reversed(program.steps):
        if step.term or step.needed or any(value.name in needed for value in step.makes):
            kept.append(step)
            needed.update(step.takes)
    return replace(program, steps=tuple(reversed(kept)))
