"""StandardError: where logs go while the program says nothing else; what sys.stderr is may change from line to line."""

from __future__ import annotations

import logging
import sys
from typing import TextIO


class StandardError(logging.StreamHandler[TextIO]):
    """Writes to what sys.stderr is at that time; `line` is the format of a line, as Python's logging has it."""

    def __init__(self, line: str) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(line, "%Y-%m-%d %H:%M:%S"))

    def emit(self, record: logging.LogRecord) -> None:
        """Writes a line."""
        self.stream = sys.stderr
        super().emit(record)

    def flush(self) -> None:
        """Hands on what the stream holds."""
        self.stream = sys.stderr
        super().flush()
