"""How long nothing has happened in a run, and for how long a stage that waits is left alone."""

from __future__ import annotations

from graphflow._core.common.waiting.wait_timeouts import (
    FUNCTION_PATIENCE_SECONDS,
    WAIT_PATIENCE_SECONDS,
    WATCH_LOOK_SECONDS,
)


class Stillness:
    """For how long a number has stayed the same. It is asked at each look of the watchman, and counts these."""

    __slots__ = ("_moves", "_times")

    def __init__(self, moves: int) -> None:
        self._moves = moves
        self._times = 0

    def seconds(self, moves: int) -> float:
        """The seconds since it was another one, as far as looks tell.

        Args:
            moves: The number now: of what has begun or ended, or of the step that is computed.
        """
        self._times = self._times + 1 if moves == self._moves else 0
        self._moves = moves
        return self._times * WATCH_LOOK_SECONDS


def patience_of(waits: bool, says_needs: bool, calls: bool) -> float:
    """The seconds after which others of its part may begin beside a stage; 0 for never.

    Args:
        waits: Whether it may wait for something.
        says_needs: Whether the stages of its part say which others they need.
        calls: Whether it calls a Python function, or draws from what may.
    """
    if not (waits and says_needs):
        return 0.0
    return FUNCTION_PATIENCE_SECONDS if calls else WAIT_PATIENCE_SECONDS
