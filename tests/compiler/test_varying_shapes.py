"""Protects compiled plans from taking a shape that depends on values for one that is known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import compiled_plans

Results = Callable[[Any], list[Any]]


def _of_unique(ids: Any) -> list[Any]:
    unique, places = gf.unique(ids)
    return [gf.shape(unique), gf.size(unique), gf.unsorted_segment_sum(gf.ones([9]), places, gf.size(unique))]


def _of_where(ids: Any) -> list[Any]:
    return [gf.shape(gf.where(ids > 2)), gf.shape(gf.boolean_mask(gf.to_float(ids) * 2.0, ids > 2))]


def _of_made(ids: Any) -> list[Any]:
    made = gf.fill([ids[-1], 2], 1.5)
    return [gf.shape(made), gf.size(gf.range(ids[-1])), gf.reduce_mean(gf.tanh(made), axis=0)]


def _of_part(ids: Any) -> list[Any]:
    part = gf.gather(gf.range(20.0), gf.range(ids[-1]))
    return [gf.size(part * 2.0), gf.shape(gf.reshape(gf.range(12), [ids[-1], -1]))]


def _of_padded(ids: Any) -> list[Any]:
    padded = gf.pad(gf.ones([2, 3]), [[ids[-1], 1], [0, ids[0]]])
    return [gf.shape(padded), gf.tanh(padded), gf.shape(gf.pad(padded, gf.reshape(ids[:4], [2, 2])))]


def _of_floats(ids: Any) -> list[Any]:
    numbers = gf.range(gf.to_float(ids[-1]), 7.5, 0.5)
    return [gf.size(numbers), gf.tanh(numbers)]


@pytest.mark.parametrize("results", [_of_unique, _of_where, _of_made, _of_part, _of_padded, _of_floats])
def test_shapes_that_depend_on_values_are_taken_anew_in_each_run(results: Results) -> None:
    def found(tier: str) -> list[Any]:
        with gf.Graph().as_default():
            ids, x = gf.placeholder(gf.int32, [9]), gf.placeholder(gf.float32, [50])
            fetches = [gf.tanh(x) * 2.0 + 1.0, *results(ids)]
            with gf.Session(config=gf.ConfigProto(compiled=tier)) as session:
                got = [
                    session.run(fetches, {ids: np.resize(np.arange(1, k + 1), 9), x: np.ones(50)})
                    for k in (3, 2, 1, 5, 3)
                ]
                assert bool(compiled_plans(session)) == (tier == "always")
                return got

    for one, other in zip(found("always"), found("never"), strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_allclose(a, b, rtol=2e-6)


def test_the_shape_of_a_variable_of_any_shape() -> None:
    v = gf.Variable(np.ones(3, "f"), validate_shape=False)
    x = gf.placeholder(gf.float32, [50])
    longer = gf.assign(v, gf.ones([gf.size(v) + 1]), validate_shape=False)
    with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        session.run(v.initializer)
        for size in (3, 4, 5, 6):
            assert session.run([gf.shape(v), gf.tanh(x) * 2.0], {x: np.ones(50)})[0].tolist() == [size]
            session.run(longer.op)


def test_gathered_rows_have_as_many_as_were_asked_for_and_stay_native() -> None:
    table, ids = gf.Variable(np.ones([9, 4], "f")), gf.placeholder(gf.int32, [None])
    rows = gf.nn.embedding_lookup(table, ids)
    step = gf.train.GradientDescentOptimizer(0.1).minimize(gf.reduce_mean(gf.square(rows)))
    with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        session.run(gf.global_variables_initializer())
        for _ in range(3):
            session.run(step, {ids: [1, 2, 1]})
        assert compiled_plans(session)
        assert session.run(gf.shape(rows), {ids: [1, 2]}).tolist() == [2, 4]


@pytest.mark.parametrize("devices", [1, 2])
def test_what_is_read_before_a_variable_changes_its_shape(devices: int) -> None:
    v = gf.Variable(np.ones(3, "f"), validate_shape=False)
    x = gf.placeholder(gf.float32, [None])
    assigned = gf.assign(v, x * 2.0, validate_shape=False)
    with gf.device(f"/cpu:{devices - 1}"), gf.control_dependencies([assigned]):
        before, after = gf.tanh(v.value()), gf.tanh(v.read_value())
    with gf.Session(config=gf.ConfigProto(compiled="always", device_count={"CPU": devices})) as session:
        session.run(v.initializer)
        last = 3
        for number in (3, 3, 4, 4, 4, 2, 2, 2, 3, 3, 4, 4):
            found = session.run([before, after], {x: np.ones(number)})
            assert [len(value) for value in found] == [last, number]
            last = number


def test_a_variable_takes_the_shape_of_what_depends_on_values() -> None:
    v = gf.Variable(np.ones(3, "f"), validate_shape=False)
    ids = gf.placeholder(gf.int32, [4])
    assigned = gf.assign(v, gf.tanh(gf.to_float(gf.unique(ids)[0])), validate_shape=False)
    with gf.control_dependencies([assigned]):
        read = [v.read_value() * 2.0, gf.shape(v.read_value())]
    with gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        session.run(v.initializer)
        for fed in ([1, 2, 3, 3], [1, 2, 3, 3], [1, 2, 3, 3], [1, 1, 2, 2], [1, 1, 1, 1], [1, 2, 3, 4]):
            doubled, shape = session.run(read, {ids: fed})
            assert [len(doubled)] == shape.tolist() == [len(set(fed))]
