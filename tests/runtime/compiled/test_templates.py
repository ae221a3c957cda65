"""Protects plans that are filled in for new sizes: they are, word for word, what would have been made for these.

The sizes are those at which code goes another way: none, one, small ones, and those around a power of two.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.codegen.cpu.programs.machine_source import CONTROL_WORDS
from graphflow._core.runtime.compiled import template
from graphflow._core.runtime.compiled.filling import Filling
from tests.runtime.compiled.tiers import flat

RNG = np.random.RandomState
SIZES = (0, 1, 2, 3, 7, 64, 65)
Program = Callable[[], tuple[Any, Callable[[int, int], dict[Any, Any]]]]


def _normal(*shape: int) -> Any:
    return RNG(sum(shape)).randn(*shape).astype("f")


def _trained(loss: Any) -> list[Any]:
    return [loss, gf.train.MomentumOptimizer(0.01, 0.9).minimize(loss)]


def broadcasting() -> Any:
    x, y = gf.placeholder(gf.float32, [None, 1, 5]), gf.placeholder(gf.float32, [None, 1])
    w = gf.get_variable("w", [5])
    mixed = gf.tanh(x * w) + gf.exp(-gf.square(y))
    return [mixed, gf.reduce_sum(mixed, [0, 2])], lambda n, m: {x: _normal(n, 1, 5), y: _normal(m, 1)}


def reshaping() -> Any:
    x = gf.placeholder(gf.float32, [None, None, 6])
    rows = gf.shape(x)[0]
    flat_one = gf.reshape(gf.tanh(x) * 2.0, [rows, -1])
    pairs = gf.reshape(x, [-1, 2, 3])
    turned = gf.transpose(gf.reshape(x + 1.0, [rows, gf.shape(x)[1] * 2, 3]), [2, 0, 1])
    return [
        flat_one,
        gf.reduce_max(pairs, 2) * 3.0,
        gf.sigmoid(turned),
        gf.squeeze(gf.expand_dims(x, 1)[:, :, :, :2], 1) + 1.0,
    ], lambda n, m: {x: _normal(n, m, 6)}


def joining() -> Any:
    x, y = gf.placeholder(gf.float32, [None, 4]), gf.placeholder(gf.float32, [None, 4])
    joined = gf.concat([gf.tanh(x), y, x * 0.5], 0)
    left, right = gf.split(joined * 2.0, 2, 1)
    parts = gf.unstack(gf.sigmoid(joined), 4, 1)
    return [joined, left - right, gf.stack(parts[::-1], 1), gf.tile(y, [2, 1]) + 1.0], lambda n, m: {
        x: _normal(n, 4),
        y: _normal(m, 4),
    }


def gathering() -> Any:
    ids, x = gf.placeholder(gf.int32, [None]), gf.placeholder(gf.float32, [None, 3])
    table = gf.get_variable("table", [9, 3])
    rows = gf.gather(table, ids)
    loss = gf.reduce_sum(gf.square(rows)) + gf.reduce_sum(gf.tanh(x))
    step = gf.train.GradientDescentOptimizer(0.01).minimize(loss)
    return [gf.nn.softmax(x), rows * 2.0, loss, step], lambda n, m: {
        ids: RNG(n).randint(0, 9, n),
        x: _normal(m, 3),
    }


def reducing() -> Any:
    x = gf.placeholder(gf.float32, [None, None])
    mean, variance = gf.nn.moments(x, [0])
    return [
        gf.reduce_mean(gf.square(x)),
        gf.reduce_sum(x * 2.0, 1),
        gf.reduce_max(gf.tanh(x), 0),
        mean + variance,
        gf.reduce_logsumexp(x, 1),
        gf.size(x) * 2,
    ], lambda n, m: {x: _normal(n, m)}


def slicing() -> Any:
    x = gf.placeholder(gf.float32, [None, None, 2])
    total = gf.shape(x)[0]
    return [
        x[1:] * 2.0 + x[:-1],
        gf.tanh(x[::2]),
        gf.exp(-gf.square(x[:, ::-1])),
        gf.sigmoid(x[: total // 2]) + 1.0,
        gf.reverse(x, [0]) * 3.0,
    ], lambda n, m: {x: _normal(n, m, 2)}


def layers() -> Any:
    x, labels = gf.placeholder(gf.float32, [None, 6, 6, 1]), gf.placeholder(gf.int64, [None])
    hidden = gf.layers.max_pooling2d(gf.layers.conv2d(x, 2, 3, activation=gf.nn.relu), 2, 2)
    logits = gf.layers.dense(gf.layers.flatten(hidden), 3)
    loss = gf.losses.sparse_softmax_cross_entropy(labels, logits)
    return [logits, *_trained(loss)], lambda n, m: {x: _normal(n, 6, 6, 1), labels: RNG(n).randint(0, 3, n)}


def products() -> Any:
    x = gf.placeholder(gf.float32, [None, None, 4])
    w = gf.get_variable("w", [4, 4])
    scores = gf.nn.softmax(gf.matmul(x, gf.tensordot(x, w, 1), transpose_b=True))
    return [scores, *_trained(gf.reduce_mean(gf.square(gf.matmul(scores, x))))], lambda n, m: {
        x: _normal(n, m, 4)
    }


def unrolled() -> Any:
    x = gf.placeholder(gf.float32, [None, 5, 3])
    outputs, _ = gf.nn.static_rnn(gf.nn.rnn_cell.BasicLSTMCell(4), gf.unstack(x, 5, 1), dtype=gf.float32)
    return [outputs[-1], *_trained(gf.reduce_mean(gf.square(outputs[-1])))], lambda n, m: {
        x: _normal(n, 5, 3)
    }


def looping() -> Any:
    x = gf.placeholder(gf.float32, [None, 4])
    _, total = gf.while_loop(lambda k, _: k < gf.shape(x)[0], lambda k, v: (k + 1, gf.tanh(v) + 1.0), [0, x])
    return [total, gf.reduce_sum(total)], lambda n, m: {x: _normal(n, 4)}


PROGRAMS: dict[Program, bool] = {
    broadcasting: True,
    reshaping: True,
    joining: True,
    gathering: True,
    reducing: True,
    slicing: True,
    layers: True,
    products: True,
    unrolled: True,
    looping: False,
}
"""Programs, and whether plans of theirs are filled in."""


def _order(seed: int, count: int = 30) -> list[tuple[int, int]]:
    chance = random.Random(seed)
    return [(7, 3)] * 9 + [(chance.choice(SIZES), chance.choice(SIZES)) for _ in range(count)]


def _ran(program: Program, order: list[tuple[int, int]], mode: str) -> list[list[Any]]:
    with gf.Graph().as_default():
        gf.set_random_seed(3)
        fetches, fed = program()
        with gf.Session(config=gf.ConfigProto(compiled=mode)) as session:
            session.run(gf.global_variables_initializer())
            found = []
            for sizes in order:
                try:
                    found.append(flat(session.run(fetches, fed(*sizes))))
                except gf.errors.InvalidArgumentError as error:
                    found.append([np.array(type(error).__name__)])
            return found


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
@pytest.mark.parametrize("program", PROGRAMS)
def test_any_sizes_in_any_order_give_what_numpy_gives(
    program: Program, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled: list[bool] = []
    give = Filling.template

    def noted(self: Filling, shapes: Any) -> Any:
        template = give(self, shapes)
        if template is not None:
            filled.append(template.is_right(shapes))
        return template

    monkeypatch.setattr(Filling, "template", noted)
    order = _order(seed)
    expected = _ran(program, order, "never")
    _agree(order, _ran(program, order, "always"), expected)  # This waits for all kernels.
    _agree(order, _ran(program, order, "auto"), expected)
    assert all(filled) and bool(filled) == PROGRAMS[program]


def _agree(order: list[tuple[int, int]], found: list[list[Any]], expected: list[list[Any]]) -> None:
    for sizes, mine, theirs in zip(order, found, expected, strict=True):
        for one, other in zip(mine, theirs, strict=True):
            assert one.dtype == other.dtype and one.shape == other.shape, sizes
            if one.dtype.kind == "f":
                np.testing.assert_allclose(one, other, rtol=1e-4, atol=2e-5, err_msg=str(sizes))
            else:
                np.testing.assert_array_equal(one, other, str(sizes))


def test_addresses_are_known_in_a_heap_that_lies_low(monkeypatch: pytest.MonkeyPatch) -> None:
    # As in Debian's and Ubuntu's Python, in which no template was found right, and the log warned of it.
    def program(*words: int) -> Any:
        return SimpleNamespace(words=np.array([0] * CONTROL_WORDS + list(words)))

    first = program(7, 0x15000010, 1 << 46)
    begin, end = template._heap()
    assert 0 <= begin <= end
    monkeypatch.setattr(template, "_heap", lambda: (0x15000000, 0x16000000))
    assert template._same_words(first, program(7, 0x15FFFF00, 1 << 45))
    for others in ((8, 0x15000010, 1 << 46), (7, 5, 1 << 46), (7, 0x16000000, 1 << 46), (7, 0x15000010, 5)):
        assert not template._same_words(first, program(*others))
    monkeypatch.setattr(template, "_heap", lambda: (0, 0))
    assert not template._same_words(first, program(7, 0x15FFFF00, 1 << 46))
