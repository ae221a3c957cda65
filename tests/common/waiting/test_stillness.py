"""Protects how long a run counts as standing still, and how often that is worth acting on."""

from __future__ import annotations

from itertools import pairwise

from graphflow._core.common.waiting.stillness import Stillness
from graphflow._core.common.waiting.wait_timeouts import (
    FUNCTION_PATIENCE_SECONDS,
    STILL_PAUSE_SECONDS,
    WAIT_PATIENCE_SECONDS,
    WATCH_LOOK_SECONDS,
)


def _told(still: Stillness, moves: int, seconds: float) -> list[float]:
    """What is told in so many seconds of looks in which nothing moves."""
    found = [still.seconds(moves) for _ in range(round(seconds / WATCH_LOOK_SECONDS))]
    return [each for each in found if each]


def test_a_wait_that_lasts_is_told_of_ever_less_often() -> None:
    told = _told(Stillness(0), 0, 600.0)
    pauses = [later - earlier for earlier, later in pairwise(told)]
    assert max(pauses) < STILL_PAUSE_SECONDS * 1.01 and len(told) < 2 * 600.0 / STILL_PAUSE_SECONDS
    assert pauses == sorted(pauses, key=lambda pause: round(pause, 6))


def test_every_patience_ends_at_its_look() -> None:
    told = _told(Stillness(7), 7, 1.0)
    for patience in (WAIT_PATIENCE_SECONDS, FUNCTION_PATIENCE_SECONDS):
        assert patience in told


def test_who_moves_is_looked_at_each_time_again() -> None:
    still = Stillness(0)
    _told(still, 0, 60.0)
    assert still.seconds(1) == 0.0
    assert _told(still, 1, FUNCTION_PATIENCE_SECONDS) == _told(Stillness(1), 1, FUNCTION_PATIENCE_SECONDS)
