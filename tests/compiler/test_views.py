"""Protects views of views: whatever the order of reversals, transpositions, slices and reshapes, the same elements."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.compiler.values import Value, view_of
from tests.runtime.compiled.tiers import check, run

VIEWS: dict[str, Callable[[Any], Any]] = {
    "first axis reversed": lambda x: gf.reverse(x, [0]),
    "second axis reversed": lambda x: gf.reverse(x, [1]),
    "last axis reversed": lambda x: gf.reverse(x, [2]),
    "sliced backwards": lambda x: x[::-1, :, ::-1],
    "turned": lambda x: gf.transpose(x, [1, 0, 2]),
    "turned round": lambda x: gf.transpose(x, [2, 0, 1]),
    "a part": lambda x: x[:, 1:],
    "an axis more": lambda x: gf.expand_dims(x, 0)[0],
}


@pytest.mark.parametrize("first", VIEWS)
def test_views_of_views(first: str) -> None:
    """Every other after this one, then one of both kinds, and the gradient through all."""

    def model() -> Any:
        x = gf.placeholder(gf.float32, [2, 2, 3])
        base = gf.tanh(x)
        seen = [gf.transpose(view(VIEWS[first](base)), [0, 2, 1])[::-1] for view in VIEWS.values()]
        seen = [v for v in seen if 0 not in v.shape.as_list()]
        loss = gf.add_n([gf.reduce_sum(v * np.arange(v.shape.num_elements()).reshape(v.shape)) for v in seen])
        values = np.random.RandomState(0).randn(2, 2, 3).astype("f")
        return [seen[1], loss, gf.gradients(loss, x)], {x: values}

    check(model, runs=2)


@pytest.mark.parametrize("shape", [(1, 2, 2), (2, 1, 2), (2, 2, 1), (1, 1, 2), (3, 2, 1)])
def test_a_value_walked_backwards_is_found_again(shape: tuple[int, ...]) -> None:
    strides = (shape[1] * shape[2], shape[2], 1)
    for axes in itertools.product((False, True), repeat=3):
        offset = sum((n - 1) * s for n, s, back in zip(shape, strides, axes, strict=True) if back)
        walked = tuple(-s if back else s for s, back in zip(strides, axes, strict=True))
        value = Value("x", "float32", shape, walked, offset)
        found = view_of(value, np.transpose, [None, (2, 0, 1)], 0)
        assert found is not None
        assert found[0].offset == offset
        sizes = [(n, s) for n, s in zip(found[0].shape, found[0].strides, strict=True) if n > 1]
        assert sizes == [(shape[k], walked[k]) for k in (2, 0, 1) if shape[k] > 1]


def _large() -> Any:
    return gf.get_variable("w", initializer=np.random.RandomState(0).rand(300, 400).astype("f"))


def test_a_large_transposed_value_is_copied_once_for_a_kernel_and_once_for_who_gets_it() -> None:
    def model() -> Any:
        return [gf.nn.softmax(_large(), 0)], {}

    check(model)
    _, groups = run(model, "always")
    assert groups == [
        "Softmax",
        "Softmax",
        "Transpose",
    ]  # The first one is the copy that the second one takes.


def test_what_is_handed_out_transposed_is_what_it_was_before_a_later_change() -> None:
    def model() -> Any:
        w = _large()
        before = gf.transpose(w.read_value())
        with gf.control_dependencies([before]):
            step = w.assign_add(gf.ones([300, 400]))
        return [before, gf.transpose(gf.exp(w.read_value())), step.op], {}

    check(model)


def test_what_is_handed_out_transposed_lies_in_order_and_is_the_callers_own() -> None:
    with gf.Graph().as_default(), gf.Session(config=gf.ConfigProto(compiled="always")) as session:
        x = gf.placeholder(gf.float32, [300, 400])
        turned = gf.transpose(gf.exp(x))
        values = np.random.RandomState(1).rand(300, 400).astype("f")
        first, again = (session.run(turned, {x: values}) for _ in range(2))
        assert first.flags.c_contiguous and first.flags.writeable and not np.shares_memory(first, again)
        first[:] = 0
        np.testing.assert_allclose(session.run(turned, {x: values}), np.exp(values).T, rtol=1e-6)
        np.testing.assert_array_equal(again, session.run(turned, {x: values}))
