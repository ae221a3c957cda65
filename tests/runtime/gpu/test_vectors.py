"""Protects accesses of four elements at once: they are taken where all operands lie for them and nowhere else, since a
GPU ends the program at an access that is not aligned, and they change no number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.codegen.gpu.vectors import lies_well
from tests.runtime.gpu.both_devices import on_both

pytestmark = pytest.mark.device


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


def texts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels that are launched from now on."""
    from graphflow._core.codegen.gpu.toolkit import Device, Launch

    found: list[str] = []
    launch = Device.launch

    def recording(self: Any, work: Any) -> None:
        if isinstance(work, Launch):
            found.append(work.source)
        launch(self, work)

    monkeypatch.setattr(Device, "launch", recording)
    return found


def agree(build: Callable[[Any], Any], data: np.ndarray) -> None:
    def both() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(data.dtype, data.shape)
        return build(x), {x: data}

    cpu, gpu = on_both(both, 2)
    np.testing.assert_allclose(gpu[1], cpu[1], 2e-6, 2e-6)


def values(shape: tuple[int, ...], dtype: str = "float32") -> np.ndarray:
    rng = np.random.default_rng(3)
    return rng.normal(size=shape).astype(dtype) if dtype.startswith("f") else rng.integers(0, 9, shape, dtype)


WIDE: list[tuple[str, tuple[int, ...], str, Callable[[Any], Any]]] = [
    ("one axis", (8,), "float32", lambda x: x * 2.0),
    ("a rest of three", (43,), "float32", lambda x: gf.exp(x) + x),
    ("one axis of four", (4,), "int32", lambda x: x + 1),
    ("doubles", (9,), "float64", lambda x: x * x),
    ("bytes", (13,), "int8", lambda x: x + x),
    ("truth values", (11,), "float32", lambda x: gf.cast(gf.logical_not(x > 0.0), gf.int32)),
    ("a row repeated", (3, 8), "float32", lambda x: gf.nn.relu(x + gf.constant(values((8,))))),
    ("a column repeated", (3, 8), "float32", lambda x: x + gf.constant(values((3, 1)))),
    ("columns from a multiple of four on", (3, 12), "float32", lambda x: x[:, 4:8] * 2.0),
    ("rows from any on", (5, 8), "float32", lambda x: gf.exp(x[1:3])),
    ("a sum", (41,), "float32", lambda x: gf.reduce_sum(x * 2.0)),
    ("a sum of two rounds", (70,), "float32", gf.reduce_sum),
    ("sums of rows", (5, 36), "float32", lambda x: gf.reduce_sum(gf.square(x), 1)),
    ("the largest of rows", (3, 8), "int16", lambda x: gf.reduce_max(x, 1)),
    ("sums over the outer axes", (3, 2, 8), "float32", lambda x: gf.reduce_mean(x, [0, 2])),
    ("whether any is", (3, 8), "float32", lambda x: gf.reduce_any(x > 1.5, 1)),
    ("a sum with its terms", (3, 8), "float32", lambda x: gf.reduce_sum(x - gf.reduce_mean(x, 1, True), 1)),
]
NARROW: list[tuple[str, tuple[int, ...], Callable[[Any], Any]]] = [
    ("rows of three", (4, 3), lambda x: x + gf.constant(values((3,)))),
    ("from the second element on", (9,), lambda x: x[1:] * 2.0),
    ("columns from the second on", (3, 12), lambda x: x[:, 1:5] * 2.0),
    ("rows of twelve that are nine apart", (3, 9), lambda x: x[:, :8] * 2.0),
    ("every second", (16,), lambda x: x[::2] * 2.0),
    ("backwards", (8,), lambda x: gf.reverse(x, [0]) * 2.0),
    ("turned", (4, 8), lambda x: gf.transpose(x) * 2.0),
    ("a sum of rows of three", (4, 3), lambda x: gf.reduce_sum(x, 1)),
    ("sums over columns", (12, 8), lambda x: gf.reduce_sum(x, 0)),
]


@pytest.mark.parametrize("shape, dtype, build", [w[1:] for w in WIDE], ids=[w[0] for w in WIDE])
def test_four_at_once(
    shape: tuple[int, ...], dtype: str, build: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    launched = texts(monkeypatch)
    agree(build, values(shape, dtype))
    assert any("load4(" in text for text in launched)


@pytest.mark.parametrize("shape, build", [n[1:] for n in NARROW], ids=[n[0] for n in NARROW])
def test_where_four_do_not_lie_side_by_side(
    shape: tuple[int, ...], build: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    launched = texts(monkeypatch)
    agree(build, values(shape))
    assert launched
    assert not any("load4(" in text for text in launched)


def test_updates_of_parameters_are_taken_by_fours(monkeypatch: pytest.MonkeyPatch) -> None:
    launched = texts(monkeypatch)

    def build() -> tuple[Any, dict[Any, Any]]:
        w = gf.Variable(values((3, 4)))
        b = gf.Variable(values((7,)))
        loss = gf.reduce_sum(gf.square(w)) + gf.reduce_sum(gf.square(b))
        train = gf.train.AdamOptimizer(0.1).minimize(loss)
        with gf.control_dependencies([train]):
            return gf.reduce_sum(w + 0.0) + gf.reduce_sum(b + 0.0), {}

    cpu, gpu = on_both(build)
    np.testing.assert_allclose(gpu, cpu, 1e-5)
    assert any("load4(" in text and "store4(p" in text for text in launched)


def test_what_lies_well() -> None:
    block = np.zeros(64, np.uint8)
    start = -block.ctypes.data % 16
    assert lies_well(block[start:].view(np.uint8), 4, [8])
    assert not lies_well(block[start:], 2, [8])
    assert not lies_well(block[start:], 0, [6])
    doubles = block[start : start + 32].view(np.float64)
    assert lies_well(doubles, 2, [])
    assert not lies_well(doubles, 1, [])
    assert not lies_well(block[start + 4 : start + 20].view(np.float32), 0, [])
