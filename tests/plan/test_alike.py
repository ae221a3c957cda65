"""Protects the comparison of plans by which a traced run finds what does the other runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.plan.alike import alike
from graphflow._core.plan.ir import Plan


def planned(build: Callable[[Any], Any]) -> Plan:
    with gf.Graph().as_default(), gf.Session() as session:
        x = gf.placeholder(gf.float32, [3], name="x")
        return session.plan(build(x), [x])[0]


CASES: dict[str, Callable[[Any], Any]] = {
    "constant": lambda x: x + [1.0, 2.0, 3.0],
    "other constant": lambda x: x + [1.0, 2.0, 4.0],
    "text": lambda x: gf.string_join([gf.as_string(x), "a"]),
    "other text": lambda x: gf.string_join([gf.as_string(x), "b"]),
    "attribute": lambda x: gf.reduce_sum(x, 0, keepdims=True),
    "other attribute": lambda x: gf.reduce_sum(x, 0, keepdims=False),
    "branch": lambda x: gf.cond(x[0] > 0, lambda: x + 1.0, lambda: x),
    "other branch": lambda x: gf.cond(x[0] > 0, lambda: x + 2.0, lambda: x),
    "name": lambda x: gf.tanh(x, name="a"),
    "other name": lambda x: gf.tanh(x, name="b"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_plan_is_alike_to_one_that_was_built_the_same_way_and_to_no_other(name: str) -> None:
    plan = planned(CASES[name])
    assert [other for other, build in CASES.items() if alike(plan, planned(build))] == [name]


def test_functions_of_the_user_are_alike_if_they_are_the_same() -> None:
    def called(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: gf.py_func(function, [x], gf.float32)

    first, second = (lambda v: v + 1), (lambda v: v + 1)
    assert not alike(planned(called(first)), planned(called(second)))
