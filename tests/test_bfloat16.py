"""Protects bfloat16 as a type of tensors: fed, fetched, computed in both tiers, kept, and sent between tasks.

That the numbers are TensorFlow's show the cases of tests/oracle/cases/bfloat16.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import graphflow as gf

NARROW: Any = ml_dtypes.bfloat16
TIERS = ["never", "always"]


def session(tier: str) -> gf.Session:
    return gf.Session(config=gf.ConfigProto(compiled=tier, verify_plans=True))


@pytest.fixture(params=["this process", "a cluster"])
def target(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param == "this process":
        yield ""
    else:
        yield gf.train.Server.create_local_server().target


@pytest.mark.parametrize(
    "value", [[1.5, 0.1], np.array([1.5, 0.1]), np.array([1.5, 0.1], NARROW), (NARROW(1.5), 0.1)]
)
def test_feeds_become_bfloat16(value: Any) -> None:
    x = gf.placeholder(gf.bfloat16, [2], name="victim")
    with gf.Session() as session:
        for found in session.run([x, gf.identity(x), x * 1.0], {x: value}):
            assert found.dtype == NARROW and found.tolist() == [1.5, 0.10009765625]
        with pytest.raises(TypeError, match=r"victim.*complex"):
            session.run(x, {x: [1j, 0]})
        with pytest.raises(TypeError, match="victim"):
            session.run(x, {x: "text"})
    scalar = gf.placeholder(gf.bfloat16, [])
    with gf.Session() as session:
        assert [session.run(scalar, {scalar: v}) for v in (1.5, 2, NARROW(3))] == [1.5, 2.0, 3.0]


def test_arrays_of_bfloat16_are_fed_to_others_as_numbers() -> None:
    given = np.array([1.5, 2.0], NARROW)
    for dtype, expected in ((gf.float32, [1.5, 2.0]), (gf.float64, [1.5, 2.0]), (gf.int32, [1, 2])):
        x = gf.placeholder(dtype, [2])
        with gf.Session() as session:
            assert session.run(x, {x: given}).tolist() == expected


@pytest.mark.parametrize("tier", TIERS)
def test_operations_round_once_and_sums_are_made_in_float32(tier: str) -> None:
    x = gf.placeholder(gf.bfloat16, [None])
    third = np.float32(NARROW(1 / 3))
    results = [
        gf.reduce_sum(x),
        gf.reduce_mean(x),
        gf.sigmoid(x),
        x * x + 1.0,
        gf.matmul(x[None], x[:, None]),
    ]
    with session(tier) as run:
        found = run.run(results, {x: np.full(3000, third)})
    assert [each.dtype for each in found] == [NARROW] * 5
    assert found[0] == NARROW(3000 * third) and found[1] == NARROW(third)
    assert found[2][0] == NARROW(1 / (1 + np.exp(-third))) and found[4][0, 0] == NARROW(3000 * third * third)
    assert found[3][0] == NARROW(np.float32(NARROW(third * third)) + 1)  # Two operations, each rounded.


@pytest.mark.parametrize("tier", TIERS)
def test_a_model_in_bfloat16_with_weights_of_float32_is_trained(tier: str) -> None:
    with gf.Graph().as_default(), session(tier) as run:
        gf.set_random_seed(3)
        x = gf.placeholder(gf.float32, [None, 8])
        w, v = gf.get_variable("w", [8, 16]), gf.get_variable("v", [16, 1])
        hidden = gf.nn.relu(gf.matmul(gf.to_bfloat16(x), gf.to_bfloat16(w)))
        found = gf.cast(gf.matmul(hidden, gf.to_bfloat16(v)), gf.float32)
        loss = gf.reduce_mean(gf.square(found - x[:, :1] * x[:, 1:2]))
        step = gf.train.AdamOptimizer(0.02).minimize(loss)
        run.run(gf.global_variables_initializer())
        data = {x: np.random.default_rng(0).standard_normal((64, 8))}
        first = run.run(loss, data)
        for _ in range(60):
            run.run(step, data)
        assert run.run(loss, data) < first / 4
        text = run.explain(step, [x], compiled=tier == "always")
    if tier == "always":
        assert "of dtype bfloat16, for which there is no native code" in text


def test_a_variable_is_read_where_its_operation_stands() -> None:
    w = gf.get_variable("w", [2], gf.bfloat16, gf.ones_initializer())
    written = w.assign(w * 2.0)
    behind = w + gf.zeros([2], gf.bfloat16) * written
    with gf.control_dependencies([written]):
        controlled = w * 1.0
    for tier in TIERS:
        with session(tier) as run:
            run.run(w.initializer)
            assert run.run([behind, w * 1.0])[0].tolist() == [2.0, 2.0]
            assert run.run(controlled).tolist() == [4.0, 4.0]


def test_what_moves_elements_takes_them_as_they_are() -> None:
    x = gf.placeholder(gf.bfloat16, [3, 4])
    moved = gf.concat([gf.transpose(x)[1:], gf.reshape(x, [4, 3])], 0)
    with gf.Session() as session:
        types = [i.type for i in session.plan(gf.gather(gf.tile(moved, [1, 2]), [0, 1]), [x])[0].instructions]
    assert "Cast" not in types and "Transpose" in types
    bits = gf.bitcast(x, gf.uint16)
    with gf.Session() as session:
        given = np.arange(12).reshape(3, 4).astype(NARROW)
        np.testing.assert_array_equal(session.run(bits, {x: given}), given.view(np.uint16))


def test_branches_loops_queues_lists_and_functions_of_the_program() -> None:
    x = gf.placeholder(gf.bfloat16, [2])
    branch = gf.cond(gf.reduce_sum(x) > 2.0, lambda: x * 2.0, lambda: x)
    loop = gf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v + v), [0, x])[1]
    pieces = gf.map_fn(lambda v: v + 1.0, x)
    called = gf.py_func(lambda v: v + v.dtype.type(1), [x], gf.bfloat16)
    queue = gf.FIFOQueue(2, [gf.bfloat16], [[2]])
    elements = (
        gf.data.Dataset.from_tensor_slices(np.array([1.5, 2.0], NARROW)).map(lambda v: v * 2.0).batch(2)
    )
    batch = gf.data.make_one_shot_iterator(elements).get_next()
    for tier in TIERS:
        with session(tier) as run:
            run.run(queue.enqueue([x]), {x: [1.5, 2.0]})
            found = run.run([branch, loop, pieces, called, queue.dequeue(), batch], {x: [1.5, 2.0]})
        assert [each.dtype for each in found] == [NARROW] * 6
        assert [each.tolist() for each in found] == [
            [3.0, 4.0], [12.0, 16.0], [2.5, 3.0], [2.5, 3.0], [1.5, 2.0], [3.0, 4.0]
        ]  # fmt: skip


def test_variables_through_checkpoints_and_between_tasks(target: str, tmp_path: Path) -> None:
    """Large enough to be borrowed by a stage that sends it, and to be a frame of its own."""
    value = np.arange(40_000).reshape(200, 200).astype(NARROW)
    gf.reset_default_graph()
    w = gf.get_variable("w", initializer=gf.constant(value))
    saver = gf.train.Saver([w])
    with gf.Session(target) as session:
        session.run(w.initializer)
        path = saver.save(session, str(tmp_path / "model"))
        read = session.run(w)
        session.run(w.assign(gf.zeros([200, 200], gf.bfloat16)))
        saver.restore(session, path)
        np.testing.assert_array_equal(session.run(w), value)
        gf.train.restore_safetensors(session, f"{path}.safetensors", [w])
        changed = session.run([w.assign_add(w).op, gf.identity(w)])[1]
    assert read.dtype == NARROW and changed.dtype == NARROW
    np.testing.assert_array_equal(read, value)
    reader = gf.train.load_checkpoint(path)
    assert reader.get_variable_to_dtype_map() == {"w": gf.bfloat16}
    np.testing.assert_array_equal(reader.get_tensor("w"), value)


def test_graphs_as_messages() -> None:
    with gf.Graph().as_default() as graph:
        x = gf.placeholder(gf.bfloat16, [2], name="x")
        gf.add(x * gf.constant([1.5, 0.1], gf.bfloat16), gf.constant(3.0, gf.bfloat16), name="y")
        message = graph.as_graph_def()
    one = next(node for node in message.node if node.name == "Const_1").attr["value"].tensor
    assert list(one.half_val) == [int(NARROW(3.0).view(np.uint16))]
    with gf.Graph().as_default(), gf.Session() as session:
        gf.import_graph_def(message, name="")
        assert session.run("y:0", {"x:0": [2.0, 1.0]}).tolist() == [6.0, 3.09375]


def test_attributes_and_names_of_the_type() -> None:
    assert gf.as_dtype(NARROW) is gf.as_dtype(np.dtype(NARROW)) is gf.bfloat16
    assert gf.bfloat16.as_numpy_dtype is NARROW and gf.bfloat16.is_numpy_compatible
    assert gf.bfloat16 == NARROW and gf.bfloat16.finfo.eps == 2**-7
    assert gf.bfloat16.max == -gf.bfloat16.min == NARROW(3.3895314e38)
    with pytest.raises(AttributeError, match="'nonsense'"):
        _ = gf.bfloat16.nonsense


class OfTensorFlow(gf.test.TestCase):
    """Its measure of closeness."""

    def runTest(self) -> None:
        self.assertAllCloseAccordingToType(np.array([1.0], NARROW), np.array([1.005], "f"))
        with pytest.raises(AssertionError):
            self.assertAllCloseAccordingToType(np.array([1.0], NARROW), np.array([1.03], "f"))


def test_closeness_by_type() -> None:
    OfTensorFlow().runTest()


@pytest.mark.parametrize("tier", ["never", "always"])
def test_the_least_and_the_largest_of_nothing_are_numbers(tier: str) -> None:
    """As in TensorFlow: those of float32 are infinite in bfloat16."""
    largest = 3.3895313892515355e38
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
        data = gf.cast(gf.placeholder(gf.float32, [3]), gf.bfloat16)
        least = gf.unsorted_segment_min(data, [0, 0, 2], 3)
        most = gf.unsorted_segment_max(data, [0, 0, 2], 3)
        both = [gf.cast(least, gf.float64), gf.cast(most, gf.float64)]
        for _ in range(3):
            found = session.run(both, {"Placeholder:0": [2.0, 1.0, -3.0]})
            assert [each.tolist() for each in found] == [[1.0, largest, -3.0], [2.0, -largest, -3.0]]
