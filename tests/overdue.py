"""What the error of a deadline says of the wait that it ended.

On a busy machine a deadline of some milliseconds may come before the run waits for anything, and says that, rightly. So
the run is given longer until its error is about the wait; one that never is, is found when the longest was too short.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import graphflow as gf

_LONGEST_MILLISECONDS = 30_000


def overdue(run: Callable[[gf.RunOptions], object], said: str, milliseconds: int = 50) -> str:
    """Runs something that waits, with ever longer deadlines, until the error of one has `said` in it.

    Args:
        run: A run that waits for ever, and takes back what it has done when its deadline comes.
        said: A regular expression, of which a dot takes line ends too.
        milliseconds: The first deadline. The others are eight times the one before.

    Returns:
        The error's message.

    Raises:
        AssertionError: The run ended without an error, or the longest deadline did not say so.
    """
    while True:
        try:
            run(gf.RunOptions(timeout_in_ms=milliseconds))
        except gf.errors.DeadlineExceededError as error:
            message = error.message
        else:
            raise AssertionError("the run ended before its deadline")
        if re.search(said, message, re.DOTALL):
            return message
        assert milliseconds < _LONGEST_MILLISECONDS, f"{said!r} is not said in: {message}"
        milliseconds = min(8 * milliseconds, _LONGEST_MILLISECONDS)
