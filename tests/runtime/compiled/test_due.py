"""Protects that a plan of fixed bits which NumPy computes quickly does not wait for the compiler at its eighth run."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import cycle
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.runtime.compiled import due
from graphflow._core.session import executable_for
from tests.runtime.compiled.tiers import compiled_plans

BY_ESTIMATE = due.NUMPY_FIRST_SECONDS


@pytest.fixture(autouse=True)
def _estimated(compiled_early: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As outside of the tests."""
    monkeypatch.setattr(due, "NUMPY_FIRST_SECONDS", BY_ESTIMATE)


def _line() -> Any:
    x = gf.placeholder(gf.float32, [None], name="x")
    w = gf.get_variable("w", initializer=0.5)
    loss = gf.reduce_mean(gf.square(x * w - 1.0))
    return gf.train.GradientDescentOptimizer(0.01).minimize(loss), x, w


def _due(build: Callable[[], Any]) -> int:
    """The run at which a plan goes over, found by running it until it was observed."""
    with gf.Graph().as_default():
        fetch = build()
        with gf.Session() as session:
            session.run(gf.global_variables_initializer())
            for _ in range(4):
                session.run(fetch)
            return int(executable_for(session, fetch, []).whole._family.due)


def test_a_thousand_quick_steps_wait_for_no_compiler() -> None:
    with gf.Graph().as_default():
        train, x, _ = _line()
        with gf.Session() as session:
            session.run(gf.global_variables_initializer())
            for _ in range(1000):
                session.run(train, {x: [1.0, 2.0, 3.0]})
            assert compiled_plans(session) == []


@pytest.mark.parametrize(
    "kernel", [gf.erf, gf.digamma, gf.sort, lambda x: gf.igamma(x, x), lambda x: gf.unique(x)[1]]
)
def test_what_takes_long_for_each_element_goes_over_earlier(kernel: Callable[[Any], Any]) -> None:
    """An estimate by bytes alone left erf of 60,000 numbers on NumPy for five seconds."""
    numbers = np.linspace(0.1, 2.0, 60_000, dtype=np.float32)
    assert (
        _due(lambda: kernel(gf.constant(numbers) + gf.get_variable("v", initializer=0.5)))
        < _due(lambda: gf.square(gf.constant(numbers) + gf.get_variable("v", initializer=0.5))) // 3
    )


@pytest.mark.parametrize("resize", [gf.image.resize_bilinear, gf.image.resize_nearest_neighbor])
def test_what_takes_long_for_a_call_goes_over_earlier(resize: Callable[..., Any]) -> None:
    """The gradient of a small image took half a millisecond, and was to stay on NumPy for four thousand runs."""

    def gradient() -> Any:
        image = gf.constant(np.ones((1, 5, 5, 4), np.float32)) + gf.get_variable("v", initializer=0.5)
        return gf.gradients(gf.square(resize(image, [10, 10])), image)[0]

    assert _due(gradient) < 1000


def _small_pool() -> Any:
    image = gf.constant(np.ones((1, 5, 5, 4), np.float32)) + gf.get_variable("v", initializer=0.5)
    return gf.gradients(gf.nn.max_pool(image, [1, 3, 3, 1], [1, 2, 2, 1], "SAME"), image)[0]


def _small_solutions() -> Any:
    lower = gf.constant(np.eye(4, dtype=np.float32)) + gf.get_variable("v", initializer=0.5)
    return gf.matrix_triangular_solve(lower, lower)


def _small_planes() -> Any:
    image = gf.constant(np.ones((1, 5, 5, 4), np.float32)) + gf.get_variable("v", initializer=0.5)
    filters = gf.constant(np.ones((3, 3, 4, 1), np.float32))
    return gf.gradients(gf.square(gf.nn.depthwise_conv2d(image, filters, [1, 1, 1, 1], "SAME")), image)[0]


def _small_sample() -> Any:
    gf.set_random_seed(1)
    return gf.get_variable("v", initializer=0.5) + gf.truncated_normal([4])


@pytest.mark.parametrize("build", [_small_pool, _small_planes, _small_solutions, _small_sample])
def test_a_call_that_makes_many_passes_goes_over_earlier(build: Callable[[], Any]) -> None:
    """Those took 100 to 300 microseconds of small arrays, and were counted as four."""
    assert _due(build) < 3 * _due(_line_alone) // 4


def _line_alone() -> Any:
    v = gf.get_variable("v", initializer=np.ones(4, np.float32))
    return gf.square(v) + gf.abs(v)


def _windows(convolve: Callable[..., Any], window: tuple[int, ...], outputs: int = 16) -> Callable[[], Any]:
    def build() -> Any:
        w = gf.get_variable("w", initializer=np.ones((*window, 16, outputs), np.float32))
        image = gf.constant(np.ones([1, *([12] * len(window)), 16], np.float32))
        return gf.square(convolve(image, w, [1] * (len(window) + 2), "SAME"))

    return build


@pytest.mark.parametrize(("convolve", "window"), [(gf.nn.conv2d, (9, 9)), (gf.nn.conv3d, (3, 3, 3))])
def test_a_convolution_is_counted_as_the_product_that_it_is(
    convolve: Callable[..., Any], window: tuple[int, ...]
) -> None:
    """By the sizes of image, filter and result it was a third of that: the filter is small."""

    def product() -> Any:
        w = gf.get_variable("w", initializer=np.ones((int(np.prod(window)) * 16, 16), np.float32))
        return gf.square(gf.matmul(gf.constant(np.ones([12 ** len(window), w.shape[0]], np.float32)), w))

    assert _due(_windows(convolve, window)) < 2 * _due(product)


def test_of_a_convolution_by_channels_each_element_of_the_window_counts() -> None:
    wide, narrow = [_windows(gf.nn.depthwise_conv2d, window, 1) for window in ((9, 9), (1, 1))]
    assert _due(wide) < _due(narrow) // 3


@pytest.mark.parametrize("share", [0.5, 1.1])
@pytest.mark.parametrize("sizes", [[3], [3, 2, 3, 4]], ids=["one size", "sizes that vary"])
def test_the_plan_of_a_short_program_is_not_made(share: float, sizes: list[int]) -> None:
    """It would take longer than many of its steps; where it goes over it is made before that."""
    with gf.Graph().as_default():
        train, x, _ = _line()
        with gf.Session() as session:
            session.run(gf.global_variables_initializer())
            feeds = cycle([{x: [1.0] * size} for size in sizes])
            for _ in range(4):
                session.run(train, next(feeds))
            tiered = executable_for(session, train, [x]).whole
            runs = int(tiered._family.due)
            assert runs > 100
            for _ in range(int(share * runs)):
                session.run(train, next(feeds))
            assert tiered._family.has_plan == (share > 1) == bool(compiled_plans(session))


@pytest.mark.parametrize("due_at", [8, 9, 40, 4000])
def test_a_plan_is_made_before_it_goes_over(due_at: int) -> None:
    assert 0 <= due.preparing_run(due_at) < due_at
    assert due_at <= 8 or due.preparing_run(due_at) > due_at / 2


def test_plans_are_made_at_once_while_the_cache_is_warmed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(due.WARMING, "1")
    assert due.preparing_run(4000) == 0


def _turned(turns: int) -> Any:
    start = gf.placeholder_with_default(turns, [])
    return gf.while_loop(lambda i: i > 0, lambda i: i - 1, [start])


def test_what_numpy_needs_long_for_goes_over_at_the_eighth_run() -> None:
    def product() -> Any:
        w = gf.get_variable("w", initializer=np.ones([1200, 1200], np.float32))
        return gf.reduce_sum(gf.matmul(w, w))

    assert _due(product) == _due(partial(_turned, 20_000)) == due.FIRST_DUE_RUN


def test_the_more_a_loop_turns_the_earlier() -> None:
    found = [_due(partial(_turned, turns)) for turns in (3, 300, 3000)]
    assert found[0] > found[1] > found[2] >= due.FIRST_DUE_RUN


def test_of_branches_the_one_that_was_taken_counts() -> None:
    def chosen(dear: bool) -> Any:
        v = gf.get_variable("v", initializer=np.ones(300_000))
        wanted = gf.placeholder_with_default(dear, [])
        found = gf.cond(
            wanted, lambda: gf.reduce_sum(gf.exp(gf.sin(v))), lambda: gf.constant(0.0, gf.float64)
        )
        return found + gf.exp(gf.get_variable("w", initializer=np.float64(1)))

    assert _due(partial(chosen, True)) < _due(partial(chosen, False))


def test_the_larger_the_sizes_the_earlier() -> None:
    def summed(rows: int) -> Any:
        return gf.reduce_sum(gf.exp(gf.get_variable("v", initializer=np.ones(rows))))

    found = [_due(partial(summed, rows)) for rows in (10, 10_000, 1_000_000)]
    assert found[0] > found[1] > found[2] >= due.FIRST_DUE_RUN


def _summed_up() -> Any:
    """As `_line`, with a loop that turns once for each number."""
    x = gf.placeholder(gf.float32, [None], name="x")
    w = gf.get_variable("w", initializer=0.5)
    end = [lambda i, s: i < gf.size(x), lambda i, s: (i + 1, s + w * x[i])]
    _, total = gf.while_loop(*end, [gf.constant(0), gf.constant(0.0)])
    return gf.assign_add(w, 1e-6 * total), x, w


@pytest.mark.parametrize(("build", "runs"), [(_line, 20 * 20), (_summed_up, 20 * 50)])
@pytest.mark.parametrize("stop", [3, 12, 17, 25])
def test_it_goes_over_at_the_same_run_where_it_went_on_from_saved_state(
    stop: int, build: Callable[[], Any], runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = [3, 3, 3, 3, *(3 if step % 3 else 700 for step in range(30))]
    monkeypatch.setattr(due, "NUMPY_FIRST_SECONDS", runs * 4.2e-6)
    gone_over: list[list[bool]] = []
    state: Any = None
    for begin in (0, stop):
        with gf.Graph().as_default():
            train, x, w = build()
            with gf.Session() as session:
                session.run(gf.global_variables_initializer())
                if begin:
                    session.store.set_state(state[0])
                    w.load(state[1], session)
                gone_over.append([False] * begin)
                for step, size in enumerate(sizes[begin:], begin):
                    if step == stop and not begin:
                        state = session.store.get_state(), w.eval(session)
                    session.run(train, {x: np.ones(size)})
                    gone_over[-1].append(f"compiled for ({size},)" in session.explain(train, {x: None}))
    assert gone_over[0][stop:] == gone_over[1][stop:]
    first = gone_over[0].index(True)
    assert due.FIRST_DUE_RUN < first < len(sizes)


def _train_on_kept() -> tuple[Any, Any, Any]:
    x = gf.placeholder(gf.float32, [20, 6])
    kept = gf.placeholder(gf.bool, [20])
    hidden = gf.matmul(
        gf.boolean_mask(x, kept), gf.get_variable("w", initializer=np.ones([6, 4], np.float32))
    )
    for _ in range(12):
        hidden = gf.tanh(hidden) + gf.reduce_mean(gf.square(hidden))
    return gf.train.GradientDescentOptimizer(0.01).minimize(gf.reduce_mean(hidden)), x, kept


def test_stages_go_over_at_the_run_at_which_the_plan_would(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its own time each, which is shorter, would stay on NumPy for some times as many runs."""
    monkeypatch.setattr(due, "NUMPY_FIRST_SECONDS", BY_ESTIMATE / 4)
    with gf.Graph().as_default():
        train, x, kept = _train_on_kept()
        with gf.Session() as session:
            session.run(gf.global_variables_initializer())
            feeds = {x: np.ones([20, 6]), kept: np.arange(20) < 9}
            for _ in range(4):
                session.run(train, feeds)
            executable = executable_for(session, train, list(feeds))
            runs = int(executable.whole._family.due)
            assert runs > 40
            for _ in range(4, runs - 1):
                session.run(train, feeds)
            assert executable.whole.worth_cutting is not None
            assert compiled_plans(session) == []
            session.run(train, feeds)
            session.run(train, feeds)
            assert compiled_plans(session)
