"""Protects memory after a failed run: its error holds no frame of the caller's once it was handled.

Otherwise feeds and models of a program that goes on after errors stay until the garbage collector comes by.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf


class _Large:
    """What a caller holds."""


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def _uninitialized(x: Any) -> Any:
    return gf.get_variable("w", initializer=2.0) * x


def _wrong_index(x: Any) -> Any:
    return gf.gather(x, gf.cast(gf.reduce_sum(x), gf.int32) + 100)


def _no_number(x: Any) -> Any:
    return gf.check_numerics(x / 0.0, "no number")


def _function(x: Any) -> Any:
    def fails(value: Any) -> Any:
        raise ZeroDivisionError

    return gf.py_func(fails, [x], gf.float32)


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("compiled", ["never", "always"])
@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("build", [_uninitialized, _wrong_index, _no_number, _function])
def test_what_a_caller_holds_is_free_after_an_error(
    build: Callable[[Any], Any], compiled: str, devices: int
) -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [3])
        with gf.device(f"/cpu:{devices - 1}"):
            fetch = build(x) + 1.0
        config = gf.ConfigProto(compiled=compiled, device_count={"CPU": devices})
        with gf.Session(config=config) as session:
            for _ in range(3):
                assert _freed(lambda: session.run(fetch, {x: np.ones(3, "f")}))


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("build", [_uninitialized, _wrong_index, _function])
def test_it_is_free_after_the_error_of_a_task(build: Callable[[Any], Any]) -> None:
    server = gf.train.Server.create_local_server()
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [3])
        fetch = build(x) + 1.0
        with gf.Session(server.target, config=gf.ConfigProto(tcp_only=True)) as session:
            for _ in range(3):
                assert _freed(lambda: session.run(fetch, {x: np.ones(3, "f")}))


def _freed(fails: Callable[[], Any]) -> bool:
    """Whether what this frame holds is gone with it."""

    def caller() -> weakref.ref[_Large]:
        held = _Large()
        try:
            fails()
        except Exception:
            return weakref.ref(held)
        raise AssertionError("it did not fail")

    return caller()() is None
