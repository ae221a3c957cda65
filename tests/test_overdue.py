"""Protects the helper for errors of deadlines: an early one is not the last word, one that never says it is found."""

from __future__ import annotations

import pytest

import graphflow as gf
from tests.overdue import overdue


def test_a_deadline_that_came_before_the_wait_is_followed_by_longer_ones() -> None:
    given: list[int] = []

    def run(options: gf.RunOptions) -> None:
        given.append(options.timeout_in_ms)
        text = "Not begun: it." if len(given) < 3 else "It waited for\nan element."
        raise gf.errors.DeadlineExceededError(None, None, text)

    assert overdue(run, "waited for.*element") == "It waited for\nan element."
    assert given == [50, 400, 3200]


def test_what_is_never_said_is_an_error_that_shows_what_was() -> None:
    given: list[int] = []

    def run(options: gf.RunOptions) -> None:
        given.append(options.timeout_in_ms)
        raise gf.errors.DeadlineExceededError(None, None, "something else")

    with pytest.raises(AssertionError, match="'an element' is not said in: something else"):
        overdue(run, "an element")
    assert given == sorted(set(given)) and given[-1] == 30_000


def test_a_run_without_an_error_or_with_another_one_is_an_error() -> None:
    def fails(options: gf.RunOptions) -> None:
        raise gf.errors.CancelledError(None, None, "an element")

    with pytest.raises(AssertionError, match="ended before its deadline"):
        overdue(lambda options: None, "an element")
    with pytest.raises(gf.errors.CancelledError):
        overdue(fails, "an element")
