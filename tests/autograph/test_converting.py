"""Protects what gf.autograph converts where TensorFlow's answers are not recorded, and what it says it cannot."""

from __future__ import annotations

from typing import Any

import pytest

import graphflow as gf


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


def _run(function: Any, *values: Any, compiled: str = "never") -> Any:
    made = gf.autograph.to_graph(function)
    inputs = [gf.placeholder(gf.constant(value).dtype, []) for value in values]
    outputs = made(*inputs)
    with gf.Session(config=gf.ConfigProto(compiled=compiled)) as session:
        return [session.run(outputs, dict(zip(inputs, values, strict=True))) for _ in range(3)][-1]


def _chained(x: Any) -> Any:
    return 1 if 0 < x < 5 else 0


def _falls_through(x: Any) -> Any:
    if x > 10:
        return x
    if x > 0 and not (x == 3 or x == 4):
        x = x * 2
        return x + 1
    return -x


def _not_one(n: Any) -> Any:
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def _with_a_scope(n: Any) -> Any:
    total = 0
    for i in range(n):
        with gf.name_scope("turn"):
            if i > 2:
                total += i
    return total


@pytest.mark.parametrize("function", [_chained, _falls_through, _not_one, _with_a_scope])
@pytest.mark.parametrize("value", [1, 3, 7, 12])
@pytest.mark.parametrize("compiled", ["never", "always"])
def test_a_converted_function_gives_what_python_gives(function: Any, value: int, compiled: str) -> None:
    assert _run(function, value, compiled=compiled) == function(value)
    assert gf.autograph.to_graph(function)(value) == function(value)


def test_a_method_stays_bound() -> None:
    class Counter:
        def __init__(self) -> None:
            self.step = 2

        def up_to(self, end: Any) -> Any:
            n = 0
            while n < end:
                n += self.step
            return n

    assert _run(Counter().up_to, 5) == 6


def test_a_loop_trains() -> None:
    weight = gf.Variable(1.0)

    def power(times: Any) -> Any:
        result = 1.0
        for _ in range(times):
            result = result * weight
        return result

    times = gf.placeholder(gf.int32, [])
    value = gf.autograph.to_graph(power)(times)
    step = gf.train.GradientDescentOptimizer(0.1).minimize(gf.square(value - 8.0))
    with gf.Session() as session:
        session.run(weight.initializer)
        assert session.run(gf.gradients(value, weight)[0], {times: 3}) == 3.0
        session.run(step, {times: 3})
        assert session.run(weight) == pytest.approx(1.0 + 0.1 * 2 * 7 * 3)


class _Kept:
    """An object whose attribute a function changes."""

    total: Any = 0


def test_what_cannot_be_converted_says_so() -> None:
    kept = _Kept()

    def changes(x: Any) -> Any:
        if x > 0:
            kept.total = x
        return x

    def returns(x: Any) -> Any:
        while x > 0:
            x -= 1
            if x == 5:
                return x
        return x

    def half(x: Any) -> Any:
        if x > 0:
            y = x
        return y + 1

    def turns(x: Any) -> Any:
        y: Any = None
        while x > 0:
            y = "text"
            x -= 1
        return y

    x = gf.placeholder(gf.int32, [])
    for function, told in (
        (changes, r"kept\.total in line \d+ is changed in an if on a tensor"),
        (returns, "cannot be converted: set a variable, break and return behind the loop"),
        (half, "'y' may have no value here"),
        (turns, "'y' is None before a loop on a tensor and 'text' in it"),
    ):
        made = gf.autograph.to_graph(function)
        with pytest.raises((ValueError, UnboundLocalError), match=told):
            made(x)
    assert gf.autograph.to_graph(returns)(8) == 5 and gf.autograph.to_graph(changes)(3) == 3
    assert kept.total == 3
    for wrong, told in (
        (3, "functions and methods"),
        (lambda x: x, "write it with def"),
        (len, "functions and methods"),
    ):
        with pytest.raises(ValueError, match=told):
            gf.autograph.to_graph(wrong)  # type: ignore[arg-type]


def test_an_error_names_the_line_of_the_program() -> None:
    def divides(x: Any) -> Any:
        if x > 0:
            x = gf.check_numerics(1.0 / (x - x), "nought")
        return x

    made = gf.autograph.to_graph(divides)(gf.constant(1.0))
    with gf.Session() as session, pytest.raises(gf.errors.InvalidArgumentError) as caught:
        session.run(made)
    line = divides.__code__.co_firstlineno + 2
    assert f"test_converting.py:{line}" in str(caught.value)


def test_to_code_shows_what_is_called() -> None:
    text = gf.autograph.to_code(_falls_through)
    assert text.startswith("def _falls_through(x)") and "ag__.if_stmt" in text
