"""Protects the compiled tier's agreement with TensorFlow 1.15.5, and with the NumPy tier where variables are written.

Here every session of a case asks for compiled code at once, and repeats each fetch without effects until that code has
computed it; what it gave last is compared with the recording. CI takes one case in twenty,
and of optimizers' steps one in ten, `--everything` all.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import logging
import os
import sys
import zlib
from collections import Counter
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.plan.ir import Plan, walk
from graphflow._core.runtime.cutting import CutExecutable
from graphflow._core.session import executable_for

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import comparison
import harness

FAMILIES = harness.families()
CASES = [
    case
    for family in FAMILIES.values()
    if family.name != "numpy_dtypes"  # It runs nothing.
    for case in family.cases
]
HARMLESS = {"VariableV2", "Const", "NoOp", "Placeholder"}
"""Types of instructions that may be run again, though some say that they are stateful."""


@functools.lru_cache(maxsize=None)
def recording(family: str) -> dict[str, Any]:
    return harness.load_recording(family)


def repeatable(plan: Plan) -> bool:
    """Whether a further run gives the same: nothing is written, drawn or done."""
    return all(i.type in HARMLESS or not (i.writes() or (not i.bodies and i.stateful)) for i in walk(plan))


class Tier:
    """graphflow, but for its sessions, which run in one tier; `compiled` counts the plans that got compiled code."""

    def __init__(self, compiled: str) -> None:
        self.compiled: Counter[bool] = Counter()
        counts = self.compiled

        class Session(gf.Session):
            """Runs what has no effect three times; the result is the third."""

            def __init__(self, target: str = "", graph: Any = None, config: Any = None) -> None:
                config = config or gf.ConfigProto()
                if config.compiled == "auto":
                    config = dataclasses.replace(config, compiled=compiled)
                super().__init__(target, graph, config)

            def run(
                self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
            ) -> Any:
                result = super().run(fetches, feed_dict, options, run_metadata)
                try:
                    executable = executable_for(self, fetches, list(feed_dict or ()))
                except TypeError:
                    return result
                if executable is None or options is not None or self._config.compiled != "always":
                    return result
                if isinstance(executable, CutExecutable):
                    if repeatable(executable.whole.plan):
                        for _ in range(2):
                            result = super().run(fetches, feed_dict)
                        if executable.now is not executable.whole:  # The stages have been observed.
                            result = super().run(fetches, feed_dict)
                    counts[bool(executable.compiled())] += 1
                return result

        self.Session = Session

    def __getattr__(self, name: str) -> Any:
        return getattr(gf, name)


def performed(case: harness.Case, tier: Tier, log: pytest.LogCaptureFixture) -> Any:
    """The record of a case; a failure of the compiled tier to take a plan is an error."""
    try:
        return harness.perform(tier, case)
    except harness.CaseFailed as failed:
        return harness.record_of_failure(failed)
    finally:
        stays = [r.getMessage() for r in log.records if "stays on NumPy" in r.getMessage()]
        assert not stays, f"{case!r}: {stays} {log.text}"


def sampled(cases: list[harness.Case], share: int) -> list[Any]:
    """One of `share` cases, always the same, and the others marked slow."""
    return [
        pytest.param(
            case,
            id=f"{case.family}: {case.name}",
            marks=[pytest.mark.slow] if zlib.crc32(repr(case).encode()) % share else [],
        )
        for case in cases
    ]


@pytest.mark.parametrize("case", sampled(CASES, 20))
def test_agrees_with_tensorflow(case: harness.Case, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "graphflow"):
        got = performed(case, Tier("always"), caplog)
    found = comparison.differences(case, recording(case.family)[case.name], got)
    if found:
        pytest.fail(f"{case.source}\n  " + "\n  ".join(found), pytrace=False)


TRAJECTORIES = [case for case in FAMILIES["optimizers"].cases if "Optimizer(" in case.name]


@pytest.mark.parametrize("case", sampled(TRAJECTORIES, 10))
def test_steps_are_those_of_numpy(case: harness.Case, caplog: pytest.LogCaptureFixture) -> None:
    strict = copy.copy(case)
    strict.tolerance = None
    always = Tier("always")
    with caplog.at_level(logging.WARNING, "graphflow"):
        expected, got = (performed(strict, tier, caplog) for tier in (Tier("never"), always))
    assert expected["kind"] == "dict"
    found = comparison.differences(strict, expected, got)
    assert not found, "\n".join(found)
    assert always.compiled[True] >= 5, "The steps were not compiled, so nothing was compared."
