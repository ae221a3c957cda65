"""switch and merge of TensorFlow's inside, with which slim's preprocessing chooses one of several functions."""

from __future__ import annotations

import numpy as np
import pytest

import graphflow as gf
from graphflow.as_tensorflow.inside.switches import merge, switch


@pytest.mark.parametrize("taken", [False, True])
def test_the_side_that_is_taken_comes_out(taken: bool) -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        data = gf.constant([1, 2, 3, 4, 5, 6])
        ports = gf.placeholder(gf.bool, [])
        false, true = switch(data, ports)
        output, index = merge([false + 1, true * 10])
        expected = [10, 20, 30, 40, 50, 60] if taken else [2, 3, 4, 5, 6, 7]
        assert output.shape.as_list() == [6]
        found, number = session.run([output, index], {ports: taken})
        assert found.tolist() == expected and number == int(taken)


def test_one_of_several_functions_is_applied_and_no_other_runs() -> None:
    """As apply_with_random_selector of slim's preprocessing does it."""
    called: list[int] = []

    def note(case: int) -> object:
        def function(x: object) -> object:
            called.append(case)
            return np.float32(case) + x  # type: ignore[operator]

        return function

    with gf.Graph().as_default(), gf.Session() as session:
        selector = gf.placeholder(gf.int32, [])
        x = gf.constant([1.0, 2.0])
        sides = [switch(x, gf.equal(selector, case))[1] for case in range(4)]
        results = []
        for case, side in enumerate(sides):
            (value,) = gf.py_func(note(case), [side], [gf.float32])
            value.set_shape([2])
            results.append(value * 2.0)
        output = merge(results)[0]
        for case in (2, 0, 3):
            assert session.run(output, {selector: case}).tolist() == [2.0 * (1 + case), 2.0 * (2 + case)]
        assert called == [2, 0, 3]


def test_a_gradient_goes_through_the_side_that_is_taken() -> None:
    with gf.Graph().as_default(), gf.Session() as session:
        x, pred = gf.placeholder(gf.float32, []), gf.placeholder(gf.bool, [])
        false, true = switch(x, pred)
        output = merge([false * 3.0, true * true]).output
        (gradient,) = gf.gradients(output, x)
        assert session.run(gradient, {x: 5.0, pred: False}) == 3.0
        assert session.run(gradient, {x: 5.0, pred: True}) == 10.0


def test_no_input_may_be_none() -> None:
    with gf.Graph().as_default(), pytest.raises(ValueError, match="merge inputs is None"):
        merge([gf.constant(1), None])


@pytest.mark.parametrize("taken", [False, True])
def test_the_side_that_is_not_taken_has_no_value_and_no_gradient(taken: bool) -> None:
    """As TensorFlow's: a fetch of it is an error, and its gradient is zeros."""
    with gf.Graph().as_default(), gf.Session() as session:
        x, pred = gf.placeholder(gf.float32, [2]), gf.placeholder(gf.bool, [])
        sides = switch(x, pred)
        for number, side in enumerate(sides):
            assert side.shape.as_list() == [2]
            (gradient,) = gf.gradients(side * 3.0, x)
            feeds = {x: [1.0, 2.0], pred: taken}
            if number == taken:
                assert session.run(gf.identity(side), feeds).tolist() == [1.0, 2.0]
                assert session.run(gradient, feeds).tolist() == [3.0, 3.0]
            else:
                with pytest.raises(gf.errors.InvalidArgumentError, match=r"Retval\[0\] does not have value"):
                    session.run(gf.identity(side), feeds)
                assert session.run(gradient, feeds).tolist() == [0.0, 0.0]
