"""Protects what verification remembers: equal instructions are inferred once, and nothing that may differ is equal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.graph import dtypes
from graphflow._core.graph.op_def import lookup
from graphflow._core.ops import load_all
from graphflow._core.plan import found_right, inference
from graphflow._core.plan.found_right import RIGHT
from graphflow._core.plan.ir import Instruction, Plan
from graphflow._core.plan.verify import verify

load_all()  # The mistakes name ops that no test before may have used.


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Nothing was found right before, and nothing is afterwards."""
    RIGHT.forget()
    yield
    RIGHT.forget()


def inferences(plan: Plan) -> list[str]:
    """The names of the instructions of which a definition is asked when the plan is verified."""
    asked: list[str] = []
    infer = inference.inferred

    def noting(op: inference.DescribedOperation, inputs: Sequence[gf.Tensor]) -> Any:
        asked.append(op.name)
        return infer(op, inputs)

    with patch.object(inference, "inferred", noting):
        verify(plan)
    return asked


def plan_of(*fetches: gf.Tensor, feeds: Sequence[gf.Tensor] = ()) -> Plan:
    with gf.Session() as session:
        plan, _ = session.plan(list(fetches), list(feeds))
    RIGHT.forget()
    return plan


def with_change(plan: Plan, name: str, **change: Any) -> Plan:
    found = [replace(i, **change) if i.name == name else i for i in plan.instructions]
    assert found != list(plan.instructions)
    return plan.with_instructions(found)


def reshaped(size: Sequence[int]) -> tuple[Plan, Instruction]:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [6], name="x")
        plan = plan_of(gf.reshape(x, size, name="reshaped"), feeds=[x])
    (found,) = [i for i in plan.instructions if i.name == "reshaped"]
    return plan, found


def test_what_is_equal_is_inferred_once() -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [2, 3], name="x")
        y = gf.add(gf.exp(gf.exp(x, name="one"), name="two"), x, name="sum")
        plan = plan_of(y, feeds=[x])
    assert sorted(inferences(plan)) == ["one", "sum"]
    assert inferences(plan) == []


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("two", {"dtypes": (dtypes.float64,)}),
        ("two", {"shapes": ((3, 2),)}),
        ("two", {"definition": lookup("Add")}),
        ("sum", {"inputs": ("two:0",)}),
        ("product", {"attrs": {"transpose_a": True, "transpose_b": False, "T": dtypes.float32}}),
        ("product", {"shapes": ((4, 4),)}),
    ],
)
def test_a_mistake_in_what_was_right_before_is_found(name: str, change: dict[str, Any]) -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [2, 3], name="x")
        total = gf.add(gf.exp(gf.exp(x, name="one"), name="two"), x, name="sum")
        w = gf.placeholder(gf.float32, [3, 4], name="w")
        plan = plan_of(gf.matmul(total, w, name="product"), feeds=[x, w])
    for _ in range(2):
        verify(plan)
        with pytest.raises(gf.errors.InternalError, match=f"'{name}"):
            verify(with_change(plan, name, **change))


def test_a_rule_that_looks_at_a_constant_is_asked_again_if_that_is_another() -> None:
    """The rule of Reshape looks at the value of its second input."""
    plan, found = reshaped([2, 3])
    for _ in range(2):
        assert "reshaped" in inferences(
            plan
        )  # First it is seen to look; then it is remembered with the constant.
    assert inferences(plan) == []
    other, _ = reshaped([3, 2])
    for _ in range(2):
        assert "reshaped" in inferences(plan)
    verify(other)
    wrong = with_change(other, "reshaped", shapes=found.shapes)
    with pytest.raises(gf.errors.InternalError, match="'reshaped:0'"):
        verify(wrong)


def test_a_rule_that_looks_further_than_at_constants_is_asked_each_time() -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [None], name="x")
        size = gf.stack([gf.shape(x)[0], 1], name="size")
        plan = plan_of(gf.reshape(x, size, name="reshaped"), feeds=[x])
    for _ in range(4):
        assert "reshaped" in inferences(plan)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": [1]}, {"a": (1,)}),
        ({"a": (1, 1)}, {"a": (1, True)}),
    ],
)
def test_attributes_that_python_calls_equal_are_told_apart(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    _, found = reshaped([2, 3])
    level: Any = None  # Nothing of it is needed for a rule that has not looked.
    kinds = [(dtypes.float32, (6,)), (dtypes.int32, (2,))]
    first, second = (
        RIGHT.key(lookup("Reshape"), replace(found, attrs=attrs), kinds, level) for attrs in (one, other)
    )
    assert first is not None and second is not None and first != second


@pytest.mark.parametrize("value", [np.zeros(3), lambda: 0, [[1]], list(range(1000))])
def test_what_cannot_be_told_by_value_is_not_remembered(value: Any) -> None:
    _, found = reshaped([2, 3])
    level: Any = None
    kinds = [(dtypes.float32, (6,)), (dtypes.int32, (2,))]
    assert RIGHT.key(lookup("Reshape"), replace(found, attrs={"a": value}), kinds, level) is None


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found_right, "_MOST", 4)
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [1], name="x")
        plan = plan_of(*[gf.exp(gf.zeros([n]) + x, name=f"of_{n}") for n in range(2, 30)], feeds=[x])
        verify(plan)
        for _ in range(2):
            assert len(inferences(plan)) > 10
