"""Tests on real engines: `make test-engines` runs them, in an environment that has Ray; `make test` does not.

An engine that is not to be had here is said, and its tests are skipped; with ENGINES=strict they fail.
"""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

collect_ignore_glob = [] if os.environ.get("ENGINES") else ["test_*.py"]


def missing(what: str) -> NoReturn:
    """Skips the tests of an engine that is not here, or fails them if that is asked for."""
    if os.environ.get("ENGINES") == "strict":
        pytest.fail(what)
    pytest.skip(what, allow_module_level=True)
