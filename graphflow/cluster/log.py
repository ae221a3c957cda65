"""What a server says of itself: a line when it begins, and one for each session; a task that says nothing is a riddle.

The lines are written whatever threshold the program sets for its own log, unless it sets one for "graphflow.server".
"""

from __future__ import annotations

import logging
import sys
from typing import Final, TextIO

from graphflow.cluster.step_output import to_client

LOG: Final = logging.getLogger("graphflow.server")


class _StandardError(logging.StreamHandler[TextIO]):
    """Writes to what sys.stderr is at that time."""

    def emit(self, record: logging.LogRecord) -> None:
        """Writes a line."""
        self.stream = sys.stderr
        super().emit(record)


def set_up() -> None:
    """Lets the lines through, to standard error where the program's own log goes nowhere; once is enough.

    What the functions of steps log goes to their clients from then on.
    """
    logging.getLogger("graphflow").addFilter(to_client)
    if LOG.level == logging.NOTSET:
        LOG.setLevel(logging.INFO)
    if not LOG.hasHandlers():
        handler = _StandardError()
        handler.setFormatter(logging.Formatter("%(levelname)s %(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
        LOG.addHandler(handler)
        LOG.propagate = False
