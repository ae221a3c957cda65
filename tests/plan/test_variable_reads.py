"""Protects the reads of resource variables: what was read stays as it was when the variable is assigned later in the
same run, in values and gradients, on every tier and device; and a read that nobody could tell from the variable costs
nothing.

The values are those of TensorFlow 1.15.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.plan.ir import Plan, walk
from tests.cluster.serving import serve_all, spec_of

TIERS = ("never", "always")
RUNS = 4
"""So many that compiled plans have taken over."""


@pytest.fixture(autouse=True)
def graph() -> Iterator[gf.Graph]:
    with gf.Graph().as_default() as graph:
        yield graph


def made(shape: Sequence[int] = (2,), value: float = 2.0, name: str = "v", resource: bool = True) -> Any:
    return gf.get_variable(name, shape, initializer=gf.constant_initializer(value), use_resource=resource)


def after(before: Sequence[Any], write: Callable[[], Any]) -> Any:
    """Builds a write that comes after some values; what is built in the block comes after the write."""
    with gf.control_dependencies(list(before)):
        written = write()
    return gf.control_dependencies([written])


# ---- values ---------------------------------------------------------------------------------------------------------


def used_later(v: Any) -> tuple[list[Any], list[Any]]:
    value, product = gf.convert_to_tensor(v), v * 5.0
    with after([value, product], lambda: v.assign_add([1.0, 1.0])):
        later, fresh = value * 1.5, v * 1.5
    return [later, fresh, product], [[3.0, 3.0], [4.5, 4.5], [10.0, 10.0]]


def gradient_later(v: Any) -> tuple[list[Any], list[Any]]:
    x = gf.placeholder_with_default([1.0, 1.0], [2])
    total = gf.reduce_sum(v * x) + gf.reduce_sum(v * v)
    with after([total], lambda: v.assign([10.0, 10.0])):
        z = gf.identity(total)
    return list(gf.gradients(z, [x, v])), [[2.0, 2.0], [5.0, 5.0]]


def rows_later(v: Any) -> tuple[list[Any], list[Any]]:
    whole, part, row = gf.convert_to_tensor(v), v[0:1], gf.nn.embedding_lookup(v, [0])
    with after([whole, part, row], lambda: gf.scatter_sub(v, [0], [1.0])):
        later = [whole * 1.0, part * 1.0, row * 1.0, v[0:1] * 1.0]
    return later, [[2.0, 2.0], [2.0], [2.0], [1.0]]


def between_two_writes(v: Any) -> tuple[list[Any], list[Any]]:
    first = gf.convert_to_tensor(v)
    with after([first], lambda: v.assign_add([1.0, 1.0])):
        second, same = v * 3.0, gf.convert_to_tensor(v)
    with after([second, same], lambda: v.assign([0.0, 0.0])):
        return [first * 1.0, second * 1.0, same * 1.0, v * 1.0], [[2.0] * 2, [9.0] * 2, [3.0] * 2, [0.0] * 2]


def in_a_loop_that_writes(v: Any) -> tuple[list[Any], list[Any]]:
    def body(i: Any, total: Any) -> Any:
        product = v * 2.0
        with after([product], lambda: v.assign_add([1.0, 1.0])):
            return i + 1, total + product

    return list(gf.while_loop(lambda i, _: i < 3, body, [0, gf.zeros([2])])), [3, [18.0, 18.0]]


def gradient_of_a_loop(v: Any) -> tuple[list[Any], list[Any]]:
    x = gf.constant([1.0, 2.0])
    _, y = gf.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * v), [0, x])
    with after([y], lambda: v.assign([10.0, 10.0])):
        z = gf.identity(y)
    return list(gf.gradients(gf.square(z), [x, v])), [[128.0, 256.0], [192.0, 768.0]]


def gradient_of_a_loop_behind_a_write(v: Any) -> tuple[list[Any], list[Any]]:
    begin = v.assign_add([1.0, 1.0])
    _, y = gf.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, a * v), [0, begin])
    return [y, *gf.gradients(y, [begin, v])], [[27.0, 27.0], [9.0, 9.0], [18.0, 18.0]]


def gradient_of_a_branch(v: Any) -> tuple[list[Any], list[Any]]:
    decision = gf.placeholder_with_default(True, [])
    y = gf.cond(decision, lambda: v * v, lambda: v + 1.0)
    with after([y], lambda: v.assign_add([1.0, 1.0])):
        z, fresh = gf.identity(y), v * 1.0
    return [z, fresh, *gf.gradients(z * z, v)], [[4.0, 4.0], [3.0, 3.0], [32.0, 32.0]]


def behind_an_optimizer(make: Callable[[], Any]) -> Callable[[Any], tuple[list[Any], list[Any]]]:
    def build(v: Any) -> tuple[list[Any], list[Any]]:
        kept, rows = v * 2.0, gf.nn.embedding_lookup(v, [0, 0])
        whole = gf.convert_to_tensor(v)
        train = make().minimize(gf.reduce_sum(rows) + 0.0 * gf.reduce_sum(kept))
        with gf.control_dependencies([train]):
            return [whole * 1.0, kept * 1.0, gf.reduce_sum(gf.cast(gf.not_equal(v, whole), gf.int32))], [
                [2.0, 2.0],
                [4.0, 4.0],
                1,
            ]

    return build


BUILDERS: dict[str, Callable[[Any], tuple[list[Any], list[Any]]]] = {
    function.__name__: function
    for function in (
        used_later, gradient_later, rows_later, between_two_writes, in_a_loop_that_writes, gradient_of_a_loop,
        gradient_of_a_loop_behind_a_write, gradient_of_a_branch,
    )
}  # fmt: skip
BUILDERS["descent"] = behind_an_optimizer(lambda: gf.train.GradientDescentOptimizer(0.1))
BUILDERS["momentum"] = behind_an_optimizer(lambda: gf.train.MomentumOptimizer(0.1, 0.9))
BUILDERS["adagrad"] = behind_an_optimizer(lambda: gf.train.AdagradOptimizer(0.1))


@contextmanager
def one_device(tier: str) -> Iterator[tuple[gf.Session, Sequence[str]]]:
    with gf.Session(config=gf.ConfigProto(compiled=tier, verify_plans=True)) as session:
        yield session, ("", "")


@contextmanager
def two_devices(tier: str) -> Iterator[tuple[gf.Session, Sequence[str]]]:
    config = gf.ConfigProto(compiled=tier, device_count={"CPU": 2}, verify_plans=True)
    with gf.Session(config=config) as session:
        yield session, ("/cpu:0", "/cpu:1")


@contextmanager
def a_cluster(tier: str) -> Iterator[tuple[gf.Session, Sequence[str]]]:
    with ExitStack() as stack:
        *_, worker = serve_all(stack, spec_of(stack, ps=1, worker=1))
        config = gf.ConfigProto(compiled=tier, verify_plans=True)
        yield (
            stack.enter_context(gf.Session(worker.target, config=config)),
            ("/job:ps/task:0", "/job:worker/task:0"),
        )


@pytest.mark.parametrize("tier", TIERS)
@pytest.mark.parametrize("world", [one_device, two_devices, a_cluster])
@pytest.mark.parametrize("name", BUILDERS)
def test_what_was_read_stays_when_the_variable_is_assigned(name: str, world: Any, tier: str) -> None:
    with gf.Graph().as_default(), world(tier) as (session, (home, elsewhere)):
        with gf.device(home):
            v = made()
        with gf.device(elsewhere) if elsewhere else nullcontext():
            fetches, expected = BUILDERS[name](v)
        for _ in range(RUNS):
            session.run(gf.global_variables_initializer())
            for found, right in zip(session.run(fetches), expected, strict=True):
                np.testing.assert_allclose(found, right, rtol=1e-6)


def test_a_reference_is_read_where_it_is_taken() -> None:
    v = made(resource=False)
    (later, fresh, product), _ = used_later(v)
    with gf.Session() as session:
        session.run(v.initializer)
        for found, right in zip(session.run([later, fresh, product]), (4.5, 4.5, 10.0), strict=True):
            np.testing.assert_array_equal(found, [right, right])


def test_a_run_in_parts_goes_on_with_what_its_first_part_has_read() -> None:
    v, x = made(), gf.placeholder(gf.float32, [])
    value = gf.convert_to_tensor(v)
    with after([value], lambda: v.assign([7.0, 7.0])):
        done = gf.constant(0)
    later = value * x
    with gf.Session() as session:
        session.run(v.initializer)
        handle = session.partial_run_setup([value, done, later], [x])
        session.partial_run(handle, [value, done])
        np.testing.assert_array_equal(session.partial_run(handle, later, {x: 3.0}), [6.0, 6.0])


def test_a_part_of_a_resource_variable_is_assigned() -> None:
    v = made((4,))
    written = v[1:3].assign([5.0, 6.0])
    with gf.Session() as session:
        session.run(v.initializer)
        np.testing.assert_array_equal(session.run(written), [2.0, 5.0, 6.0, 2.0])


def test_the_scope_says_what_a_variable_is_of_which_nobody_says_it() -> None:
    with gf.variable_scope("kept", use_resource=True):
        found = [gf.Variable([2.0, 2.0]), gf.get_variable("v", initializer=[2.0, 2.0])]
        with gf.variable_scope("inside"):
            found += [gf.Variable([2.0, 2.0]), gf.Variable([2.0, 2.0], use_resource=False)]
    found.append(gf.Variable([2.0, 2.0]))
    later = [used_later(v)[0][0] for v in found]
    with gf.Session() as session:
        session.run(gf.global_variables_initializer())
        assert [float(value[0]) for value in session.run(later)] == [3.0, 3.0, 3.0, 4.5, 4.5]


def test_a_layer_of_keras_keeps_what_it_has_read() -> None:
    layer, x = gf.keras.layers.Dense(2, kernel_initializer="ones"), gf.ones([1, 2])
    y = layer(x)
    with after([y], lambda: layer.kernel.assign([[9.0, 9.0], [9.0, 9.0]])):
        z = gf.identity(y)
    (gradient,) = gf.gradients(z, x)
    with gf.Session() as session:
        for _ in range(RUNS):
            session.run(gf.global_variables_initializer())
            np.testing.assert_array_equal(session.run(gradient), [[2.0, 2.0]])


def test_an_imported_graph_has_resource_variables_still() -> None:
    v = made()
    (later, fresh, product), expected = used_later(v)
    names = [later.name, fresh.name, product.name]
    written = gf.get_default_graph().as_graph_def()
    with gf.Graph().as_default(), gf.Session() as session:
        gf.import_graph_def(written, name="")
        for _ in range(RUNS):
            session.run("v/Assign")
            for found, right in zip(session.run(names), expected, strict=True):
                np.testing.assert_array_equal(found, right)


# ---- what they cost -------------------------------------------------------------------------------------------------


def plan_of(fetches: Any, feeds: Sequence[Any] = ()) -> Plan:
    last: list[Plan] = []
    with gf.Session() as session:
        session.plan(fetches, feeds, lambda _, plan: last.append(plan))
    return last[-1]


def reads_in(plan: Plan) -> list[str]:
    variables = plan.variables()
    return [i.name for i in walk(plan) if i.type == "Identity" and i.inputs[0] in variables]


@pytest.mark.parametrize(
    "optimizer",
    [
        lambda: gf.train.GradientDescentOptimizer(0.1),
        lambda: gf.train.AdamOptimizer(0.1),
        lambda: gf.train.RMSPropOptimizer(0.1, momentum=0.9, centered=True),
        lambda: gf.train.FtrlOptimizer(0.1),
    ],
)
def test_a_step_of_training_has_no_read_of_its_own(optimizer: Callable[[], Any]) -> None:
    x = gf.placeholder(gf.float32, [None, 3])
    hidden = gf.tanh(gf.matmul(x, made((3, 4), name="w")) + made((4,), name="b"))
    loss = gf.reduce_mean(gf.square(gf.matmul(hidden, made((4, 1), name="u"))))
    train = optimizer().minimize(loss)
    assert reads_in(plan_of([loss, train], [x])) == []


def test_a_step_of_a_keras_model_with_a_loop_has_no_read_of_its_own() -> None:
    x = gf.placeholder(gf.float32, [None, 5, 3])
    hidden = gf.keras.layers.BatchNormalization()(gf.keras.layers.LSTM(4)(x), training=True)
    loss = gf.reduce_mean(gf.square(gf.keras.layers.Dense(1)(hidden)))
    train = gf.train.AdamOptimizer(0.1).minimize(loss)
    plan = plan_of([loss, train], [x])
    assert reads_in(plan) == []
    kernels = {name for name, i in plan.variables().items() if i.shapes[0] and len(i.shapes[0]) == 2}
    pushed = [i for i in walk(plan) if i.type == "StackPushV2" and kernels.intersection(i.inputs)]
    assert not pushed, "each turn keeps weights that it does not change"


def test_reads_between_the_same_writes_are_one() -> None:
    v = made()
    reads = [v * float(n) for n in (2, 3, 4)]
    values = [gf.convert_to_tensor(v) for _ in range(3)]
    with after([*reads, *values], lambda: v.assign([1.0, 1.0])):
        later = gf.add_n([gf.identity(value) for value in values])
    assert len(reads_in(plan_of([later, *reads]))) == 1
