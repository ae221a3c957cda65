"""How long nothing has happened in a run, and for how long a stage that waits is left alone."""

from __future__ import annotations

from graphflow._core.common.waiting.wait_timeouts import (
    FUNCTION_PATIENCE_SECONDS,
    STILL_PAUSE_SECONDS,
    WAIT_PATIENCE_SECONDS,
    WATCH_LOOK_SECONDS,
)


class Stillness:
    """For how long a number has stayed the same. It is asked at each look of the watchman, and counts these.

    Each look is worth acting on until every patience is over. What begins then changes the number; if nothing does, a
    run may wait for hours, and to act each time would cost as much as a step each time.
    """

    __slots__ = ("_moves", "_next", "_times")

    def __init__(self, moves: int) -> None:
        self._moves = moves
        self._times = 0
        self._next = 1
        """The look that is worth acting on next."""

    def seconds(self, moves: int) -> float:
        """The seconds since it was another one, as far as looks tell; 0 at a look that is not worth acting on.

        Args:
            moves: The number now: of what has begun or ended, or of the step that is computed.
        """
        if moves != self._moves:
            self._moves, self._times, self._next = moves, 0, 1
            return 0.0
        self._times += 1
        if self._times < self._next:
            return 0.0
        found = self._times * WATCH_LOOK_SECONDS
        is_over = found >= max(FUNCTION_PATIENCE_SECONDS, WAIT_PATIENCE_SECONDS)
        pause = min(found, STILL_PAUSE_SECONDS) if is_over else WATCH_LOOK_SECONDS
        self._next += round(pause / WATCH_LOOK_SECONDS)
        return found


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
