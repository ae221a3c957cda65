"""Protects Defun: a decorated function builds where it is called, shares its variables, and has the gradient given."""

from __future__ import annotations

from typing import Any

import pytest

import graphflow as gf
from graphflow.as_tensorflow.functions import Defun


def test_calls_share_the_variables_of_the_first() -> None:
    @Defun(gf.float32, gf.float32, func_name="scaled")
    def scaled(x: Any, y: Any) -> Any:
        return x * y * gf.get_variable("factor", [], initializer=gf.constant_initializer(3.0))

    with gf.Graph().as_default(), gf.Session() as session:
        x = gf.constant(2.0)
        total = scaled(x, 1.0) + scaled(x, 10)
        session.run(gf.global_variables_initializer())
        assert session.run([total, *gf.gradients(total, x)]) == [66.0, 33.0]
        assert [variable.op.name for variable in gf.global_variables()] == ["factor"]
        assert total.op.inputs[0].op.name == "scaled"


def test_a_gradient_in_python_is_told_inputs_and_outputs() -> None:
    @Defun(gf.float32, gf.float32, python_grad_func=lambda op, d: (d * op.inputs[1], d * op.outputs[0]))
    def product(x: Any, y: Any) -> Any:
        return x * y

    with gf.Graph().as_default(), gf.Session() as session:
        x, y = gf.constant(2.0), gf.constant(5.0)
        assert session.run(gf.gradients(product(x, y), [x, y])) == [5.0, 10.0]


def test_a_gradient_may_be_another_such_function() -> None:
    @Defun(gf.float32, gf.float32)
    def backward(x: Any, d: Any) -> Any:
        return 7.0 * d

    @Defun(gf.float32, grad_func=backward, shape_func=lambda op: [[4]])
    def forward(x: Any) -> Any:
        return gf.identity(x)

    with gf.Graph().as_default(), gf.Session() as session:
        x = gf.placeholder(gf.float32)
        y = forward(x)
        assert y.shape.as_list() == [4]
        assert session.run(gf.gradients(y, x)[0], {x: [1.0, 2.0, 3.0, 4.0]}).tolist() == [7.0] * 4


def test_dtypes_are_those_of_the_arguments_if_none_are_said() -> None:
    @Defun()
    def doubled(x: Any) -> Any:
        return [x + x, x]

    with gf.Graph().as_default(), gf.Session() as session:
        assert session.run(doubled(gf.constant(3))) == [6, 3]
        assert session.run(doubled(gf.constant(1.5))) == [3.0, 1.5]


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ValueError, match="1 arguments, and 2 input types"):
        Defun(gf.float32, gf.float32)(lambda x: x)
    with pytest.raises(ValueError, match="defaults or keywords"):
        Defun(gf.float32)(lambda x=1: x)
    with (
        gf.Graph().as_default(),
        pytest.raises(ValueError, match="Expected number of arguments: 1, received: 2"),
    ):
        Defun(gf.float32)(lambda x: x)(1.0, 2.0)
    with pytest.raises(ValueError, match="Gradient defined twice"):
        one = Defun(gf.float32)(lambda x: x)
        Defun(gf.float32, grad_func=one, python_grad_func=lambda op, d: d)


def test_the_operation_of_the_results_has_the_name_of_the_call() -> None:
    @Defun(gf.float32, func_name="same")
    def same(x: Any) -> Any:
        return x

    @Defun(gf.float32, func_name="pair")
    def pair(x: Any) -> Any:
        return x + 1.0, x - 1.0

    with gf.Graph().as_default(), gf.Session() as session:
        variable = gf.Variable([18.0])
        calls = [same(variable), same([1.0]), same([2.0], name="mine"), *pair([3.0])]
        with gf.name_scope("my"):
            calls.append(same([5.0], name="precious"))
        names = [call.op.name for call in calls]
        assert names == ["same", "same_1", "mine", "pair", "pair", "my/precious"]
        session.run(variable.initializer)
        assert [value.tolist() for value in session.run(calls)] == [[18.0], [1.0], [2.0], [4.0], [2.0], [5.0]]


@pytest.mark.parametrize("seeds", [None, [1.0]])
def test_the_gradient_of_an_argument_that_is_not_used_is_zeros(seeds: Any) -> None:
    """As TensorFlow's, where a call takes all of its arguments."""

    @Defun(gf.float32, gf.float32)
    def twice(x: Any, y: Any) -> Any:
        return x * 2.0

    with gf.Graph().as_default(), gf.Session() as session:
        x, y = gf.constant(1.0), gf.constant([2.0, 3.0])
        found = session.run(gf.gradients([twice(x, y)], [x, y], grad_ys=seeds))
        assert [value.tolist() for value in found] == [2.0, [0.0, 0.0]]


def test_unknown_arguments_and_names_for_other_results_are_refused() -> None:
    @Defun(gf.float32, out_names=["a", "b"])
    def one(x: Any) -> Any:
        return x * 1.0

    with gf.Graph().as_default():
        with pytest.raises(ValueError, match="Unknown keyword arguments: device, of one"):
            one(1.0, device="/cpu:0")
        with pytest.raises(gf.errors.InvalidArgumentError, match="output names size = 2 outputs size = 1"):
            one(1.0)
