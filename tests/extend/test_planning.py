"""Protects passes and rewrites of extensions: where they run, that plans are verified after them, and mistakes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow import extend
from graphflow._core.plan import pipeline
from tests.extend import acme


def planned(fetches: Any, feeds: Any = ()) -> tuple[list[str], extend.Plan]:
    """The passes that a plan went through, and the plan."""
    seen: list[str] = []
    with gf.Session(config=gf.ConfigProto(verify_plans=True)) as session:
        plan, _ = session.plan(fetches, list(feeds), lambda name, plan: seen.append(name))
    return seen, plan


def types(plan: extend.Plan) -> list[str]:
    return [i.type for i in extend.walk(plan)]


def test_what_is_installed_changes_plans_until_it_is_removed() -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [3])
        y = gf.placeholder(gf.float32, [3])
        z = x / 4.0 - gf.negative(y)
        feeds = {x: np.float32([1, 2, 3]), y: np.float32([4, 5, 6])}
        with gf.Session() as session:
            before = session.run(z, feeds)
        with acme.install():
            seen, plan = planned(z, feeds)
            assert seen[seen.index("fold") + 1] == "multiply_by_reciprocals"
            assert sorted(set(types(plan))) == ["AddV2", "Const", "Mul"]
            for compiled in ("never", "always"):
                with gf.Session(config=gf.ConfigProto(compiled=compiled)) as session:
                    np.testing.assert_array_equal(session.run(z, feeds), before)
        seen, plan = planned(z, feeds)
        assert "multiply_by_reciprocals" not in seen
        assert {"RealDiv", "Sub"} <= set(types(plan))


def test_a_pass_reaches_branches_and_loops() -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [])
        y = gf.cond(x > 0.0, lambda: x / 2.0, lambda: x / 3.0)
        z = gf.while_loop(lambda v: v > 1.0, lambda v: v / 2.0, [y])
        with acme.install(), gf.Session() as session:
            _, plan = planned(z, [x])
            assert session.run(z, {x: 12.0}) == 0.75
    assert types(plan).count("RealDiv") == 1


@pytest.mark.parametrize("inside", [False, True])
def test_a_rewrite_moves_no_read_of_a_variable_behind_a_write(inside: bool) -> None:
    """The rule is not asked to look: what it returns would read the variable where the sum is computed."""
    with gf.Graph().as_default():
        v = gf.Variable(1.0, use_resource=False)
        x = gf.placeholder(gf.float32, [])

        def branch() -> gf.Tensor:
            negative = gf.negative(v)
            with gf.control_dependencies([negative]):
                written = v.assign(7.0)
            with gf.control_dependencies([written]):
                return gf.subtract(x, negative)

        result = gf.cond(x > 0.0, branch, lambda: x) if inside else branch()
        config = gf.ConfigProto(verify_plans=True)
        with extend.add_rewrite("Sub", acme.add_negative), gf.Session(config=config) as session:
            session.run(v.initializer)
            assert session.run(result, {x: 0.5}) == 1.5


def test_a_rewrite_takes_no_value_of_another_device() -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [])
        with gf.device("/cpu:1"):
            source = gf.exp(x)
        with gf.device("/cpu:0"):
            negative = gf.negative(source)
        with gf.device("/cpu:1"):
            inner = gf.negative(gf.sin(negative))
        with gf.device("/cpu:0"):
            apart, together = gf.subtract(x, inner), gf.subtract(x, negative)
        config = gf.ConfigProto(device_count={"CPU": 2}, verify_plans=True)
        with extend.add_rewrite("Sub", acme.add_negative), gf.Session(config=config) as session:
            plan, _ = session.plan([apart, together], [x])
            assert types(plan).count("Sub") == 2
            assert len(session.run([apart, together], {x: 0.5})) == 2


def test_points_are_behind_the_passes_that_they_are_named_for() -> None:
    def one(plan: extend.Plan) -> extend.Plan:
        return plan

    with gf.Graph().as_default():
        y = gf.constant(1.0) + 2.0
        for point, before in (("placed", "place"), ("folded", "fold"), ("merged", "merge_common")):
            with extend.add_pass(one, at=point), extend.add_pass(one, at=point, name="two"):  # type: ignore[arg-type]
                seen, _ = planned(y)
                where = seen.index(before)
                assert seen[where + 1 : where + 3] == ["one", "two"]
                assert [name for name in seen if name not in ("one", "two")] == [
                    "lower", *(p.__name__ for p in pipeline.PASSES)
                ]  # fmt: skip


def test_a_plan_is_verified_after_it() -> None:
    def other_dtype(plan: extend.Plan) -> extend.Plan:
        return plan.with_instructions(
            [replace(i, dtypes=(gf.float64,)) if i.type == "Exp" else i for i in plan.instructions]
        )

    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [])
        y = gf.exp(x)
        wrong = pytest.raises(gf.errors.InternalError, match=r"after the pass 'other_dtype'.*Exp")
        with (
            extend.add_pass(other_dtype),
            gf.Session(config=gf.ConfigProto(verify_plans=True)) as session,
            wrong,
        ):
            session.run(y, {x: 1.0})


def test_the_functions_of_a_dataset_are_planned_with_it() -> None:
    seen: list[str] = []

    def note(plan: extend.Plan) -> extend.Plan:
        seen.extend(types(plan))
        return plan

    with gf.Graph().as_default(), extend.add_pass(note):
        data = gf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(acme.quick_gelu)
        element = data.make_one_shot_iterator().get_next()
        with gf.Session() as session:
            session.run(element)
    assert "AcmeQuickGelu" in seen


def fails(plan: extend.Plan) -> Any:
    raise RuntimeError("no")


def nothing(plan: extend.Plan) -> Any:
    return None


@pytest.mark.parametrize(("function", "error"), [(fails, RuntimeError), (nothing, TypeError)])
def test_one_that_fails_is_named(function: Callable[..., Any], error: type[Exception]) -> None:
    with (
        gf.Graph().as_default(),
        extend.add_pass(function),
        gf.Session() as session,
        pytest.raises(error) as caught,
    ):
        session.run(gf.constant(1.0))
    told = f"{caught.value} {' '.join(getattr(caught.value, '__notes__', ()))}"
    assert f"pass '{function.__name__}' of tests.extend.test_planning" in told


def test_a_name_is_one_passes_alone_and_a_point_is_one_of_three() -> None:
    def fold(plan: extend.Plan) -> extend.Plan:
        return plan

    with pytest.raises(ValueError, match="There is a pass named 'fold' already"):
        extend.add_pass(fold)
    with pytest.raises(ValueError, match="placed, folded, merged, not at 'later'"):
        extend.add_pass(fold, at="later", name="fold_2")  # type: ignore[arg-type]
    added = extend.add_pass(fold, name="fold_2")
    with pytest.raises(ValueError, match="There is a pass named 'fold_2' already"):
        extend.add_pass(fold, name="fold_2")
    added.remove()
    added.remove()
    extend.add_pass(fold, name="fold_2").remove()
    with pytest.raises(KeyError, match="NoSuchOp"):
        extend.add_rewrite("NoSuchOp", lambda i, makers: None)


def test_a_new_instruction_has_the_types_that_its_op_infers() -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [None, 3], name="x")
        y = gf.exp(x, name="y")
        _, plan = planned(y, [x])
    (exp,) = plan.instructions
    new = extend.new_instruction(plan, "y/normal", "AcmeRowNorm", ["y:0"], {"epsilon": 0.0}, near=exp)
    assert new.outputs == ("y/normal:0", "y/normal:1") and new.shapes == ((None, 3), (None,))
    assert new.dtypes == (gf.float32, gf.float32) and new.device == exp.device
    fed = extend.new_instruction(plan, "sum", "AddV2", ["x:0", "y:0"], near=exp)
    assert fed.shapes == ((None, 3),) and fed.attrs["T"] is gf.float32
    with pytest.raises(ValueError, match="takes 'z:0', which nothing at this level"):
        extend.new_instruction(plan, "z/exp", "Exp", ["z:0"], near=exp)
    with pytest.raises(KeyError):
        extend.in_place_of(exp, "NoSuchOp", ["x:0"])
