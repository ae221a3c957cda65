"""Protects what several nodes become together: sums of products, convolutions with bias and relu, pools with relu.

Every case is compared with the NumPy tier, and what is combined is said by the groups of the plan, so that a rule
that silently stops to apply fails too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.compiled.tiers import check

RNG = np.random.RandomState


def _matrix(seed: int, *shape: int) -> Any:
    return RNG(seed).randn(*shape).astype("f") * 0.3


@pytest.mark.parametrize("count", [2, 16, 17, 40])
def test_sums_of_any_length(count: int) -> None:
    def model() -> Any:
        x = gf.placeholder(gf.float32, [3, 5])
        return gf.add_n([x * float(k) for k in range(count)]), {x: _matrix(0, 3, 5)}

    check(model)


def test_two_products_are_added_in_one_block() -> None:
    def model() -> Any:
        x, h = gf.placeholder(gf.float32, [8, 7]), gf.placeholder(gf.float32, [8, 5])
        a, b = gf.Variable(_matrix(1, 7, 6)), gf.Variable(_matrix(2, 5, 6))
        return gf.tanh(gf.matmul(x, a) + gf.matmul(h, b)), {x: _matrix(3, 8, 7), h: _matrix(4, 8, 5)}

    groups = check(model)
    assert [g for g in groups if "Add" in g] == [], groups


def test_a_product_that_is_used_twice_is_not_changed_by_the_sum() -> None:
    def model() -> Any:
        x = gf.placeholder(gf.float32, [8, 7])
        a, b = gf.Variable(_matrix(1, 7, 6)), gf.Variable(_matrix(2, 7, 6))
        first = gf.matmul(x, a)
        return [first + gf.matmul(x, b), first], {x: _matrix(3, 8, 7)}

    check(model)


def test_a_product_that_is_fetched_is_not_changed_by_the_sum() -> None:
    def model() -> Any:
        x = gf.placeholder(gf.float32, [4, 4])
        first, second = gf.matmul(x, x), gf.matmul(x, gf.transpose(x))
        return [second, first + second + gf.matmul(x, x + 1.0)], {x: _matrix(3, 4, 4)}

    check(model)


@pytest.mark.parametrize("steps", [2, 3, 6])
def test_the_gradient_of_an_unrolled_cell_is_one_product(steps: int) -> None:
    def model() -> Any:
        x = gf.placeholder(gf.float32, [4, steps, 3])
        w, u = gf.Variable(_matrix(1, 3, 8)), gf.Variable(_matrix(2, 8, 8))
        h = gf.zeros([4, 8])
        for t in range(steps):
            h = gf.tanh(gf.matmul(x[:, t, :], w) + gf.matmul(h, u))
        loss = gf.reduce_sum(h * h)
        return [gf.train.GradientDescentOptimizer(0.1).minimize(loss), loss], {x: _matrix(5, 4, steps, 3)}

    groups = check(model)
    if steps >= 3:
        forward, through_time = 2 * steps, steps - 1
        products = [g for g in groups if g == "MatMul"]
        assert len(products) == forward + through_time, groups


def test_a_sum_of_products_and_others() -> None:
    def model() -> Any:
        x = gf.placeholder(gf.float32, [6, 4])
        w = gf.Variable(_matrix(1, 6, 5))
        terms = [gf.matmul(x, w * float(k + 1), transpose_a=True) for k in range(4)]
        other = gf.constant(_matrix(2, 4, 5))
        return gf.add_n([terms[0], other, *terms[1:]]), {x: _matrix(3, 6, 4)}

    check(model)


@pytest.mark.parametrize("bias", ["", "bias_add", "plus"])
@pytest.mark.parametrize("relu", [False, True])
def test_a_convolution_with_what_follows_it(bias: str, relu: bool) -> None:
    def model() -> Any:
        x = gf.placeholder(gf.float32, [2, 6, 6, 3])
        w, b = gf.Variable(_matrix(1, 3, 3, 3, 4)), gf.Variable(_matrix(2, 4))
        y = gf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME")
        y = gf.nn.bias_add(y, b) if bias == "bias_add" else y + b if bias else y
        y = gf.nn.relu(y) if relu else y
        loss = gf.reduce_sum(y * y)
        return [gf.train.GradientDescentOptimizer(0.01).minimize(loss), loss, y], {x: _matrix(3, 2, 6, 6, 3)}

    groups = check(model, tolerance=1e-4)
    assert ("Conv2D" in groups) == (not bias and not relu), groups


def test_a_convolution_that_others_use_keeps_its_own_result() -> None:
    def model() -> Any:
        x = gf.placeholder(gf.float32, [2, 5, 5, 2])
        y = gf.nn.conv2d(x, gf.Variable(_matrix(1, 3, 3, 2, 4)), [1, 2, 2, 1], "VALID")
        return [gf.nn.relu(y), gf.reduce_sum(y)], {x: _matrix(2, 2, 5, 5, 2)}

    check(model)


def test_the_gradient_of_a_pool_takes_in_that_of_the_relu() -> None:
    def model() -> Any:
        x = gf.placeholder(gf.float32, [2, 6, 6, 3])
        w = gf.Variable(_matrix(1, 3, 3, 3, 4))
        h = gf.nn.relu(gf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME"))
        loss = gf.reduce_sum(gf.nn.max_pool(h, [1, 2, 2, 1], [1, 2, 2, 1], "SAME") ** 2)
        return [gf.train.GradientDescentOptimizer(0.01).minimize(loss), loss], {x: _matrix(2, 2, 6, 6, 3)}

    groups = check(model)
    assert "MaxPoolGrad" not in groups, groups
    assert "ReluGrad" in groups, groups


@pytest.mark.parametrize("axis", [0, 1])
def test_parts_of_a_concatenation_are_written_where_they_belong(axis: int) -> None:
    def model() -> Any:
        x = gf.placeholder(gf.float32, [4, 4])
        parts = [gf.tanh(x), x * 2.0, gf.exp(x), x - 1.0]
        return gf.concat(parts, axis), {x: _matrix(1, 4, 4)}

    assert len(check(model)) == 1


@pytest.mark.parametrize("count", [2, 3, 5, 16, 17])
@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 1, 3, 4), (6, 4), (1, 6, 4), (2, 3, 2, 2)])
def test_sums_of_products_are_right_in_any_shape_in_which_they_are_seen(
    count: int, shape: tuple[int, ...]
) -> None:
    """The gradient of an activation that several dense layers take: products as matrices, added as `shape`."""

    def model() -> Any:
        x = gf.placeholder(gf.float32, shape)
        h = gf.tanh(x)
        rows = gf.reshape(h, [-1, 4])
        weights = [gf.Variable(_matrix(k, 4, 5)) for k in range(count)]
        losses = [gf.reduce_sum(gf.tanh(gf.matmul(rows, w))) for w in weights]
        each = [gf.gradients(loss, h)[0] for loss in losses]
        return [gf.add_n(each), *gf.gradients(losses, [x, *weights])], {x: _matrix(50, *shape)}

    check(model)


def test_terms_of_a_sum_may_be_products_of_other_forms() -> None:
    def model() -> Any:
        x, y = gf.placeholder(gf.float32, [6, 4]), gf.placeholder(gf.float32, [8, 3])
        a, b = gf.Variable(_matrix(1, 4, 4)), gf.Variable(_matrix(2, 3, 3))
        terms = [gf.reshape(gf.matmul(x, a), [2, 12]), gf.reshape(gf.matmul(y, b), [2, 12])]
        return gf.add_n([*terms, gf.reshape(gf.matmul(x, a, transpose_b=True), [2, 12])]), {
            x: _matrix(3, 6, 4),
            y: _matrix(4, 8, 3),
        }

    check(model)


def test_weight_gradients_of_many_steps_are_seen_in_another_shape() -> None:
    def model() -> Any:
        x = gf.placeholder(gf.float32, [4, 3, 5])
        kernel = gf.Variable(_matrix(1, 1, 5, 6))
        h = gf.reshape(kernel, [5, 6])
        loss = gf.add_n([gf.reduce_sum(gf.tanh(gf.matmul(part, h))) for part in gf.unstack(x)])
        return gf.gradients(loss, [kernel, x]), {x: _matrix(2, 4, 3, 5)}

    check(model)
