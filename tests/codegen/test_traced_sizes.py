"""Protects the trace of sizes: for others it gives what the code itself gives, or says that it does not hold."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from graphflow._core.codegen.traced_sizes import Trace, TraceError, called, number

NUMBERS = (0, 1, 2, 3, 4, 6, 7, 8, 12, 64, 65)


def _expression(chance: random.Random, depth: int) -> Callable[[Any, Any], Any]:
    """A random computation on two sizes, with branches."""
    if not depth:
        constant = chance.choice((0, 1, 2, 3, 4, 8, 100))
        return chance.choice((lambda n, m: n, lambda n, m: m, lambda n, m: constant))
    a, b, c = (_expression(chance, depth - 1) for _ in range(3))
    ways: list[Callable[[Any, Any], Any]] = [
        lambda n, m: a(n, m) + b(n, m),
        lambda n, m: a(n, m) - b(n, m),
        lambda n, m: a(n, m) * b(n, m),
        lambda n, m: a(n, m) // b(n, m) if b(n, m) else -1,
        lambda n, m: a(n, m) % b(n, m) if b(n, m) else -1,
        lambda n, m: -a(n, m),
        lambda n, m: min(a(n, m), b(n, m)),
        lambda n, m: max(a(n, m), b(n, m)),
        lambda n, m: b(n, m) if a(n, m) == 1 else c(n, m),
        lambda n, m: b(n, m) if a(n, m) <= c(n, m) else c(n, m),
        lambda n, m: list(range(50))[a(n, m) % 50],
        lambda n, m: called(_halves, 2, a(n, m), b(n, m))[1],
        lambda n, m: len({a(n, m): 1, b(n, m): 2}) and b(n, m),
        lambda n, m: int(f"{a(n, m)}"),
        lambda n, m: int(np.zeros(abs(number(a(n, m))) % 9 * 0 + 3).size),
    ]
    return chance.choice(ways)


def _halves(a: int, b: int) -> tuple[int, int]:
    return a // 2, b // 2 if a > 3 else b


@pytest.mark.parametrize("seed", range(300))
def test_a_replay_gives_what_the_code_gives_or_does_not_hold(seed: int) -> None:
    chance = random.Random(seed)
    compute = _expression(chance, 3)
    held = 0
    for first in chance.sample(NUMBERS, 4):
        for second in chance.sample(NUMBERS, 4):
            trace = Trace()
            result = compute(trace.size(first), trace.size(second))
            assert number(result) == compute(first, second)
            replay = trace.replay([trace.number_of(result)])
            assert replay((first, second)) == [compute(first, second)]
            for n in NUMBERS:
                for m in NUMBERS:
                    found = replay((n, m))
                    if found is not None:
                        held += 1
                        assert found == [compute(n, m)], (first, second, n, m)
    assert held


def test_what_needs_a_number_is_noted() -> None:
    for use in (int, float, bool, repr, str, np.zeros, lambda n: [0] * 9 and list(range(n)), hash_of_number):
        trace = Trace()
        use(trace.size(7))
        replay = trace.replay([])
        assert replay([7]) == [], use
        assert replay([0]) is None, use


def hash_of_number(size: Any) -> Any:
    return {7: "seven"}.get(int(size))


def test_equal_computations_are_one_key_and_others_are_not() -> None:
    trace = Trace()
    n, m = trace.size(4), trace.size(4)
    assert len({n * 2, n * 2, 2 * n, n + 0, n * 1}) == 2
    assert len({n, m}) == 2 and trace.guards == 0
    assert trace.replay([])([1, 2]) == []


def test_a_closed_trace_tells_of_a_late_look() -> None:
    trace = Trace()
    n = trace.size(4)
    trace.close()
    with pytest.raises(TraceError):
        int(n)
    with pytest.raises(TraceError):
        n * 3
    with pytest.raises(TraceError):
        Trace().size(3) + n


def test_division_by_zero_is_the_code_s_own() -> None:
    trace = Trace()
    with pytest.raises(ZeroDivisionError):
        trace.size(3) // trace.size(0)
    trace = Trace()
    result = trace.size(12) // trace.size(4)
    replay = trace.replay([trace.number_of(result)])
    assert replay([13, 2]) == [6] and replay([13, 0]) is None
