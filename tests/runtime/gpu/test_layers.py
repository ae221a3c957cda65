"""Protects products that take in the bias and the relu after them: one launch instead of several, the same numbers, and
nothing taken in that something else needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.gpu.both_devices import on_both, plans, session

pytestmark = pytest.mark.device


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


def data(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype("f")


def weights(*shape: int) -> Any:
    return gf.Variable(data(*shape))


def convolution(x: Any) -> Any:
    image = gf.reshape(x, [1, 3, 4, 1])
    kernel = gf.constant(data(2, 2, 1, 3))
    return gf.nn.relu(gf.nn.bias_add(gf.nn.conv2d(image, kernel, [1, 1, 1, 1], "VALID"), weights(3)))


def twice(x: Any) -> Any:
    product = gf.matmul(x, weights(4, 5)) + weights(5)
    return [gf.nn.relu(product), gf.reduce_sum(product)]


def updated(x: Any) -> Any:
    """The bias is added before it is changed, as the program says."""
    bias = weights(5)
    layer = gf.nn.relu(gf.matmul(x, weights(4, 5)) + bias)
    with gf.control_dependencies([layer]):
        changed = gf.assign_add(bias, gf.ones([5]))
    return [layer, changed]


LAYERS: list[tuple[str, Callable[[Any], Any], int]] = [
    ("bias and relu", lambda x: gf.nn.relu(gf.matmul(x, weights(4, 5)) + weights(5)), 1),
    ("bias first", lambda x: gf.nn.relu(weights(5) + gf.matmul(x, weights(4, 5))), 1),
    ("bias", lambda x: gf.nn.bias_add(gf.matmul(x, weights(4, 5)), weights(5)), 1),
    ("relu", lambda x: gf.nn.relu(gf.matmul(x, weights(4, 5))), 1),
    ("turned", lambda x: gf.nn.relu(gf.matmul(x, weights(5, 4), transpose_b=True) + weights(5)), 1),
    ("several", lambda x: gf.matmul(gf.reshape(x, [3, 1, 4]), weights(3, 4, 5)) + weights(5), 1),
    ("patches and a product", convolution, 2),
    ("a number for each row", lambda x: gf.matmul(x, weights(4, 5)) + weights(3, 1), 2),
    ("a relu before the bias", lambda x: gf.nn.relu(gf.matmul(x, weights(4, 5))) + weights(5), 2),
    ("doubles", lambda x: gf.nn.relu(gf.matmul(gf.cast(x, gf.float64), gf.ones([4, 5], gf.float64))), 3),
    ("taken twice", twice, 2),
    ("fetched before", lambda x: (lambda p: [p, gf.nn.relu(p)])(gf.matmul(x, weights(4, 5))), 2),
    ("a bias that changes", updated, 2),
]


@pytest.mark.parametrize("build, launches", [layer[1:] for layer in LAYERS], ids=[n[0] for n in LAYERS])
def test_layers(build: Callable[[Any], Any], launches: int) -> None:
    x = data(3, 4)

    def both() -> tuple[Any, dict[Any, Any]]:
        given = gf.placeholder(gf.float32, [3, 4])
        return build(given), {given: x}

    cpu, gpu = on_both(both)
    for got, wanted in zip(gpu, cpu, strict=True):
        several = isinstance(got, list)
        for one, other in zip(got if several else [got], wanted if several else [wanted], strict=True):
            np.testing.assert_allclose(one, other, 1e-5, 1e-6)
    with gf.device("/gpu:0"), session(compiled="never") as one:
        fetches, feeds = both()
        one.run(gf.global_variables_initializer())
        for _ in range(2):
            one.run(fetches, feeds)
        assert plans(one)[-1].launches == launches


def test_gradients_through_layers() -> None:
    def build() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(gf.float32, [3, 4])
        hidden = gf.nn.relu(gf.matmul(x, weights(4, 5)) + weights(5))
        loss = gf.reduce_mean(gf.square(gf.nn.bias_add(gf.matmul(hidden, weights(5, 2)), weights(2))))
        return [loss, gf.train.GradientDescentOptimizer(0.1).minimize(loss)], {x: data(3, 4)}

    cpu, gpu = on_both(build)
    np.testing.assert_allclose([run[0] for run in gpu], [run[0] for run in cpu], 1e-5)


def test_a_relu_lets_what_is_no_number_through() -> None:
    def build() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(gf.float32, [2, 2])
        return gf.nn.relu(gf.matmul(x, gf.ones([2, 3]))), {x: [[np.nan, 1], [-1, 2]]}

    cpu, gpu = on_both(build, 2)
    np.testing.assert_array_equal(gpu[1], [[np.nan] * 3, [1, 1, 1]])
    np.testing.assert_array_equal(gpu[1], cpu[1])


@pytest.mark.parametrize("shape", [(3, 1, 4, 5), (1, 3, 4, 5), (3, 4, 1, 5), (1, 1, 4, 5)])
def test_batches_with_axes_of_one_place(shape: tuple[int, ...]) -> None:
    """The stride of such an axis says nothing, as after the transposition of attention with one head."""

    def build() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(gf.float32, shape)
        seen = gf.transpose(x, [0, 2, 1, 3])
        return gf.matmul(seen, seen, transpose_b=True), {
            x: np.random.RandomState(2).randn(*shape).astype("f")
        }

    cpu, gpu = on_both(build)
    np.testing.assert_allclose(gpu, cpu, 1e-5, 1e-5)
