"""Protects the order in which kernels are made: who waits comes first, most wanted first, nobody behind a long list."""

from __future__ import annotations

import random

from graphflow._core.codegen.cpu.service.requests import (
    REQUESTS_A_COMPILER,
    Request,
    Requests,
    is_worth_another,
)


def order_of(requests: Requests) -> list[str]:
    """The keys in the order in which they are made."""
    found = []
    while (request := requests.take()) is not None:
        found.append(request.key)
        requests.finish(request)
    return found


def test_what_somebody_waits_for_comes_before_what_an_ended_program_had_asked_for() -> None:
    requests = Requests()
    for key in "abc":
        assert requests.add(1, key, key)
    requests.leave(1)
    assert requests.add(2, "d", "d") and requests.add(2, "b", "b")
    assert order_of(requests) == ["d", "b", "a", "c"]


def test_what_most_wait_for_comes_first() -> None:
    requests = Requests()
    for client, keys in ((1, "abcd"), (2, "cd"), (3, "d")):
        for key in keys:
            requests.add(client, key, key)
    assert order_of(requests) == ["d", "c", "a", "b"]


def test_five_requests_do_not_stand_behind_five_hundred() -> None:
    requests = Requests()
    for number in range(500):
        requests.add(1, f"long {number}", "x")
    for number in range(5):
        requests.add(2, f"short {number}", "x")
    order = order_of(requests)
    assert order.index("short 4") < 10 and order[0] == "long 0"


def test_the_same_kernel_is_made_once_and_all_are_told() -> None:
    requests = Requests()
    for client in (1, 2, 2, 3):
        assert requests.add(client, "a", "a")
    request = requests.take()
    assert request is not None and requests.take() is None
    assert requests.add(4, "a", "a") and requests.take() is None
    requests.leave(3)
    assert requests.finish(request) == {1, 2, 4}
    assert [requests.outstanding(client) for client in (1, 2, 3, 4)] == [0, 0, 0, 0] and len(requests) == 0


def test_what_is_begun_again_keeps_its_askers() -> None:
    requests = Requests()
    requests.add(1, "a", "a")
    request = requests.take()
    assert request is not None
    requests.put_back(request)
    assert requests.take() is request and request.tries == 2 and request.askers == {1}


def test_sources_are_bounded_and_what_nobody_waits_for_makes_room() -> None:
    requests = Requests(most_bytes=100)
    assert requests.add(1, "a", "x" * 60) and requests.add(1, "b", "x" * 40)
    assert not requests.add(2, "c", "x")
    requests.leave(1)
    assert requests.add(2, "c", "x" * 50)  # Without b that is 110.
    assert order_of(requests) == ["c"] and requests.add(1, "d", "x" * 100)
    assert not requests.add(1, "e", "x" * 101)


def test_counts_are_right_after_whatever_happens() -> None:
    for seed in range(200):
        draw = random.Random(seed)
        requests = Requests(most_bytes=60)
        made: list[Request] = []
        wants: dict[int, set[str]] = {client: set() for client in range(4)}
        for _ in range(60):
            client, key = draw.randrange(4), draw.choice("abcdefgh")
            action = draw.randrange(6)
            if action < 2:
                if requests.add(client, key, key * 10):
                    wants[client].add(key)
            elif action == 2:
                requests.leave(client)
                wants[client].clear()
            elif action == 3 and (taken := requests.take()) is not None:
                made.append(taken)
            elif action == 4 and made:
                requests.put_back(made.pop(draw.randrange(len(made))))
            elif made:
                done = made.pop(draw.randrange(len(made)))
                assert requests.finish(done) == {c for c in wants if done.key in wants[c]}
                for keys in wants.values():
                    keys.discard(done.key)
            assert {c: requests.outstanding(c) for c in wants} == {c: len(keys) for c, keys in wants.items()}
            assert len(requests) >= len(set().union(*wants.values())) and len(requests) * 10 <= 60


def test_another_compiler_is_worth_it_whether_one_is_free_or_not() -> None:
    assert is_worth_another(1, 0, 0)
    for compilers in (1, 2):
        for free in range(compilers + 1):
            most = free + REQUESTS_A_COMPILER * compilers
            assert not is_worth_another(most, free, compilers) and is_worth_another(most + 1, free, compilers)
    assert not is_worth_another(1, 1, 1)
