"""Protects which requests of a session are taken: each once, whatever the order, with a memory that is bounded."""

from __future__ import annotations

from graphflow._core.cluster.protocol.requests import RequestNumbers


def test_a_request_is_taken_once_whatever_the_order() -> None:
    requests = RequestNumbers()
    order = [1, 3, 2, 7, 5, 6, 4]
    assert [requests.take(n) for n in order] == [True] * 7
    assert not any(requests.take(n) for n in range(8))
    assert requests.take(1_000_000) and not requests.take(8)  # Far behind, so it was there or is lost.
    assert requests.take(999_999) and not requests.take(999_999)


def test_a_request_that_comes_too_late_is_told_from_one_that_came_before() -> None:
    requests = RequestNumbers()
    for n in range(1, 70_000):
        assert n == 3 or requests.take(n)
    assert not requests.take(3) and requests.is_late(3)
    assert not requests.take(3) and not requests.is_late(3)  # It was answered.
    assert not requests.take(4) and not requests.is_late(4)


def test_the_memory_of_requests_is_bounded() -> None:
    requests = RequestNumbers()
    for n in range(2, 400_000, 2):  # Every second one was lost.
        requests.take(n)
    assert len(requests._above) <= 65_536 // 2 + 1 and len(requests._missed) <= 65_536
