"""Protects datasets on a task: their functions travel as plans, one-shot iterators' too, and nothing is unpickled."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import graphflow as gf
from graphflow._core.plan.encode import BadPlan, PlanReader, PlanWriter
from graphflow._core.plan.functions import LoweredFunction
from graphflow._core.plan.lower import lower


@pytest.fixture
def target() -> Iterator[str]:
    server = gf.train.Server.create_local_server()
    with gf.Graph().as_default():
        yield server.target
    server.stop()


def dataset() -> gf.data.Dataset:
    offset = gf.constant(10, gf.int64)
    inner = gf.data.Dataset.range(4).map(lambda x: gf.cond(x > 1, lambda: x * 100, lambda: x + offset))
    return (
        inner.flat_map(lambda x: gf.data.Dataset.from_tensors(x).repeat(2)).filter(lambda x: x > 10).batch(2)
    )


@pytest.mark.parametrize("one_shot", [True, False])
def test_functions_of_a_dataset_run_on_a_task(target: str, one_shot: bool) -> None:
    made = dataset()
    iterator = made.make_one_shot_iterator() if one_shot else made.make_initializable_iterator()
    element = iterator.get_next()
    with gf.Session(target) as session:
        if not one_shot:
            session.run(iterator.initializer)
        found = [session.run(element).tolist() for _ in range(3)]
        with pytest.raises(gf.errors.OutOfRangeError):
            session.run(element)
    assert found == [[11, 11], [200, 200], [300, 300]]


def test_a_function_is_plain_data() -> None:
    with gf.Graph().as_default():
        element = dataset().make_one_shot_iterator().get_next()
        writer = PlanWriter()
        tree = writer.plan(lower([element], [], []))
    plan = PlanReader(writer.arrays, unpickle=None).plan(tree)
    (factory,) = (i.attrs["dataset_factory"] for i in plan.instructions if "dataset_factory" in i.attrs)
    assert isinstance(factory, LoweredFunction) and factory.arguments == 0


def test_functions_nested_too_deep_are_refused() -> None:
    tree: list[Any] = [[], [], [], []]
    for _ in range(200):
        function = {"function": ["f", tree, 0, False]}
        instruction = ["n", "NoOp", [], [], [], [], [["f", function]], [], "", 0, True, None, [], []]
        tree = [[instruction], [], [], []]
    with pytest.raises(BadPlan, match="nested too deep"):
        PlanReader([]).plan(tree)


@pytest.mark.parametrize("raised", ["by an operation", "by the user", "from itself"])
def test_a_function_that_fails_ends_the_step_and_not_the_task(target: str, raised: str) -> None:
    """An error that was its own cause kept the task busy for ever: it looked for the last cause."""

    def fail(x: Any) -> Any:
        error = gf.errors.DataLossError(None, None, "nothing left")
        if raised == "from itself":
            raise error from error
        raise error

    def function(x: gf.Tensor) -> Any:
        if raised == "by an operation":
            return gf.check_numerics(gf.log(x - 1.0), "nothing left", name="checked")
        return gf.py_func(fail, [x], gf.float32, name="checked")

    element = gf.data.Dataset.from_tensor_slices([1.0, 2.0]).map(function).make_one_shot_iterator().get_next()
    for where in ("", target):
        with gf.Session(where, config=gf.ConfigProto(operation_timeout_in_ms=30_000)) as session:
            with pytest.raises(gf.errors.OpError, match=r"(?s)nothing left.*In the function of") as caught:
                session.run(element)
            assert not isinstance(caught.value, gf.errors.DeadlineExceededError)
            assert raised == "from itself" or caught.value.__cause__ is not caught.value
            assert session.run(gf.constant(3.0)) == 3.0
