"""Protects that a run that fails on a GPU says so, names the operation, and leaves variables as on the CPU."""

from __future__ import annotations

import pytest

import graphflow as gf
from tests.runtime.compiled.failing import FAILING, check

pytestmark = pytest.mark.device


@pytest.mark.parametrize("name", FAILING)
def test_a_run_that_fails_changes_nothing(name: str) -> None:
    with gf.Graph().as_default(), gf.device("/gpu:0"):
        check(FAILING[name])
