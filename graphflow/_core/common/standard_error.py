"""The handler of logs for programs that set none: lines to sys.stderr, which may change while the program runs."""

from __future__ import annotations

import logging
import sys
from typing import Final, TextIO

from graphflow._core.common.printable import printable_lines

PROGRAM_LINE: Final = logging.Formatter(
    "%(levelname)s %(asctime)s %(filename)s:%(lineno)d: %(message)s", "%Y-%m-%d %H:%M:%S"
)
"""A line of the program's log."""


class _ServerLine(logging.Formatter):
    """A line that quotes other programs: what they say cannot steer the terminal that shows it."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, and a traceback under it."""
        return printable_lines(super().format(record))


SERVER_LINE: Final = _ServerLine("%(levelname)s %(asctime)s %(message)s", PROGRAM_LINE.datefmt)
"""A line of a server's log."""


class StandardError(logging.StreamHandler[TextIO]):
    """Writes lines to what sys.stderr is at that time.

    Args:
        line: Its format.
    """

    def __init__(self, line: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(line)

    def emit(self, record: logging.LogRecord) -> None:
        """Writes a line.

        Args:
            record: A logging.LogRecord.
        """
        self.stream = sys.stderr
        super().emit(record)

    def flush(self) -> None:
        """Hands on what the stream holds."""
        self.stream = sys.stderr
        super().flush()
