"""What sessions of this process warned of: threads of clusters that another test has left may log as well."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from graphflow._core import compiler, runtime

_ROOMS = {Path(room.__file__).parent for room in (compiler, runtime)}


def warned(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The warnings that the rooms `compiler` and `runtime` have written."""
    return [
        record.getMessage()
        for record in caplog.records
        if record.levelno == logging.WARNING and not _ROOMS.isdisjoint(Path(record.pathname).parents)
    ]
