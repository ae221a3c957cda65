"""Protects get_variable and its scopes: sharing, what an error says (promise 21), threads, templates, partitions.

Names and settings are compared with TensorFlow's by tests/oracle (families variable_scopes and initializers).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.ops.math.math import multiply
from graphflow._core.ops.state.get_variable import (
    create_partitioned_variables,
    get_local_variable,
    get_variable,
)
from graphflow._core.ops.state.initializers import Constant, Ones, Zeros
from graphflow._core.ops.state.partitioning import (
    PartitionedVariable,
    fixed_size_partitioner,
    min_max_variable_partitioner,
    parts,
    variable_axis_size_partitioner,
)
from graphflow._core.ops.state.template import make_template
from graphflow._core.ops.state.variable import Variable
from graphflow._core.ops.state.variable_collections import local_variables, trainable_variables
from graphflow._core.ops.state.variable_proto import VariableSynchronization
from graphflow._core.ops.state.variable_scope import AUTO_REUSE, get_variable_scope, variable_scope
from graphflow._core.session import Session


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as fresh:
        yield fresh


def value_of(tensor: Any) -> Any:
    with Session() as session:
        session.run([v.initializer for v in tensor.graph.get_collection("variables")])
        return session.run(tensor)


def test_promise_21_an_existing_variable_is_reported_with_both_lines_and_what_to_do() -> None:
    with variable_scope("layer"):
        get_variable("weights", [2])
        with pytest.raises(ValueError, match="layer/weights already exists") as caught:
            get_variable("weights", [2])
    message = str(caught.value)
    first = test_promise_21_an_existing_variable_is_reported_with_both_lines_and_what_to_do.__code__.co_firstlineno
    assert f"first defined at {__file__}:{first + 2}" in message
    assert f"again at {__file__}:{first + 4}" in message
    assert "AUTO_REUSE" in message and "reset_default_graph" in message


def test_promise_21_holds_for_shapes_dtypes_and_partitions_too() -> None:
    get_variable("v", [2])
    get_variable("p", [4, 2], partitioner=fixed_size_partitioner(2))
    with variable_scope("", reuse=AUTO_REUSE):
        for shape, dtype, partitioner in (
            ([3], dtypes.float32, None),
            ([2], dtypes.int32, None),
            ([2], dtypes.float32, fixed_size_partitioner(2)),
        ):
            with pytest.raises(ValueError, match=f"first defined at {__file__}:"):
                get_variable("v", shape, dtype, partitioner=partitioner)
        for count in (1, 3):
            with pytest.raises(ValueError, match=f"first defined at {__file__}:"):
                get_variable("p", [4, 2], partitioner=fixed_size_partitioner(count))
    with pytest.raises(ValueError, match=f"first defined at {__file__}:"):
        get_variable("p", [4, 2])


def test_a_name_with_braces_in_an_error_is_only_a_name() -> None:
    with variable_scope("s", reuse=True), pytest.raises(ValueError, match=r"s/\{x\} does not exist"):
        get_variable("{x}", [2])


def test_a_missing_variable_says_where_it_was_asked_for() -> None:
    with variable_scope("s", reuse=True), pytest.raises(ValueError, match=f"s/v does not exist.*{__file__}:"):
        get_variable("v", [2])


def test_the_default_initializer_depends_on_the_dtype() -> None:
    assert get_variable("f", [4, 4]).initial_value.op.inputs[0].op.type == "Mul"
    for dtype in (dtypes.int32, dtypes.bool_, dtypes.string):
        assert not any(value_of(get_variable(f"v_{dtype.name}", [2], dtype)).tolist())
    with pytest.raises(ValueError, match="initializer for variable c of complex64 is required"):
        get_variable("c", [2], dtypes.complex64)


def test_what_an_initializer_may_be() -> None:
    assert value_of(get_variable("value", initializer=[1.0, 2.0])).tolist() == [1.0, 2.0]
    assert value_of(get_variable("type", [2], initializer=Ones)).tolist() == [1.0, 1.0]
    assert get_variable("none", initializer=lambda: np.zeros([3], np.float64)).dtype is dtypes.float64
    two = get_variable("two", [2], initializer=lambda shape, dtype: np.full(shape, 7, dtype.as_numpy_dtype))
    assert value_of(two).tolist() == [7.0, 7.0]
    with pytest.raises(ValueError, match="do not specify shape"):
        get_variable("both", [2], initializer=[1.0, 2.0])
    with pytest.raises(ValueError, match="don't match"):
        get_variable("other", dtype=dtypes.int32, initializer=1.0)
    for shape in (None, [None, 2]):
        with pytest.raises(ValueError, match="shape must be fully defined"):
            get_variable("unknown", shape)


def test_what_is_trained() -> None:
    get_variable("yes", [])
    get_variable("no", [], trainable=False)
    get_variable("on_read", [], synchronization=VariableSynchronization.ON_READ)
    local = get_local_variable("local", [])
    assert [v.op.name for v in trainable_variables()] == ["yes"]
    assert local_variables() == [local]


def test_a_regularizer_inside_a_loss_scope_depends_on_the_variable_alone(graph: Graph) -> None:
    gate = get_variable("gate", []).initializer
    with graph.control_dependencies([gate]):
        get_variable("v", [2], regularizer=lambda v: multiply(v, 2.0))
    (loss,) = graph.get_collection("regularization_losses")
    assert loss.op.control_inputs == [] and loss.name == "v/Regularizer/Mul:0"


def test_threads_have_scopes_of_their_own_and_share_the_variables(graph: Graph) -> None:
    start, found = threading.Barrier(8), []

    def build() -> None:
        with graph.as_default():
            start.wait()
            assert get_variable_scope().name == ""
            with variable_scope("shared", reuse=AUTO_REUSE):
                found.append(get_variable("v", [2]))

    with variable_scope("outer"):
        threads = [threading.Thread(target=build) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 8 and len(set(found)) == 1


def test_a_scope_is_left_when_its_block_raises() -> None:
    with pytest.raises(KeyError), variable_scope("s"):
        raise KeyError
    assert get_variable_scope().name == ""


def test_a_constraint_and_a_custom_getter_are_given_on() -> None:
    asked: list[dict[str, Any]] = []

    def getter(getter: Any, name: str, *args: Any, **kwargs: Any) -> Any:
        asked.append(kwargs)
        return getter(name, *args, **kwargs)

    def clip(value: Tensor) -> Tensor:
        return value

    with variable_scope("s", custom_getter=getter, constraint=clip):
        variable = get_variable("v", [2], initializer=Zeros())
    assert variable.constraint is clip and asked[0]["constraint"] is clip and asked[0]["shape"] == [2]
    with pytest.raises(ValueError, match="not callable"):
        get_variable("w", [2], custom_getter=3)


def test_a_template_shares_its_variables_and_makes_no_new_ones() -> None:
    def scale(x: float) -> Tensor:
        return multiply(x, get_variable("w", [], initializer=Constant(3.0)))

    template = make_template("scale", scale)
    assert template.variables == []
    first, second = template(1.0), template(2.0)
    assert [v.op.name for v in template.trainable_variables] == ["scale/w"]
    assert value_of(first) == 3.0 and value_of(second) == 6.0
    new = make_template("new", lambda: Variable(1.0))
    new()
    with pytest.raises(ValueError, match=r"template 'new' .*made the trainable variables"):
        new()


def test_a_template_that_failed_can_be_called_again() -> None:
    def build(shape: Any) -> Any:
        return get_variable("w", shape)

    template = make_template("t", build)
    with pytest.raises(ValueError):
        template([None])
    assert template([2]) is template([2])


# ---- partitions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("extent", range(1, 9))
@pytest.mark.parametrize("count", range(1, 9))
def test_parts_cover_the_whole_once(extent: int, count: int) -> None:
    whole = np.zeros((2, extent), int)
    for (row, column), (rows, columns) in parts([2, extent], [1, count]) if count <= extent else ():
        whole[row : row + rows, column : column + columns] += 1
    assert count > extent or (whole == 1).all()


def test_a_partitioned_variable_is_its_parts() -> None:
    values = np.arange(14, dtype=np.float32).reshape(7, 2)
    variable = get_variable("v", [7, 2], initializer=Ones(), partitioner=fixed_size_partitioner(3))
    assert isinstance(variable, PartitionedVariable) and len(variable) == 3 and variable.name == "v"
    assert [p.get_save_slice_info().spec for p in variable] == ["7 2 0,3:0,2", "7 2 3,2:0,2", "7 2 5,2:0,2"]
    with Session() as session:
        session.run([part.initializer for part in variable])
        session.run(variable.assign(values))
        assert np.array_equal(session.run(variable.as_tensor()), values)
        session.run(variable.assign_sub([part * 0.5 for part in variable]))
        assert np.array_equal(session.run(multiply(variable, 2.0)), values)
    with pytest.raises(ValueError, match="has 3 parts"):
        variable.assign([1.0])
    with pytest.raises(ValueError, match="Incompatible type"):
        variable.as_graph_tensor(dtypes.int32)


def test_a_partitioned_value_is_cut() -> None:
    variable = create_partitioned_variables(
        [4, 2], [2, 1], np.arange(8.0, dtype=np.float32).reshape(4, 2), name="v"
    )
    assert [v.op.name for v in variable] == ["v/part_0", "v/part_1"]
    assert value_of(variable[1].value()).tolist() == [[4.0, 5.0], [6.0, 7.0]]


@pytest.mark.parametrize(
    ("partitioner", "shape", "counts"),
    [
        (fixed_size_partitioner(3), [7, 2], [3, 1]),
        (fixed_size_partitioner(9, axis=1), [7, 2], [1, 2]),
        (variable_axis_size_partitioner(80), [6, 5], [2, 1]),
        (variable_axis_size_partitioner(80, max_shards=1), [6, 5], [1, 1]),
        (variable_axis_size_partitioner(1, axis=1), [6, 5], [1, 5]),
        (min_max_variable_partitioner(4, 0, 64), [6, 5], [2, 1]),
        (min_max_variable_partitioner(4, 0, 1), [6, 5], [4, 1]),
        (min_max_variable_partitioner(4, 0), [6, 5], [1, 1]),
    ],
)
def test_partitioners(partitioner: Any, shape: list[int], counts: list[int]) -> None:
    assert partitioner(shape=shape, dtype=dtypes.float32) == counts


@pytest.mark.parametrize(
    ("partitioner", "message"),
    [
        (3, "must be callable"),
        (lambda shape, dtype: 3, "must return a sequence"),
        (lambda shape, dtype: [2], "does not match the Variable's rank"),
        (lambda shape, dtype: [0, 1], "zero partitions"),
        (lambda shape, dtype: [2, 2], "only slice a variable along one dimension"),
        (lambda shape, dtype: [9, 1], "too few slices"),
        (fixed_size_partitioner(2, axis=2), "along axis 2"),
    ],
)
def test_a_bad_partitioner_is_an_error(partitioner: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        get_variable("v", [4, 2], partitioner=partitioner)


def test_a_partitioner_needs_a_shape_and_sane_limits() -> None:
    with pytest.raises(ValueError, match="fully defined"):
        get_variable("v", partitioner=fixed_size_partitioner(2))
    for arguments in ((0,), (8, 0, 0), (8, 0, 16, 0)):
        with pytest.raises(ValueError, match="must be positive"):
            variable_axis_size_partitioner(*arguments)
