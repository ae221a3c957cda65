"""Protects that a compiled run that fails says so, names the operation, and leaves variables as on NumPy."""

from __future__ import annotations

import pytest

import graphflow as gf
from tests.runtime.compiled.failing import FAILING, check


@pytest.mark.parametrize("name", FAILING)
def test_a_run_that_fails_changes_nothing_and_says_what_was_wrong(name: str) -> None:
    messages = []
    for compiled in ("never", "always"):
        with gf.Graph().as_default():
            messages.append(check(FAILING[name], compiled=compiled))
    assert messages[0] == messages[1]
