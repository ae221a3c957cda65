"""Protects that a compiled run that fails says so, names the operation, and leaves variables as on NumPy."""

from __future__ import annotations

import pytest
from failing import FAILING, check

import graphflow as gf


@pytest.mark.parametrize("compiled", ["never", "always"])
@pytest.mark.parametrize("name", FAILING)
def test_a_run_that_fails_changes_nothing(name: str, compiled: str) -> None:
    with gf.Graph().as_default():
        check(FAILING[name], compiled=compiled)
