"""Protects the rule that a plan on a GPU is not used until it has agreed with NumPy on a run that is done by both."""

from __future__ import annotations

import inspect
import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.codegen.gpu.discovery import Found
from graphflow._core.compiler import lower
from graphflow._core.compiler.gpu import products
from graphflow._core.compiler.reasons import StaysOnNumpy
from graphflow._core.runtime.agreement import replaying, trial, verification
from graphflow._core.runtime.agreement.replaying import replayed
from graphflow._core.runtime.agreement.report import load, save
from tests.runtime.agreement.warned import warned
from tests.runtime.gpu.both_devices import needs_two_gpus, session

pytestmark = [pytest.mark.device, pytest.mark.verified_plans]
RNG = np.random.RandomState


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with gf.Graph().as_default():
        yield


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The outcomes of all verified runs on GPUs."""
    found: list[str] = []

    def watched(*arguments: Any) -> Any:
        outcome = verification.verified_run(*arguments)
        found.append(outcome.verdict.name)
        return outcome

    monkeypatch.setattr(trial, "verified_run", watched)
    return found


def _dense() -> tuple[Any, dict[Any, Any]]:
    x = gf.placeholder(gf.float32, [6, 4])
    w = gf.Variable(RNG(0).randn(4, 3).astype("f"))
    hidden = gf.tanh(gf.matmul(x, w), name="hidden")
    loss = gf.reduce_mean(gf.square(hidden))
    return [loss, hidden, gf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)], {x: RNG(1).randn(6, 4)}


def _random() -> tuple[Any, dict[Any, Any]]:
    gf.set_random_seed(2)
    x = gf.random_normal([4, 3])
    return [x, gf.nn.dropout(x, 0.5), gf.random_uniform([5])], {}


def _unseeded() -> tuple[Any, dict[Any, Any]]:
    x = gf.random_uniform([8])
    return [gf.reduce_sum(gf.square(x) - x * x), gf.cast(gf.floor(x), gf.int32)], {}


def _loop() -> tuple[Any, dict[Any, Any]]:
    x, steps = gf.placeholder(gf.float32, [4]), gf.placeholder(gf.int32, [])
    end = gf.while_loop(lambda i, _: i < steps, lambda i, v: (i + 1, gf.tanh(v) * 1.5), [0, x])[1]
    return [end, gf.gradients(end, x)[0]], {x: RNG(3).randn(4), steps: 3}


def _runs(build: Callable[[], Any], count: int = 4, **options: Any) -> list[Any]:
    with gf.Graph().as_default():
        with gf.device("/gpu:0"):
            fetches, feeds = build()
        with session(**options) as one:
            one.run(gf.global_variables_initializer())
            return [one.run(fetches, feeds) for _ in range(count)]


@pytest.mark.parametrize("build", [_dense, _random, _unseeded, _loop])
def test_a_right_plan_is_trusted_and_its_run_shows_nowhere(
    build: Callable[[], Any], verdicts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    got = _runs(build)
    assert verdicts and set(verdicts) == {"AGREED"}
    verdicts.clear()
    expected = _runs(build, verify_compiled=False)
    assert verdicts == []
    for mine, theirs in zip(got, expected, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            if a is not None:
                np.testing.assert_array_equal(a, b)


@pytest.fixture(autouse=True)
def no_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process writes few files for disagreements, and leaves them to other tests here."""
    monkeypatch.setattr(trial, "report", lambda *_: "")


def _line_of(build: Callable[..., Any], text: str) -> str:
    """Where a function of this file has a text, as messages say it."""
    lines, first = inspect.getsourcelines(build)
    (number,) = [first + k for k, line in enumerate(lines) if text in line]
    return f"test_agreement.py:{number})"


@pytest.fixture
def wrong_tanh(monkeypatch: pytest.MonkeyPatch) -> None:
    plant_wrong_tanh(monkeypatch)


def plant_wrong_tanh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels compute one op a little wrong."""
    right = lower.scalar_text

    def wrong(i: Any, text: str, names: Any) -> str:
        found = right(i, text, names)
        return f"({found}) * 1.01" if i.type == "Tanh" else found

    monkeypatch.setattr(lower, "scalar_text", wrong)


@pytest.fixture
def wrong_product(monkeypatch: pytest.MonkeyPatch) -> None:
    """A transposed matrix is taken as it lies."""
    monkeypatch.setattr(products, "turned", lambda value: value)


@pytest.fixture
def wrong_reduction(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sums go along another axis."""
    right = lower.Lowering.reduction

    def wrong(self: Any, i: Any, kind: str, axes: tuple[int, ...], value: Any, text: str = "{0}") -> None:
        right(self, i, kind, (1 - axes[0],) if axes in ((0,), (1,)) else axes, value, text)

    monkeypatch.setattr(lower.Lowering, "reduction", wrong)


@pytest.mark.faulty_compiler
def test_a_wrong_kernel_is_never_used(
    caplog: pytest.LogCaptureFixture, verdicts: list[str], request: pytest.FixtureRequest
) -> None:
    expected = _runs(_dense)
    request.getfixturevalue("wrong_tanh")
    got = _runs(_dense)
    assert "APART" in verdicts
    for mine, theirs in zip(got, expected, strict=True):
        np.testing.assert_allclose(mine[1], theirs[1], rtol=1e-5, atol=1e-6)
    (line,) = warned(caplog)
    assert "stays on NumPy: compiled code disagrees with NumPy, first at Tanh 'hidden' (built at" in line
    assert _line_of(_dense, "hidden = ") in line
    assert "one kernel with" in line.partition("hidden'")[2]


# ---- where it begins ------------------------------------------------------------------------------------------------


def _layers() -> tuple[Any, dict[Any, Any]]:
    x = gf.placeholder(gf.float32, [4, 4])
    w = gf.Variable(RNG(0).randn(4, 4).astype("f"))
    grown = gf.exp(x * 0.25, name="grown")
    product = gf.matmul(grown, w, transpose_b=True, name="product")
    total = gf.reduce_sum(product, 1, name="total")
    end = gf.matmul(gf.reshape(gf.tanh(total * 0.05, name="end"), [1, 4]), w)
    return [end], {x: RNG(1).randn(4, 4)}


@pytest.mark.faulty_compiler
@pytest.mark.parametrize(
    ("fault", "named", "text"),
    [
        ("wrong_product", "MatMul 'product'", "product = "),
        ("wrong_reduction", "Sum 'total'", "total = "),
        ("wrong_tanh", "Tanh 'end'", "end = "),
    ],
)
def test_the_kernel_where_it_begins_is_named(
    fault: str, named: str, text: str, caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest
) -> None:
    request.getfixturevalue(fault)
    _runs(_layers)
    (line,) = warned(caplog)
    assert f"first at {named} (built at " in line and _line_of(_layers, text) in line


def _chain() -> tuple[Any, dict[Any, Any]]:
    value = x = gf.placeholder(gf.float32, [8, 8])
    w = gf.Variable(RNG(0).randn(8, 8).astype("f") * 0.5)
    for k in range(6):
        value = gf.matmul(gf.exp(value * 0.25, name=f"grown{k}"), w, name=f"product{k}")
    return [value], {x: RNG(1).randn(8, 8)}


@pytest.mark.faulty_compiler
@pytest.mark.parametrize("wrong", range(6))
def test_values_are_read_before_others_lie_in_their_place(
    wrong: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The values of a chain share two places."""
    right = lower.scalar_text
    monkeypatch.setattr(
        lower,
        "scalar_text",
        lambda i, text, names: right(i, text, names) + (" * 1.01" if i.name == f"grown{wrong}" else ""),
    )
    _runs(_chain)
    (line,) = warned(caplog)
    assert f"first at Exp 'grown{wrong}' (built at " in line


@pytest.mark.faulty_compiler
@pytest.mark.usefixtures("wrong_tanh")
def test_work_that_shares_a_launch_is_named_beside_it(caplog: pytest.LogCaptureFixture) -> None:
    def build() -> Any:
        x, y = gf.placeholder(gf.float32, [5]), gf.placeholder(gf.float32, [7])
        return [gf.exp(x, name="right"), gf.tanh(y, name="wrong")], {x: RNG(0).randn(5), y: RNG(1).randn(7)}

    _runs(build)
    (line,) = warned(caplog)
    assert "first at Tanh 'wrong' (built at " in line and "one kernel with Exp 'right'" in line


@pytest.mark.faulty_compiler
@pytest.mark.usefixtures("wrong_tanh")
def test_memory_that_several_kernels_fill_names_them_all(caplog: pytest.LogCaptureFixture) -> None:
    def build() -> Any:
        x = gf.placeholder(gf.float32, [4, 3])
        parts = [gf.tanh(x, name="part"), gf.matmul(x, gf.ones([3, 5]))]
        return [gf.matmul(gf.concat(parts, 1, name="both"), gf.ones([8, 2]))], {x: RNG(0).randn(4, 3)}

    _runs(build)
    (line,) = warned(caplog)
    assert "first at ConcatV2 'both' (built at " in line
    assert "shares its memory with kernels of Tanh 'part'" in line


def _with_numpy() -> tuple[Any, dict[Any, Any]]:
    x = gf.placeholder(gf.float32, [3, 3])
    whole = gf.matmul(gf.cast(gf.round(x), gf.int32), gf.ones([3, 3], gf.int32), name="whole")
    return [gf.tanh(gf.cast(whole, gf.float32) * 0.1, name="after")], {x: RNG(0).randn(3, 3) * 4}


@pytest.mark.faulty_compiler
@pytest.mark.usefixtures("wrong_tanh")
def test_a_kernel_after_one_of_numpys_is_named(caplog: pytest.LogCaptureFixture) -> None:
    """There is no kernel for products of integers."""
    _runs(_with_numpy, allow_soft_placement=True)
    assert [line for line in warned(caplog) if "first at Tanh 'after' (built at " in line]


@pytest.mark.faulty_compiler
def test_what_numpy_makes_in_between_is_looked_at_too(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What NumPy computes comes to the device wrong."""
    from graphflow._core.codegen.gpu.toolkit import Device

    right = Device.upload

    def wrong(self: Any, target: Any, source: Any, stream: Any = None) -> None:
        right(self, target, source + 1 if source.dtype == np.int32 and source.size == 9 else source, stream)

    monkeypatch.setattr(Device, "upload", wrong)
    _runs(_with_numpy, allow_soft_placement=True)
    assert [line for line in warned(caplog) if "first at MatMul 'whole' (built at " in line]


@pytest.mark.faulty_compiler
def test_a_copy_for_the_host_is_looked_at_too(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What is fetched and lies otherwise on the device is put side by side."""
    right = lower.Lowering.compact

    def wrong(self: Any, i: Any, value: Any) -> Any:
        return right(self, i, replace(value, strides=value.strides[::-1]))

    def build() -> Any:
        x = gf.placeholder(gf.float32, [3, 3])
        return [gf.transpose(gf.exp(x), name="turned")], {x: RNG(0).randn(3, 3)}

    monkeypatch.setattr(lower.Lowering, "compact", wrong)
    _runs(build)
    (line,) = warned(caplog)
    assert "first at Transpose 'turned' (built at " in line


@pytest.mark.faulty_compiler
def test_what_the_gpu_does_in_another_way_is_not_where_it_begins(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Rows that repeat are summed by the number of indices there, and not of different ones."""

    def build() -> Any:
        ids = gf.placeholder(gf.int32, [5])
        table = gf.Variable(RNG(0).randn(6, 2).astype("f"))
        loss = gf.reduce_sum(gf.square(gf.tanh(gf.gather(table, ids), name="hidden")))
        step = gf.train.AdagradOptimizer(0.1).minimize(loss)
        return [loss, step], {ids: [3, 1, 3, 3, 0]}

    right = lower.scalar_text

    def wrong(i: Any, text: str, names: Any) -> str:
        return right(i, text, names) + (" * 1.25" if i.name.startswith("gradients/hidden_grad/") else "")

    monkeypatch.setattr(lower, "scalar_text", wrong)
    _runs(build)
    (line,) = warned(caplog)
    assert "'gradients/hidden_grad/" in line and "Unique" not in line


@pytest.mark.faulty_compiler
@pytest.mark.usefixtures("wrong_tanh")
def test_a_device_region_of_a_loop_names_its_kernel(caplog: pytest.LogCaptureFixture) -> None:
    _runs(_loop)
    lines = warned(caplog)
    assert lines and all("first at " in line and "Tanh 'while/" in line for line in lines)


@pytest.mark.faulty_compiler
def test_launches_of_a_watched_plan_are_not_captured(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    made: list[Any] = []
    from graphflow._core.runtime.gpu.watched import WatchedPlan

    right = WatchedPlan.run

    def watched(self: Any, *arguments: Any) -> Any:
        made.append(self)
        return right(self, *arguments)

    monkeypatch.setattr(WatchedPlan, "run", watched)
    request.getfixturevalue("wrong_tanh")
    captured = Counter[Any]()
    from graphflow._core.codegen.gpu.toolkit import Device

    monkeypatch.setattr(Device, "captured", lambda self, works: captured.update([len(works)]))
    _runs(_chain, verify_compiled=False)
    assert captured and not made
    captured.clear()
    _runs(_dense)
    (plan,) = made
    assert not captured and all(not getattr(s, "captures", False) for s in plan._segments)


def test_a_plan_that_declines_run_after_run_is_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It has never agreed, so that it must not be trusted."""

    def declining(*arguments: Any) -> Any:
        verdict = verification.Verdict.LATER
        return replace(verification.verified_run(*arguments), verdict=verdict, apart=None)

    monkeypatch.setattr(trial, "verified_run", declining)
    with caplog.at_level(logging.INFO, "graphflow"):
        got = _runs(_dense, 8)
    monkeypatch.undo()
    for mine, theirs in zip(got, _runs(_dense, 8), strict=True):
        np.testing.assert_allclose(mine[1], theirs[1], rtol=1e-5, atol=1e-6)
    assert "stays on NumPy: its compiled form could not take the runs" in caplog.text


# ---- the file -------------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path: Path, no_files: None, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files of all disagreements."""
    found: list[str] = []

    def write(replay: Any, known: Any) -> str:
        found.append(str(tmp_path / f"{len(found)}.npz"))
        with open(found[-1], "wb") as file:
            save(file, replay, known)
        return ""

    monkeypatch.setattr(trial, "report", write)
    return found


def _drawn() -> tuple[Any, dict[Any, Any]]:
    gf.set_random_seed(5)
    x = gf.placeholder(gf.float32, [3, 3])
    return [gf.tanh(gf.nn.dropout(x, 0.5) + gf.random_normal([3, 3]), name="drawn")], {x: RNG(1).randn(3, 3)}


@pytest.mark.faulty_compiler
@pytest.mark.parametrize(
    ("build", "named"),
    [(_dense, "'hidden'"), (_drawn, "'drawn'"), (_loop, "'while/"), (_with_numpy, "'after'")],
)
def test_the_file_is_run_by_the_gpu(
    build: Callable[[], Any], named: str, files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as fault:
        plant_wrong_tanh(fault)
        _runs(build, 2, allow_soft_placement=True)
        assert files
        for path in files:
            assert f"Tanh {named}" in str(replayed(load(path), 1))
    for path in files:
        assert replayed(load(path), 1) is None


@pytest.mark.faulty_compiler
@pytest.mark.usefixtures("wrong_product")
def test_a_fault_that_the_cpu_has_not_is_in_the_file(files: list[str]) -> None:
    _runs(_layers, 2)
    assert "MatMul 'product'" in str(replayed(load(files[0]), 1))


@pytest.mark.faulty_compiler
@pytest.mark.usefixtures("wrong_tanh")
def test_a_file_of_a_gpu_says_where_there_is_none(files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    _runs(_dense, 2)
    monkeypatch.setattr(replaying, "found", lambda: Found(problem="No driver."))
    with pytest.raises(StaysOnNumpy, match=r"it is for a GPU\. No driver$"):
        replayed(load(files[0]), 1)


@needs_two_gpus
def test_parts_on_two_gpus_are_judged_each(verdicts: list[str]) -> None:
    x = gf.placeholder(gf.float32, [3])
    with gf.device("/gpu:0"):
        a = gf.sqrt(x) * 2.0
    with gf.device("/gpu:1"):
        b = gf.reduce_sum(a * a)
    with gf.device("/gpu:0"):
        c = a + b
    data = np.array([1.0, 4.0, 9.0], "f")
    with session(device_count={"GPU": 2}) as one:
        for _ in range(4):
            np.testing.assert_allclose(one.run(c, {x: data}), 2 * np.sqrt(data) + 56.0, rtol=1e-6)
    assert len(verdicts) >= 3 and set(verdicts) == {"AGREED"}


@needs_two_gpus
@pytest.mark.faulty_compiler
@pytest.mark.usefixtures("wrong_tanh")
def test_the_kernel_of_a_part_in_the_middle_of_two_gpus_is_named(caplog: pytest.LogCaptureFixture) -> None:
    x = gf.placeholder(gf.float32, [3])
    with gf.device("/gpu:0"):
        a = gf.sqrt(x) * 2.0
    with gf.device("/gpu:1"):
        b = gf.reduce_sum(gf.tanh(a * 0.25, name="wrong")) + a
    with gf.device("/gpu:0"):
        c = gf.exp(b * 0.5)
    data = np.array([1.0, 4.0, 9.0], "f")
    expected = np.exp((np.tanh(np.sqrt(data) * 0.5).sum() + 2 * np.sqrt(data)) * 0.5)
    with session(device_count={"GPU": 2}) as one:
        for _ in range(4):
            np.testing.assert_allclose(one.run(c, {x: data}), expected, rtol=1e-5)
    (line,) = warned(caplog)
    assert "first at Sum 'Sum' (built at " in line and "one kernel with" in line and "Tanh 'wrong'" in line
