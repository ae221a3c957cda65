"""Protects the rule that compiled code is not used until it has agreed with NumPy.

Faults are planted in the compiler; the plan must stay on NumPy, say where the tiers part, and give NumPy's numbers.
Where nothing is wrong, the run that is done twice must show nowhere: no element of a queue is taken twice, no random
number drawn twice, no update done twice, the user's functions are called once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.compiler import lower
from graphflow._core.compiler.reasons import Declines, Disagrees
from graphflow._core.runtime.agreement import bounds, trial, verification
from graphflow._core.runtime.agreement.report import load
from graphflow._core.session import executables
from tests.runtime.agreement.warned import warned

RNG = np.random.RandomState


def _config(**options: Any) -> gf.ConfigProto:
    return gf.ConfigProto(**{"compiled": "always", "intra_op_parallelism_threads": 1, **options})


def _states(session: gf.Session) -> list[Any]:
    return [
        state
        for executable in executables(session)
        for part in executable.parts()
        for state in getattr(part, "_states", {}).values()
    ]


@pytest.fixture
def wrong_tanh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiled code computes one op a little wrong."""
    right = lower.scalar_text

    def wrong(i: Any, text: str, names: Any) -> str:
        found = right(i, text, names)
        return f"({found}) * 1.01" if i.type == "Tanh" else found

    monkeypatch.setattr(lower, "scalar_text", wrong)


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The outcomes of all verified runs."""
    found: list[Any] = []

    def watched(*arguments: Any) -> Any:
        outcome = verification.verified_run(*arguments)
        found.append(outcome.verdict.name)
        return outcome

    monkeypatch.setattr(trial, "verified_run", watched)
    return found


def _dense() -> tuple[list[Any], dict[Any, Any]]:
    x = gf.placeholder(gf.float32, [None, 4], name="x")
    w = gf.Variable(RNG(0).randn(4, 3).astype("f"), name="w")
    with gf.name_scope("layer"):
        hidden = gf.tanh(gf.matmul(x, w), name="hidden")
    loss = gf.reduce_mean(gf.square(hidden), name="loss")
    step = gf.train.GradientDescentOptimizer(0.1).minimize(loss)
    return [loss, step], {x: RNG(1).randn(5, 4).astype("f")}


def _trained(runs: int, **options: Any) -> tuple[list[float], Any, list[Any]]:
    """Losses, final weights and states of some steps."""
    with gf.Graph().as_default():
        fetches, feeds = _dense()
        with gf.Session(config=_config(**options)) as session:
            session.run(gf.global_variables_initializer())
            losses = [float(session.run(fetches, feeds)[0]) for _ in range(runs)]
            return losses, session.run(gf.global_variables()[0]), _states(session)


# ---- what is wrong is found -----------------------------------------------------------------------------------------


@pytest.mark.faulty_compiler
@pytest.mark.usefixtures("wrong_tanh")
def test_a_wrong_kernel_is_never_used(caplog: pytest.LogCaptureFixture) -> None:
    expected = _trained(6, compiled="never")
    losses, weights, states = _trained(6)
    assert losses == expected[0]
    np.testing.assert_array_equal(weights, expected[1])
    assert sum(isinstance(state.reason, Disagrees) for state in states) == 1
    (line,) = warned(caplog)
    assert "first at Mean 'loss' (built at" in line and "test_verification.py" in line
    assert "one kernel with Square 'Square', Tanh 'layer/hidden'" in line
    assert "stays on NumPy" in line and "\n" not in line
    assert "graphflow replay " in line


@pytest.mark.faulty_compiler
@pytest.mark.usefixtures("wrong_tanh")
def test_the_file_holds_what_the_difference_needs(caplog: pytest.LogCaptureFixture) -> None:
    from graphflow._core.runtime.agreement.replaying import replayed

    _trained(3)
    (line,) = warned(caplog)
    path = line.split("graphflow replay ")[1].split(" (")[0]
    recorded = load(path)
    assert sorted(recorded.variables) == ["w:0"]
    np.testing.assert_array_equal(recorded.feeds[0], RNG(1).randn(5, 4).astype("f"))
    assert "Tanh 'layer/hidden'" in str(replayed(recorded, 1))


@pytest.mark.faulty_compiler
@pytest.mark.usefixtures("wrong_tanh")
def test_a_replay_waits_for_kernels_and_not_for_ever(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphflow._core.compiler.compile_job import CompileJob
    from graphflow._core.runtime.agreement.replaying import replayed

    _trained(3)
    (line,) = warned(caplog)
    seconds: list[float] = []
    wait = CompileJob.wait
    monkeypatch.setattr(CompileJob, "wait", lambda job, timeout: (seconds.append(timeout), wait(job, 100.0)))
    replayed(load(line.split("graphflow replay ")[1].split(" (")[0]), 1)
    assert seconds and all(30 <= waited <= 1200 for waited in seconds)


@pytest.mark.faulty_compiler
@pytest.mark.usefixtures("wrong_tanh")
def test_the_file_holds_texts_and_what_functions_gave(caplog: pytest.LogCaptureFixture) -> None:
    from graphflow._core.runtime.agreement.replaying import replayed

    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [3])
        name = gf.py_func(lambda: np.array([b"a", b"longer"], object), [], gf.string)
        words = gf.string_join([gf.constant(["one", "two"]), name])
        told = gf.py_func(lambda v: v + np.float32(1), [x], gf.float32)
        y = gf.tanh(gf.exp(gf.tanh(told) * 0.5) - gf.square(told) * 0.25) + told
        with gf.Session(config=_config()) as session:
            for _ in range(2):
                session.run([y, words], {x: np.ones(3, "f")})
    (line,) = warned(caplog)
    recorded = load(line.split("graphflow replay ")[1].split(" (")[0])
    assert "disagrees" in str(replayed(recorded, 1))


@pytest.mark.faulty_compiler
@pytest.mark.usefixtures("wrong_tanh")
def test_the_wrong_part_of_a_small_update_is_found() -> None:
    """The gradient is wrong by 3 %, the weight after the step by a hundred thousandth."""
    with gf.Graph().as_default():
        w = gf.Variable(np.ones([8], "f"))
        step = gf.train.GradientDescentOptimizer(1e-3).minimize(gf.reduce_sum(gf.tanh(w)))
        with gf.Session(config=_config()) as session:
            session.run(gf.global_variables_initializer())
            for _ in range(3):
                session.run(step)
            reasons = [type(state.reason) for state in _states(session)]
    assert Disagrees in reasons


@pytest.mark.faulty_compiler
def test_compiled_code_that_fails_where_numpy_does_not(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from graphflow._core.runtime.compiled.build import CompiledPlan

    def fail(self: Any, run: Any, feeds: Any) -> Any:
        raise IndexError("nothing\nthere")

    monkeypatch.setattr(CompiledPlan, "run", fail)
    losses, _, _ = _trained(4)
    assert losses == _trained(4, compiled="never")[0]
    (line,) = warned(caplog)
    assert "failed where NumPy does not: IndexError: nothing there" in line


@pytest.mark.usefixtures("wrong_tanh")
def test_it_can_be_switched_off(verdicts: list[Any]) -> None:
    losses, _, states = _trained(3, verify_compiled=False)
    assert verdicts == [] and losses != _trained(3, compiled="never")[0]
    assert any(state.compiled is not None for state in states)


def test_copies_keep_to_their_budget(verdicts: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification, "BUDGET_BYTES", 50)
    expected = _trained(4, compiled="never")[0]
    np.testing.assert_allclose(_trained(4)[0], expected, rtol=1e-5)
    assert verdicts == []
    np.testing.assert_allclose(_trained(4, verify_compiled=True)[0], expected, rtol=1e-5)
    assert set(verdicts) == {"AGREED"}


@pytest.mark.parametrize("verify", ["yes", 1, 0.5])
def test_the_option_is_checked(verify: Any) -> None:
    with pytest.raises(ValueError, match="verify_compiled"):
        gf.ConfigProto(verify_compiled=verify)


# ---- what is right stays as if nothing had happened -----------------------------------------------------------------


def _runs(build: Callable[[], tuple[Any, dict[Any, Any]]], tier_name: str, count: int = 6) -> list[Any]:
    with gf.Graph().as_default():
        fetches, feeds = build()
        with gf.Session(config=_config(compiled=tier_name)) as session:
            session.run(gf.global_variables_initializer())
            return [session.run(fetches, feeds) for _ in range(count)]


def _random() -> Any:
    gf.set_random_seed(3)
    x = gf.random_normal([4, 3]) * 2.0 + gf.random_shuffle(gf.reshape(gf.range(12.0), [4, 3]))
    return [x, gf.nn.dropout(x, 0.5), gf.multinomial(x, 5)], {}


def _counted() -> Any:
    v = gf.Variable(np.zeros(3, "f"))
    counter = gf.Variable(0)
    table = gf.Variable(np.zeros([5, 2], "f"))
    scattered = gf.scatter_add(table, gf.reshape(counter % 5, [1]), [[1.0, 2.0]])
    with gf.control_dependencies([counter.assign_add(1)]):
        return [
            gf.assign_add(v, gf.tanh(v) + 1.0),
            scattered,
            gf.scatter_update(table, [0], [[7.0, 7.0]]),
        ], {}


def _elements() -> Any:
    data = gf.data.Dataset.range(100).map(lambda n: gf.cast(n, gf.float32)).batch(3)
    n = data.make_one_shot_iterator().get_next()
    return [n, gf.tanh(n) * 2.0], {}


def _queue() -> Any:
    queue = gf.FIFOQueue(50, [gf.float32], [[]])
    count = gf.Variable(0.0)
    with gf.control_dependencies([count.assign_add(1.0)]):
        put = queue.enqueue_many([gf.range(3.0) + count])
    with gf.control_dependencies([put]):
        got = queue.dequeue_many(2)
    return [gf.tanh(got) + got, queue.size()], {}


def _arrays() -> Any:
    x = gf.placeholder(gf.float32, [6, 2])
    array = gf.TensorArray(gf.float32, size=6).unstack(x)
    result = gf.while_loop(
        lambda i, a: i < 6,
        lambda i, a: (i + 1, a.write(i, gf.tanh(array.read(i)) + gf.random_uniform([2], seed=4))),
        [0, gf.TensorArray(gf.float32, size=6)],
    )[1].stack()
    return [result, gf.gradients(result, x)[0]], {x: RNG(2).randn(6, 2).astype("f")}


@pytest.mark.parametrize("build", [_random, _counted, _elements, _queue, _arrays])
def test_nothing_is_done_twice(build: Callable[[], Any], verdicts: list[Any]) -> None:
    expected, got = _runs(build, "never"), _runs(build, "always")
    assert set(verdicts) <= {"AGREED"}
    for theirs, mine in zip(expected, got, strict=True):
        for a, b in zip(theirs, mine, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_functions_of_the_user_are_called_once_a_run(verdicts: list[Any]) -> None:
    calls: list[float] = []

    def seen(value: Any) -> Any:
        calls.append(float(value[0]))
        return value + np.float32(len(calls))

    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [3])
        y = gf.tanh(gf.py_func(seen, [gf.tanh(x) * 1.0], gf.float32, stateful=False)) + gf.tanh(x)
        with gf.Session(config=_config()) as session:
            results = [session.run(y, {x: np.ones(3, "f")}) for _ in range(5)]
    assert len(calls) == 5
    expected = [np.tanh(np.tanh(1.0) + k + 1) + np.tanh(1.0) for k in range(5)]
    np.testing.assert_allclose([r[0] for r in results], expected, rtol=1e-5)


def test_summaries_of_floats_are_not_compared_and_other_texts_are(
    verdicts: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tensorboard")
    monkeypatch.setattr(verification, "disagreement", None)  # What differs would call it.

    def build() -> Any:
        x = gf.placeholder(gf.float32, [50, 7])
        y = gf.nn.softmax(gf.tanh(gf.matmul(x, x, transpose_b=True)) * 3.0)
        text = gf.string_join([gf.as_string(gf.reduce_sum(y * y)), gf.constant("a\0")])
        summary = gf.summary.merge(
            [gf.summary.scalar("y", gf.reduce_mean(y * y)), gf.summary.histogram("h", y)]
        )
        return [summary, text, gf.constant(["same", "b\0"]), gf.shape(x)], {
            x: RNG(4).randn(50, 7).astype("f")
        }

    _runs(build, "always", 3)
    assert set(verdicts) == {"AGREED"}


def test_a_comparison_that_fails_leaves_the_run_as_it_is(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, request: pytest.FixtureRequest
) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("no idea")

    request.node.add_marker("faulty_compiler")
    expected = _trained(5, compiled="never")[0]
    monkeypatch.setattr(verification, "differences", fail)
    np.testing.assert_allclose(_trained(5)[0], expected, rtol=1e-5)
    (line,) = warned(caplog)
    assert "could not be compared with NumPy: RuntimeError: no idea" in line


def test_what_is_printed_is_printed_once_a_run(capfd: pytest.CaptureFixture[str]) -> None:
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [3])
        y = gf.tanh(gf.Print(gf.tanh(x), [x], "seen: ")) + gf.tanh(x)
        with gf.Session(config=_config()) as session:
            for _ in range(4):
                session.run(y, {x: np.zeros(3, "f")})
    assert capfd.readouterr().err.count("seen: ") == 4


def test_the_run_that_fails_is_the_programs_own() -> None:
    """The end of the data comes in the very run that would have been verified; the next one is."""
    with gf.Graph().as_default():
        x = gf.placeholder(gf.float32, [2])
        y = gf.tanh(gf.check_numerics(x, "x")) * 2.0
        good, bad = np.ones(2, "f"), np.array([1, np.nan], "f")
        with gf.Session(config=_config()) as session:
            session.run(y, {x: good})
            with pytest.raises(gf.errors.InvalidArgumentError, match="x : Tensor had NaN"):
                session.run(y, {x: bad})
            for _ in range(2):
                np.testing.assert_allclose(session.run(y, {x: good}), 2 * np.tanh(good), rtol=1e-6)
            assert [state.compiled is not None for state in _states(session)] == [True]


def test_other_threads_that_train_meanwhile_are_no_disagreement(verdicts: list[Any]) -> None:
    """Updates without locks: variables change between the two tiers' runs."""
    with gf.Graph().as_default():
        v = gf.Variable(np.ones(2000, "f"))
        steps = []
        for k in range(6):
            x = gf.placeholder(gf.float32, [None], name=f"x{k}")
            steps.append((gf.assign_add(v, gf.tanh(v) * 1e-4 + gf.reduce_mean(gf.tanh(x))), x))
        with gf.Session(config=_config(compiled="auto")) as session:
            session.run(gf.global_variables_initializer())
            errors: list[Exception] = []

            def train(step: Any, x: Any) -> None:
                try:
                    for count in range(240):
                        session.run(step, {x: np.zeros(2 + count % 4, "f")})
                except Exception as error:
                    errors.append(error)

            threads = [threading.Thread(target=train, args=pair) for pair in steps]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert not errors
            total = float(session.run(v)[0])
            assert not [state.reason for state in _states(session) if isinstance(state.reason, Disagrees)]
    assert total > 1.0 and set(verdicts) <= {"AGREED", "LATER"}


def _bits(build: Callable[[], Any], seeded: bool, **options: Any) -> list[bytes]:
    """The bits of the losses of some steps."""
    with gf.Graph().as_default():
        if seeded:
            gf.set_random_seed(1)
        fetches, feeds = build()
        tier_name = "auto" if seeded else "always"
        with gf.Session(config=_config(compiled=tier_name, **options)) as session:
            session.run(gf.global_variables_initializer())
            return [session.run(fetches, feeds)[0].tobytes() for _ in range(12)]


@pytest.mark.parametrize("seeded", [True, False])
def test_bits_do_not_depend_on_whether_it_is_verified(seeded: bool) -> None:
    """A program that goes on from a checkpoint is verified at another run than the one that was never stopped."""
    assert _bits(_dense, seeded) == _bits(_dense, seeded, verify_compiled=False)


def test_bits_do_not_depend_on_how_it_was_found_that_the_tiers_agree(
    monkeypatch: pytest.MonkeyPatch, verdicts: list[Any]
) -> None:
    """What is apart by more than the bounds agrees all the same if trials of rounding explain it."""
    expected = _bits(_dense, True, verify_compiled=False)
    monkeypatch.setattr(verification, "roundings", lambda plan, known: 0.0)
    monkeypatch.setattr(bounds, "_UNITS_OF_VALUE", 0.0)
    explained: list[Any] = []
    disagreement = verification.disagreement

    def watched(*arguments: Any) -> Any:
        explained.append(disagreement(*arguments))
        return explained[-1]

    monkeypatch.setattr(verification, "disagreement", watched)
    assert _bits(_dense, True) == expected
    assert None in explained and "APART" not in verdicts


def test_bits_do_not_depend_on_how_much_there_is_to_record(
    monkeypatch: pytest.MonkeyPatch, verdicts: list[Any]
) -> None:
    """What cannot be repeated is recorded, however large it is, if all bits are fixed."""

    def build() -> Any:
        drawn = gf.random_uniform([4, 300])
        w = gf.Variable(RNG(0).randn(300, 3).astype("f"), name="w")
        loss = gf.reduce_mean(gf.square(gf.tanh(gf.matmul(drawn, w))))
        return [loss, gf.train.GradientDescentOptimizer(0.1).minimize(loss)], {}

    expected = _bits(build, True, verify_compiled=False)
    monkeypatch.setattr(verification, "BUDGET_BYTES", 2 * 300 * 3 * 4 + 16)
    assert _bits(build, True) == expected
    assert "AGREED" in verdicts and "UNTRIED" not in verdicts


def test_tasks_of_a_cluster_verify_too(verdicts: list[Any]) -> None:
    server = gf.train.Server.create_local_server()
    with gf.Graph().as_default():
        fetches, feeds = _dense()
        with gf.Session(server.target, config=_config()) as session:
            session.run(gf.global_variables_initializer())
            losses = [float(session.run(fetches, feeds)[0]) for _ in range(4)]
            verdicts_then = list(verdicts)
    np.testing.assert_allclose(losses, _trained(4, compiled="never")[0], rtol=1e-5)
    assert "AGREED" in verdicts_then


def _declining(subject: Any, *arguments: Any) -> Any:
    """A verified run whose compiled plan cannot take it."""
    outcome = verification.verified_run(replace(subject, takes_over=False), *arguments)
    return replace(outcome, verdict=verification.Verdict.LATER, apart=None)


def test_a_plan_that_declines_run_after_run_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "verified_run", _declining)
    losses, weights, states = _trained(7)
    expected = _trained(7, compiled="never")
    assert losses == expected[0]
    np.testing.assert_array_equal(weights, expected[1])
    assert [type(state.reason) for state in states if state.runs >= 5] == [Declines]
    assert not [state for state in states if state.trial.trusted or state.compiled is not None]


# ---- what is rounding -----------------------------------------------------------------------------------------------


def test_what_rounding_decides_is_no_disagreement(verdicts: list[Any]) -> None:
    """Sums that cancel, comparisons of noise with zero, noise divided by noise."""

    def build() -> Any:
        x = gf.placeholder(gf.float32, [40, 30])
        noise = gf.reduce_sum(gf.tanh(x), 1) - gf.reduce_sum(gf.tanh(gf.reverse(x, [1])), 1)
        logits = gf.nn.log_softmax(x) - gf.log(gf.nn.softmax(x))
        return [
            noise,
            noise > 0.0,
            noise / (gf.abs(noise) + 1e-9),
            gf.argmax(logits, 1),
            gf.where(logits > 0.0, x, -x),
        ], {x: RNG(5).randn(40, 30).astype("f")}

    _runs(build, "always", 3)
    assert set(verdicts) == {"AGREED"}


def test_sums_of_what_was_fed_may_come_to_almost_nothing(verdicts: list[Any]) -> None:
    """What cancels may be the very inputs: those of a stage that takes them from another device, or of a checkpoint."""

    def build() -> Any:
        half = RNG(6).randn(500, 3).astype("f")
        x = gf.placeholder(gf.float32, [1000, 3])
        v = gf.Variable(np.concatenate([half, -half[::-1]]) * 7.0)
        w = gf.Variable(np.ones(3, "f"))
        sums = gf.reduce_sum(x, 0) + gf.reduce_sum(v, 0)
        step = gf.assign_sub(w, sums * 0.1)
        return [sums, gf.sign(sums), step], {x: np.concatenate([half, -half[::-1]])}

    _runs(build, "always", 3)
    assert set(verdicts) == {"AGREED"}


@pytest.mark.faulty_compiler
@pytest.mark.usefixtures("wrong_tanh")
def test_an_error_beside_noise_is_still_found(verdicts: list[Any]) -> None:
    def build() -> Any:
        x = gf.placeholder(gf.float32, [40, 30])
        noise = gf.reduce_sum(x, 1) - gf.reduce_sum(gf.reverse(x, [1]), 1)
        return [noise / (gf.abs(noise) + 1e-9), gf.tanh(x)], {x: RNG(5).randn(40, 30).astype("f")}

    _runs(build, "always", 3)
    assert verdicts == ["APART"]


def test_what_is_taken_over_does_not_count_as_set(verdicts: list[Any]) -> None:
    """A task tells by that count whether a change of a run that is repeated is still there (Deduplicator)."""
    with gf.Graph().as_default():
        v = gf.Variable(np.ones(3, "f"), name="v")
        step = gf.assign_add(v, gf.tanh(v) * 0.5)
        with gf.Session(config=_config()) as session:
            session.run(gf.global_variables_initializer())
            (cell,) = session.store.variables()
            for _ in range(4):
                session.run(step)
            assert cell.assigned == 1
    assert "AGREED" in verdicts


def test_synchronous_rounds_count_a_step_once(verdicts: list[Any], caplog: pytest.LogCaptureFixture) -> None:
    """What ends a round keeps account outside of variables: it is given again, with the one that it has set."""
    with gf.Graph().as_default():
        v = gf.Variable(np.ones(3, "f"))
        step = gf.train.get_or_create_global_step()
        optimizer = gf.train.SyncReplicasOptimizer(
            gf.train.GradientDescentOptimizer(0.1), replicas_to_aggregate=1, total_num_replicas=1
        )
        train = optimizer.minimize(gf.reduce_sum(gf.square(gf.tanh(v))), global_step=step)
        hooks = [optimizer.make_session_run_hook(True)]
        with gf.train.MonitoredTrainingSession(hooks=hooks, config=_config()) as session:
            counts = [session.run([train, step])[1] for _ in range(6)]
            assert session.run(step) == 6
    assert counts == list(range(1, 7)) and set(verdicts) == {"AGREED"}
