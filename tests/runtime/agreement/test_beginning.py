"""Protects the place that a warning names: the kernel that went wrong, not one that took its value or wrote over it.

Values are views of others, lie where others lay before, are put together by several kernels, or are variables, which
the next kernel may write over. The same holds for the CPU and a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.compiler import lower
from graphflow._core.runtime.agreement import trial, verification
from graphflow._core.runtime.agreement.bounds import Reach, difference
from tests.runtime.agreement.warned import warned

pytestmark = pytest.mark.faulty_compiler
RNG = np.random.RandomState
DEVICES = ["/cpu:0", pytest.param("/gpu:0", marks=pytest.mark.device)]


@pytest.fixture
def plant(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Has kernels compute the ops of some names a little wrong; `only`: in the first or second of several texts."""

    def planted(*names: str, text: str = "({}) * 1.01", only: int | None = None) -> None:
        right = lower.scalar_text
        calls: dict[str, int] = {}

        def wrong(i: Any, given: str, operands: Any) -> str:
            found = right(i, given, operands)
            if i.name not in names:
                return found
            calls[i.name] = calls.get(i.name, -1) + 1
            return text.format(found) if only is None or calls[i.name] % 2 == only else found

        monkeypatch.setattr(lower, "scalar_text", wrong)

    monkeypatch.setattr(trial, "report", lambda *_: "")
    return planted


def _told(build: Callable[[], tuple[Any, dict[Any, Any]]], device: str, caplog: Any, **options: Any) -> str:
    """The warning of a session that runs what is built."""
    with gf.Graph().as_default():
        with gf.device(device):
            fetches, feeds = build()
        config = gf.ConfigProto(compiled="always", intra_op_parallelism_threads=1, **options)
        with gf.Session(config=config) as session:
            session.run(gf.global_variables_initializer())
            for _ in range(3):
                session.run(fetches, feeds)
    (line,) = warned(caplog)
    return str(line)


def _x(*shape: int) -> tuple[Any, dict[Any, Any]]:
    x = gf.placeholder(gf.float32, shape)
    return x, {x: RNG(1).randn(*shape)}


# ---- views ----------------------------------------------------------------------------------------------------------


def _reshaped() -> Any:
    x, feeds = _x(4, 3)
    return [gf.reshape(gf.tanh(x, name="wrong"), [2, 6], name="view")], feeds


def _turned() -> Any:
    x, feeds = _x(4, 3)
    return [gf.matmul(gf.transpose(gf.tanh(x, name="wrong")), gf.ones([4, 2]))], feeds


def _cut() -> Any:
    x, feeds = _x(4, 3)
    value = gf.tanh(x, name="wrong")
    return [
        gf.matmul(value[1:3, ::-1], gf.ones([3, 2])),
        gf.unstack(value)[3],
        gf.expand_dims(value, 1),
    ], feeds


def _identities() -> Any:
    x, feeds = _x(4, 3)
    value = gf.identity(gf.stop_gradient(gf.identity(gf.tanh(x, name="wrong"))))
    return [gf.matmul(value, gf.ones([3, 2])), gf.identity(value)], feeds


def _in_a_place_of_another() -> Any:
    """Each value lies where one before lay: what is read late is another's."""
    x, feeds = _x(8, 8)
    w = gf.constant(RNG(0).randn(8, 8).astype("f") * 0.5)
    value = gf.matmul(gf.tanh(x, name="wrong"), w)
    for _ in range(5):
        value = gf.matmul(gf.exp(value * 0.25), w)
    return [value], feeds


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("build", [_reshaped, _turned, _cut, _identities, _in_a_place_of_another])
def test_the_maker_of_what_others_view_is_named(
    build: Callable[[], Any], device: str, plant: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    plant("wrong")
    assert "first at Tanh 'wrong' (built at " in _told(build, device, caplog)


# ---- parts ----------------------------------------------------------------------------------------------------------


def _concat() -> Any:
    x, feeds = _x(4, 3)
    parts = [gf.matmul(x, gf.ones([3, 5])), gf.tanh(x, name="wrong"), gf.matmul(x, gf.ones([3, 2]))]
    return [gf.matmul(gf.concat(parts, 1, name="whole"), gf.ones([10, 2]))], feeds


def _stack() -> Any:
    x, feeds = _x(4, 3)
    parts = [gf.tanh(x, name="wrong"), gf.matmul(x, gf.ones([3, 3]))]
    return [gf.reduce_sum(gf.exp(gf.stack(parts, 0, name="whole")), [1, 2])], feeds


def _pad() -> Any:
    x, feeds = _x(4, 3)
    return [
        gf.matmul(gf.pad(gf.tanh(x, name="wrong"), [[1, 1], [0, 2]], name="whole"), gf.ones([5, 2]))
    ], feeds


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("build", [_concat, _stack, _pad])
def test_a_block_of_several_kernels_names_the_wrong_part(
    build: Callable[[], Any], device: str, plant: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    plant("wrong")
    line = _told(build, device, caplog)
    assert " 'whole' (built at " in line and "Tanh 'wrong'" in line


# ---- variables ------------------------------------------------------------------------------------------------------


def _overwritten() -> Any:
    """The variable is written twice after the wrong kernel; what was read in between is wrong."""
    v = gf.Variable(RNG(0).randn(5).astype("f"), name="v")
    x, feeds = _x(5)
    first = gf.assign_add(v, x, name="before").op
    with gf.control_dependencies([first]):
        second = gf.assign_add(v, gf.exp(x), name="wrong").op
    with gf.control_dependencies([second]):
        read = gf.identity(v, name="read")
    with gf.control_dependencies([read]):
        third = gf.assign_add(v, x, name="after").op
    with gf.control_dependencies([third]):
        end = gf.assign(v, gf.zeros([5]), name="end").op
    return [gf.matmul(gf.reshape(read, [1, 5]), gf.ones([5, 2])), end], feeds


def _alone() -> Any:
    """Nobody takes the result of the update."""
    v = gf.Variable(RNG(0).randn(5).astype("f"), name="v")
    x, feeds = _x(5)
    return [gf.assign_sub(v, gf.exp(x), name="wrong").op], feeds


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("build", [_overwritten, _alone])
def test_the_kernel_that_wrote_a_variable_is_named(
    build: Callable[[], Any], device: str, plant: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    plant("wrong")
    assert " 'wrong' (built at " in _told(build, device, caplog).partition("first at Assign")[2]


@pytest.mark.parametrize("device", DEVICES)
def test_of_a_kernel_of_many_scalars_those_are_named_that_the_wrong_one_takes(
    device: str, plant: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    def build() -> Any:
        count = gf.Variable(1.0, name="count")
        x, feeds = _x()
        others = [gf.exp(x * float(k)) for k in range(1, 5)]
        first = gf.assign_add(count, x * 2.0, name="wrong").op
        with gf.control_dependencies([first]):
            read = gf.identity(count)
        with gf.control_dependencies([read]):
            last = gf.assign(count, 3.0).op
        return [gf.add_n(others), read * 2.0, last], feeds

    plant("wrong")
    line = _told(build, device, caplog)
    assert "AssignAdd 'wrong'" in line.partition("Exp")[0]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("only", [0, 1])
def test_any_variable_of_an_optimizer_step_shows_it(
    only: int, device: str, plant: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    def build() -> Any:
        x, feeds = _x(6, 4)
        w = gf.Variable(RNG(0).randn(4, 3).astype("f"), name="w")
        loss = gf.reduce_mean(gf.square(gf.matmul(x, w)))
        return [gf.train.MomentumOptimizer(0.1, 0.9, name="step").minimize(loss)], feeds

    plant("step/update_w/ApplyMomentum", text="({}) * 1.5", only=only)
    assert "first at ApplyMomentum 'step/update_w/ApplyMomentum' (built at " in _told(build, device, caplog)


@pytest.mark.parametrize("device", DEVICES)
def test_a_wrong_gradient_is_no_fault_of_the_step(
    device: str, plant: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    def build() -> Any:
        x, feeds = _x(6, 4)
        w = gf.Variable(RNG(0).randn(4, 3).astype("f"), name="w")
        loss = gf.reduce_mean(gf.matmul(x, gf.exp(w, name="grown")))
        return [gf.train.GradientDescentOptimizer(1e-3, name="step").minimize(loss)], feeds

    plant("gradients/grown_grad/Mul")
    line = _told(build, device, caplog)
    assert "Mul 'gradients/grown_grad/Mul'" in line


# ---- what fails -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
def test_the_kernel_before_the_one_that_fails_is_named(
    device: str, plant: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    """A wrong index is found by the kernel that is to take the row."""

    def build() -> Any:
        x = gf.placeholder(gf.int32, [3])
        table = gf.Variable(RNG(0).randn(6, 2).astype("f"))
        rows = gf.add(x, gf.constant([1, 2, 3]), name="wrong")
        return [gf.gather(table, rows, name="rows")], {x: [0, 1, 2]}

    plant("wrong", text="({}) * 2")
    line = _told(build, device, caplog)
    assert "failed where NumPy does not: InvalidArgumentError" in line
    assert "first at Add" in line and " 'wrong' (built at " in line


# ---- what is handed on ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("other", ["/cpu:1", pytest.param("/gpu:0", marks=pytest.mark.device)])
@pytest.mark.parametrize("device", ["/cpu:0", pytest.param("/gpu:0", marks=pytest.mark.device)])
def test_a_large_result_on_its_way_to_another_device_is_looked_at_too(
    device: str, other: str, plant: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    """It lies in memory of its own, which is given away, and so may a variable be, while the next run changes it."""

    def build() -> Any:
        size = 150 if device.startswith("/cpu") and other.startswith("/cpu") else 6
        x, feeds = _x(size, size)
        v = gf.Variable(RNG(0).randn(size, size).astype("f"))
        large = gf.tanh(x + v, name="wrong")
        step = gf.assign_sub(v, large * 0.1)
        with gf.device(other):
            end = [gf.reduce_sum(large, 1), gf.reduce_sum(step * 0.5, 0), gf.transpose(large)]
        return end, feeds

    plant("wrong")
    line = _told(build, device, caplog, device_count={"CPU": 2})
    assert "first at Tanh 'wrong' (built at " in line


# ---- what rounding explains -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("device", DEVICES)
def test_what_is_no_number_once_it_is_changed_is_not_where_it_begins(
    device: str, plant: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    """Just below 1 there is an angle, and just above there is none: trials of rounding give no number for the sum."""

    def build() -> Any:
        x, feeds = _x(2000)
        edge = gf.placeholder(gf.float32, [20])
        feeds[edge] = np.full(20, np.nextafter(np.float32(1), np.float32(0)))
        total = gf.reduce_sum(gf.exp(x * 0.1)) + gf.reduce_sum(gf.acos(edge))
        return [total, gf.reshape(gf.tanh(x[:6] + total * 0.0, name="wrong"), [2, 3])], feeds

    plant("wrong")
    assert "first at Tanh 'wrong' (built at " in _told(build, device, caplog)


@pytest.mark.parametrize("lost", [True, False])
def test_trials_without_a_number_leave_the_plain_bound(lost: bool) -> None:
    values = RNG(0).randn(50).astype("f") + 3
    reach = Reach(np.zeros(50), np.full(50, lost))
    assert difference("x", values, np.nextafter(values, np.float32(9)), 16.0, spread=reach) is None
    wrong = difference("x", values * np.float32(1.001), values, 16.0, spread=reach)
    assert wrong is not None and wrong.apart == 50


@pytest.mark.parametrize("mine", [np.nan, np.inf])
def test_what_rounding_makes_no_number_may_be_none(mine: float) -> None:
    values = RNG(0).randn(50).astype("f")
    given = values.copy()
    given[7] = mine
    lost = np.zeros(50, bool)
    assert difference("x", given, values, 16.0, spread=Reach(np.zeros(50), lost)) is not None
    lost[7] = True
    assert difference("x", given, values, 16.0, spread=Reach(np.zeros(50), lost)) is None


@pytest.mark.parametrize("device", DEVICES)
def test_one_number_that_a_change_makes_none_does_not_hide_what_rounding_explains(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The norm of all gradients is no number in trials as soon as one gradient is; the others are clipped by it."""
    verdicts: list[str] = []

    def watched(*arguments: Any) -> Any:
        outcome = verification.verified_run(*arguments)
        verdicts.append(outcome.verdict.name)
        return outcome

    monkeypatch.setattr(trial, "verified_run", watched)
    with gf.Graph().as_default():
        with gf.device(device):
            x, feeds = _x(40, 6)
            edge = gf.placeholder(gf.float32, [20])
            feeds[edge] = np.full(20, np.nextafter(np.float32(1), np.float32(0)))
            noise = gf.reduce_sum(gf.exp(x), 1) - gf.reduce_sum(gf.exp(gf.reverse(x, [1])), 1)
            clear, _ = gf.clip_by_global_norm([gf.acos(edge), noise + 1e-9, gf.tanh(x)], 1.0)
        with gf.Session(config=gf.ConfigProto(compiled="always", intra_op_parallelism_threads=1)) as session:
            for _ in range(3):
                session.run(clear, feeds)
    assert set(verdicts) == {"AGREED"}
