"""What a server says of itself: a line when it begins, and one for each session; a task that says nothing is a riddle.

The lines are written whatever threshold the program sets for its own log, unless it sets one for "graphflow.server".
"""

from __future__ import annotations

import logging
from typing import Final

from graphflow._core.cluster.server.step_output import to_client
from graphflow._core.common.standard_error import SERVER_LINE, StandardError

LOG: Final = logging.getLogger("graphflow.server")


def set_up() -> None:
    """Lets the lines through, to standard error if the program's own log goes nowhere; once is enough.

    What the functions of steps log goes to their clients from then on.
    """
    logging.getLogger("graphflow").addFilter(to_client)
    if LOG.level == logging.NOTSET:
        LOG.setLevel(logging.INFO)
    if not LOG.hasHandlers():
        LOG.addHandler(StandardError(SERVER_LINE))
        LOG.propagate = False
