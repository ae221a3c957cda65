"""Protects what a GPU says of a NaN or an infinity: the CPU's error, of the first op that finds one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from tests.runtime.gpu.both_devices import on_both, plans, session

pytestmark = pytest.mark.device
RANDOM = np.random.default_rng(11)
BAD: dict[str, dict[int, float]] = {
    "NaN": {4: np.nan},
    "Inf": {0: -np.inf, 5: np.inf},
    "Inf and NaN": {1: np.inf, 18: np.nan},
}


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


def spoiled(kind: str, dtype: str = "f", size: int = 19) -> Any:
    values = RANDOM.normal(size=size).astype(dtype)
    for place, value in BAD[kind].items():
        values[place] = value
    return values


def failures(build: Callable[[], Any], values: list[Any]) -> list[gf.errors.OpError]:
    """The errors of the CPU and of the GPU, which had a plan before."""
    found = []
    for device in ("/cpu:0", "/gpu:0"):
        with gf.Graph().as_default(), gf.device(device):
            inputs = [
                gf.placeholder(gf.as_dtype(v.dtype), v.shape, name=f"x{k}") for k, v in enumerate(values)
            ]
            fetches = build(*inputs)
            with session() as one:
                one.run(gf.global_variables_initializer())
                good = {x: np.ones_like(v) for x, v in zip(inputs, values, strict=True)}
                one.run(fetches, good)
                assert device == "/cpu:0" or not plans(one)[-1].on_host
                with pytest.raises(gf.errors.InvalidArgumentError) as told:
                    one.run(fetches, dict(zip(inputs, values, strict=True)))
                found.append(told.value)
                one.run(fetches, good)
    return found


@pytest.mark.parametrize("shape", [(), (1,), (19,), (3, 1, 7)])
@pytest.mark.parametrize("dtype", ["f", "d"])
def test_what_is_finite_is_handed_on(shape: tuple[int, ...], dtype: str) -> None:
    value = np.asarray(RANDOM.normal(size=shape), dtype)

    def build() -> tuple[Any, dict[Any, Any]]:
        x = gf.placeholder(gf.as_dtype(value.dtype), shape)
        checked = gf.verify_tensor_all_finite(gf.transpose(x) if shape else x, "not finite")
        whole = gf.check_numerics(x, "not finite")
        return [checked, gf.gradients(gf.square(checked) + 1, x)[0], whole * 2], {x: value}

    cpu, gpu = on_both(build)
    for got, wanted in zip(gpu[-1], cpu[-1], strict=True):
        np.testing.assert_allclose(got, wanted, 1e-6)


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("dtype", ["f", "d"])
def test_the_error_is_the_cpus(kind: str, dtype: str) -> None:
    cpu, gpu = failures(lambda x: gf.check_numerics(x, "of the loss", name="here"), [spoiled(kind, dtype)])
    assert gpu.message == cpu.message
    assert f"CheckNumerics 'here': of the loss : Tensor had {kind} values\nBuilt at " in gpu.message
    assert gpu.op is not None
    assert gpu.op.name == "here"


def test_a_gradient_is_checked() -> None:
    def build(x: gf.Tensor) -> Any:
        return gf.gradients(gf.sqrt(gf.check_numerics(x - 1, "of x")) * 0.0 + gf.check_numerics(x, "x"), x)[0]

    values = np.array([2, 1, 3], "f")
    with gf.device("/gpu:0"):
        x = gf.placeholder(gf.float32, [3])
        fetches = build(x)
    with (
        session() as one,
        pytest.raises(gf.errors.InvalidArgumentError, match="detected in gradient"),
    ):
        one.run(fetches, {x: values})


def test_the_first_that_finds_something_is_told_of() -> None:
    def build(x: gf.Tensor, places: gf.Tensor) -> Any:
        first = gf.check_numerics(gf.log(x), "first")
        second = gf.check_numerics(first * 2, "second")
        return gf.gather(second, gf.cast(second, "int32") * 0 + places), gf.add_check_numerics_ops()

    found = failures(build, [spoiled("NaN"), np.full(19, 77, np.int32)])
    for error in found:
        assert "first : Tensor had NaN" in error.message


def test_an_index_before_it_is_told_of() -> None:
    def build(x: gf.Tensor, places: gf.Tensor) -> Any:
        return gf.check_numerics(gf.gather(x, places) + x[:2], "later")

    for error in failures(build, [spoiled("Inf"), np.array([77, 1], np.int32)]):
        assert "GatherV2" in error.message


def test_a_variable_keeps_its_value_where_a_check_fails() -> None:
    with gf.device("/gpu:0"):
        variable = gf.Variable(np.ones(19, "f"))
        x = gf.placeholder(gf.float32, [19])
        with gf.control_dependencies([gf.check_numerics(x, "of x")]):
            behind = variable.assign_add(gf.ones([19]))
        through = variable.assign_sub(gf.check_numerics(x * 3, "of x") - x)
    with session() as one:
        one.run(gf.global_variables_initializer())
        for update, wanted in ((behind, 2), (through, 0)):
            one.run(update, {x: np.ones(19, "f")})
            with pytest.raises(gf.errors.InvalidArgumentError):
                one.run(update, {x: spoiled("NaN")})
            np.testing.assert_array_equal(one.run(variable), np.full(19, wanted, "f"))


def test_a_checked_variable_is_what_it_was_when_it_was_checked() -> None:
    def build() -> tuple[Any, dict[Any, Any]]:
        variable = gf.Variable(np.arange(5, dtype="f"))
        checked = gf.check_numerics(variable, "of v")
        with gf.control_dependencies([checked]):
            added = variable.assign_add(gf.ones([5]))
        with gf.control_dependencies([added]):
            return [checked + 0.5, gf.identity(added)], {}

    cpu, gpu = on_both(build)
    np.testing.assert_array_equal(gpu, cpu)
