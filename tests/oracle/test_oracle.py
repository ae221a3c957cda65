"""Protects graphflow's agreement with TensorFlow 1.15.5: values, dtypes, static shapes, default names, error classes.

The cases and how they are recorded: see record.py. Run one family with `pytest tests/oracle -k <family>`.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

import pytest

import graphflow as gf

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import comparison
import harness

FAMILIES = harness.families()
CASES = [case for family in FAMILIES.values() for case in family.cases]


@functools.lru_cache(maxsize=None)
def recording(family: str) -> dict[str, Any]:
    return harness.load_recording(family)


@pytest.mark.parametrize("case", CASES, ids=[f"{case.family}: {case.name}" for case in CASES])
def test_agrees_with_tensorflow(case: harness.Case) -> None:
    expected = recording(case.family).get(case.name)
    assert expected is not None, f"{case!r} is not recorded; run record.py {case.family}"
    try:
        got = harness.perform(gf, case)
    except harness.CaseFailed as failed:
        if expected["kind"] != "error":
            message = f"{case.source}\n  expected {comparison.summary(expected)}\n  raised   {failed}"
            raise AssertionError(message) from failed.error
        got = harness.record_of_failure(failed)
    found = comparison.differences(case, expected, got)
    if found:
        pytest.fail(f"{case.source}\n  " + "\n  ".join(found), pytrace=False)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_every_recorded_result_has_its_case(family: str) -> None:
    stale = set(recording(family)) - {case.name for case in FAMILIES[family].cases}
    assert not stale
