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

import harness  # noqa: E402

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
            pytest.fail(
                f"{case.source}\n  expected {harness.summary(expected)}\n  raised   {failed}", pytrace=False
            ) if isinstance(failed.error, AttributeError) else failed_with(case, expected, failed)
        got = harness.record_of_failure(failed)
    found = harness.differences(case, expected, got)
    if found:
        pytest.fail(f"{case.source}\n  " + "\n  ".join(found), pytrace=False)


def failed_with(case: harness.Case, expected: Any, failed: harness.CaseFailed) -> None:
    """Show the case above the error's own traceback."""
    raise AssertionError(f"{case.source}\n  expected {harness.summary(expected)}\n  raised   {failed}") from failed.error


@pytest.mark.parametrize("family", list(FAMILIES))
def test_every_recorded_result_has_its_case(family: str) -> None:
    stale = set(recording(family)) - {case.name for case in FAMILIES[family].cases}
    assert not stale
