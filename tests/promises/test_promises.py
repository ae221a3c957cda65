"""Protects what graphflow promises its users where its ancestors made them suffer; each test's name has the number.

Promises about one package alone are kept by that package's tests: 33 also by tests/test_import.py, 34 also by
tests/codegen/cpu.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import tomllib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.fetches import feed_array
from graphflow._core.resources.store import ResourceStore

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def graph() -> Any:
    with gf.Graph().as_default() as made:
        yield made


def in_a_process(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        cwd=PROJECT,
        timeout=100,
        env={**os.environ, **environment},
    )


# ---- 16: the cost of Session.run ----------------------------------------------------------------------------------


def test_promise_16_a_plan_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    x = gf.placeholder(gf.float32, [2])
    y = x * 2.0
    planned: list[Any] = []
    with gf.Session() as session:
        original = session.plan
        monkeypatch.setattr(session, "plan", lambda *a, **k: (planned.append(a), original(*a, **k))[1])
        for number in range(5):
            session.run([y, {"again": y}], {x: [number, 1.0]})
        assert len(planned) == 1
        gf.constant(1.0)  # what is added changes no plan
        session.run([y, {"again": y}], {x: [0.0, 1.0]})
        assert len(planned) == 1
        session.run(y, {x: [0.0, 1.0]})
        assert len(planned) == 2


def test_promise_16_a_feed_that_fits_is_not_copied() -> None:
    x = gf.placeholder(gf.float32, [None, 3])
    fed = np.ones((2, 3), np.float32)
    assert feed_array(x, fed) is fed
    assert np.shares_memory(feed_array(x, fed[:, ::-1]), fed)
    assert not np.shares_memory(feed_array(x, fed.astype(np.float64)), fed)


# ---- 19: a graph that grows ---------------------------------------------------------------------------------------


def test_promise_19_a_growing_graph_is_told_with_its_line() -> None:
    x = gf.constant(1.0)
    with (
        gf.Session() as session,
        pytest.warns(RuntimeWarning, match=r"test_promises\.py:\d+ builds operations inside a loop") as told,
    ):
        for _ in range(30):
            session.run(x + 1.0)
    assert len(told) == 1 and told[0].filename == __file__


def test_promise_19_growth_beside_a_kept_plan_is_noticed_too() -> None:
    v = gf.Variable(0.0)
    step = v.assign_add(1.0)
    with gf.Session() as session:
        session.run(v.initializer)
        with pytest.warns(RuntimeWarning, match="inside a loop"):
            for _ in range(15):
                gf.negative(v)
                session.run(step)
        assert session.run(v) == 15.0


def test_promise_19_a_program_built_in_pieces_is_not_warned() -> None:
    x = gf.constant(1.0)
    with gf.Session() as session, warnings.catch_warnings():
        warnings.simplefilter("error")
        session.run(x + 1.0)
        session.run(x + 2.0)
        session.run(x + 3.0)
        for _ in range(50):
            session.run(x)


def test_promise_19_finalize_finds_the_place() -> None:
    x = gf.constant(1.0)
    gf.get_default_graph().finalize()
    with pytest.raises(RuntimeError, match=r"test_promises\.py:\d+.*finalized at .*test_promises\.py:\d+"):
        gf.add(x, 1.0)


# ---- 20: uninitialised variables ----------------------------------------------------------------------------------


def test_promise_20_all_uninitialised_variables_are_listed_with_their_lines() -> None:
    a, b, c = (gf.Variable(1.0, name=n) for n in "abc")
    total = a + b + c
    with gf.Session() as session:
        session.run(b.initializer)
        with pytest.raises(gf.errors.FailedPreconditionError, match="ninitialized") as caught:
            session.run(total)
        message = str(caught.value)
        assert "a (built at" in message and "c (built at" in message and "b (built at" not in message
        assert "test_promises.py" in message and "global_variables_initializer" in message
        assert set(session.run(gf.report_uninitialized_variables())) == {b"a", b"c"}


def test_promise_20_initialisers_run_in_the_order_of_their_dependencies() -> None:
    with gf.Session() as session:
        start = gf.Variable(gf.random_normal([3]))
        copies = [gf.Variable(start + 0.0)]
        for _ in range(5):
            copies.append(gf.Variable(copies[-1] * 2.0))
        everything = [*reversed(copies), start]
        session.run(gf.variables_initializer(everything))
        values = session.run([start, *copies])
    np.testing.assert_array_equal(values[0] * 32.0, values[-1])


# ---- 21: a variable that exists -----------------------------------------------------------------------------------


def test_promise_21_both_definitions_are_named() -> None:
    gf.get_variable("weights", [2])
    with pytest.raises(ValueError) as caught:
        gf.get_variable("weights", [2])
    message = str(caught.value)
    first = test_promise_21_both_definitions_are_named.__code__.co_firstlineno + 1
    assert f"test_promises.py:{first}" in message and f"test_promises.py:{first + 2}" in message
    assert "weights" in message and "reuse" in message.lower()


# ---- 22: devices --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("device", "words"),
    [
        ("/job:trainer", ["no such job or task", "localhost"]),
        ("/cpu:3", ["no such device", "nearest", "CPU:0", "allow_soft_placement"]),
        ("/gpu:0", ["no such device", "nearest"]),
    ],
)
def test_promise_22_what_is_wrong_with_a_device_is_said(device: str, words: list[str]) -> None:
    with gf.device(device):
        x = gf.constant(1.0, name="misplaced") * gf.placeholder(gf.float32)
    with gf.Session() as session, pytest.raises(gf.errors.InvalidArgumentError) as caught:
        session.run(x)
    for word in [*words, "misplaced", "Cannot assign a device", "test_promises.py"]:
        assert word in str(caught.value)


def test_promise_22_a_missing_kernel_is_said() -> None:
    definition = gf.extend.define_op(
        "KernellessForATest",
        ("x: T",),
        infer=lambda op: [(op.inputs[0].dtype, ())],
        gradient=gf.extend.NOT_DIFFERENTIABLE,
    )
    y = gf.extend.add_operation(definition, [gf.constant(1.0)]).outputs[0]
    with (
        gf.Session() as session,
        pytest.raises(gf.errors.InvalidArgumentError, match="no kernel for Kernelless"),
    ):
        session.run(y)


def test_promise_22_explain_shows_the_placement() -> None:
    with gf.device("/cpu:1"):
        y = gf.negative(gf.placeholder(gf.float32, name="x"), name="y")
    with gf.Session(config=gf.ConfigProto(device_count={"CPU": 2})) as session:
        assert "y = Neg(x:0) : float32 @ /job:localhost/replica:0/task:0/device:CPU:1" in session.explain(y)


# ---- 32: NaN, and prints ------------------------------------------------------------------------------------------


def test_promise_32_the_first_bad_value_is_named() -> None:
    x = gf.placeholder(gf.float32, [2], name="x")
    ratio = gf.divide(x, gf.subtract(x, x, name="nothing"), name="ratio")
    later = gf.reduce_sum(ratio * 2.0, name="later")
    with gf.Session(config=gf.ConfigProto(check_numerics=True)) as session:
        with pytest.raises(gf.errors.InvalidArgumentError) as caught:
            session.run(later, {x: [1.0, 0.0]})
        message = str(caught.value)
        assert caught.value.op is ratio.op and "x:0, nothing:0" in message and "test_promises.py" in message
        assert "NaN" in message and session.run(x + 1.0, {x: [1.0, 2.0]}).tolist() == [2.0, 3.0]


def test_promise_32_a_bad_value_of_constants_alone_is_found_too() -> None:
    bad = gf.log(gf.constant(-1.0), name="bad")
    checked = gf.Session(config=gf.ConfigProto(check_numerics=True))
    with checked, pytest.raises(gf.errors.InvalidArgumentError, match="bad"):
        checked.run(bad * 2.0)
    with gf.Session() as session:
        assert np.isnan(session.run(bad * 2.0))


def test_promise_32_a_bad_value_inside_a_loop_is_found() -> None:
    x = gf.placeholder(gf.float32, [], name="x")
    loop = gf.while_loop(lambda i: i > -2.0, lambda i: gf.sqrt(i, name="root") - 1.0, [x])
    checked = gf.Session(config=gf.ConfigProto(check_numerics=True))
    with checked, pytest.raises(gf.errors.InvalidArgumentError, match="root"):
        checked.run(loop, {x: 0.5})


def test_promise_32_print_reaches_stderr_every_time(capsys: pytest.CaptureFixture[str]) -> None:
    x = gf.placeholder(gf.float32, [None])
    shown = gf.Print(x, [x, gf.shape(x)], "x is ")
    with gf.Session() as session:
        for _ in range(12):
            session.run(shown, {x: [1.5, 2.0]})
        session.run(gf.print("total", gf.reduce_sum(x)), {x: [1.5, 2.0]})
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["x is [1.5 2][2]"] * 12 + ["total 3.5"]


# ---- 33: install and import ---------------------------------------------------------------------------------------


def test_promise_33_nothing_has_to_be_compiled_to_install() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    assert project["build-system"]["requires"] == ["hatchling>=1.24"]
    names = {requirement.split(">")[0].split("<")[0] for requirement in project["project"]["dependencies"]}
    assert names == {
        "numpy", "numba", "cloudpickle", "pyzmq", "absl-py", "ml-dtypes", "safetensors", "xxhash", "google-crc32c",
    }  # fmt: skip
    sources = {path.suffix for path in (PROJECT / "graphflow").rglob("*") if path.is_file()}
    assert not sources & {".c", ".cc", ".cpp", ".pyx", ".so", ".pyd", ".f90"}


def test_promise_33_importing_loads_no_compiler_and_starts_no_thread() -> None:
    code = (
        "import sys, threading, graphflow\n"
        "print(sorted({'numba', 'llvmlite', 'zmq', 'cloudpickle'} & set(sys.modules)), threading.active_count())"
    )
    assert in_a_process(code).stdout == "[] 1\n"


# ---- 34: compiling ------------------------------------------------------------------------------------------------

COMPILED = """
import sys
import numpy as np
import graphflow as gf
x = gf.placeholder(gf.float32, [1000])
y = gf.reduce_sum(gf.tanh(x * 2.0 + 1.0))
fed = np.linspace(-1, 1, 1000).astype(np.float32)
results = set()
for mode in ("never", "always"):
    with gf.Session(config=gf.ConfigProto(compiled=mode)) as session:
        results |= {round(float(session.run(y, {x: fed})), 3) for _ in range(3)}
print(results)
"""


def test_promise_34_a_plan_runs_at_once_and_the_cache_may_be_damaged_or_deleted(tmp_path: Path) -> None:
    expected = f"{{{round(float(np.tanh(np.linspace(-1, 1, 1000) * 2 + 1).sum()), 3)}}}\n"
    outputs: list[subprocess.CompletedProcess[str]] = []

    def run() -> None:
        outputs.append(in_a_process(COMPILED, XDG_CACHE_HOME=str(tmp_path)))

    run()
    entries = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert entries
    for number, path in enumerate(entries):  # one is lost, the rest are damaged
        path.unlink() if number % 2 else path.write_bytes(path.read_bytes()[:-7])
    run()
    assert [o.stdout for o in outputs] == [expected] * 2, [o.stderr[-2000:] for o in outputs]


def test_promise_34_without_a_place_for_the_cache_it_works_too(tmp_path: Path) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_text("")
    process = in_a_process(COMPILED, XDG_CACHE_HOME=str(nowhere))
    assert process.returncode == 0, process.stderr


# ---- 37: graphs, sessions and threads -----------------------------------------------------------------------------


def test_promise_37_a_session_carries_its_graph_into_24_threads() -> None:
    x = gf.placeholder(gf.float32, [3])
    w = gf.Variable([1.0, 2.0, 3.0])
    y = gf.reduce_sum(x * w, name="y")
    wrong: list[Any] = []
    start = threading.Barrier(24)
    with gf.Session() as session:
        session.run(w.initializer)

        def predict(number: int) -> None:
            start.wait()
            for _ in range(20):
                got = session.run(["y:0", y], {x: [number, 0.0, 1.0]})
                if got != [number + 3.0] * 2:
                    wrong.append((number, got))

        threads = [threading.Thread(target=predict, args=(n,)) for n in range(24)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_promise_37_each_thread_may_have_a_graph_and_session_of_its_own() -> None:
    results: dict[int, float] = {}

    def work(number: int) -> None:
        with gf.Graph().as_default(), gf.Session() as session:
            v = gf.Variable(float(number))
            session.run(gf.global_variables_initializer())
            results[number] = float(session.run(v * 2.0))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n: n * 2.0 for n in range(12)}


# ---- 38: the same numbers every time ------------------------------------------------------------------------------


def trained(threads: int, devices: int = 1, tier: str = "auto") -> list[bytes]:
    with gf.Graph().as_default():
        gf.set_random_seed(17)
        x = gf.random_normal([64, 20])
        w = gf.get_variable("w", [20, 10], initializer=gf.glorot_uniform_initializer())
        with gf.device(f"/cpu:{devices - 1}"):
            hidden = gf.nn.dropout(gf.nn.relu(gf.matmul(x, w)), keep_prob=0.5)
        loss = gf.reduce_mean(gf.square(hidden))
        step = gf.train.AdamOptimizer(0.01).minimize(loss)
        config = gf.ConfigProto(
            intra_op_parallelism_threads=threads, device_count={"CPU": devices}, compiled=tier
        )
        with gf.Session(config=config) as session:
            session.run(gf.global_variables_initializer())
            losses = [session.run([loss, step])[0] for _ in range(12)]
            return [np.array(losses).tobytes(), session.run(w).tobytes()]


def test_promise_38_the_same_seed_gives_the_same_bits() -> None:
    first = trained(1)
    assert trained(1) == first
    assert trained(2) == first
    assert np.frombuffer(first[0], np.float32)[0] != np.frombuffer(first[0], np.float32)[1]


def test_promise_38_two_devices_change_no_bit() -> None:
    assert trained(2, 2, "never") == trained(1, 2, "never")


# ---- 40: bad input ------------------------------------------------------------------------------------------------


def loose(value: Any) -> Any:
    """A value that is not known, nor its shape, while the graph is built."""
    return gf.placeholder_with_default(value, None)


HOSTILE: list[tuple[str, Callable[[], Any]]] = [
    ("division by zero", lambda: gf.floordiv(gf.placeholder_with_default(1, []), 0)),
    ("remainder by zero", lambda: gf.mod(gf.placeholder_with_default(1, []), gf.placeholder_with_default(0, []))),
    ("gather far away", lambda: gf.gather(gf.constant([1.0]), gf.placeholder_with_default([2**30], [1]))),
    ("gather before", lambda: gf.gather(gf.constant([1.0]), gf.placeholder_with_default([-1], [1]))),
    ("huge fill", lambda: gf.fill(gf.placeholder_with_default([2**30, 2**30], [2]), 1.0)),
    ("negative fill", lambda: gf.fill(gf.placeholder_with_default([-1], [1]), 1.0)),
    ("bad reshape", lambda: gf.reshape(gf.zeros([3]), gf.placeholder_with_default([2, 2], [2]))),
    ("two unknowns", lambda: gf.reshape(gf.zeros([4]), gf.placeholder_with_default([-1, -1], [2]))),
    ("huge axis", lambda: gf.reduce_sum(gf.zeros([2]), axis=gf.placeholder_with_default([2**31 - 1], [1]))),
    ("bad concatenation", lambda: gf.concat([gf.zeros([2]), gf.zeros([3])], gf.placeholder_with_default(5, []))),
    ("slice outside", lambda: gf.slice(gf.zeros([2]), gf.placeholder_with_default([1], [1]), [5])),
    ("step of zero", lambda: gf.strided_slice(gf.zeros([2]), [0], [2], gf.placeholder_with_default([0], [1]))),
    ("bad transposition", lambda: gf.transpose(gf.zeros([2, 2]), gf.placeholder_with_default([0, 7], [2]))),
    ("negative tiles", lambda: gf.tile(gf.zeros([2]), gf.placeholder_with_default([-1], [1]))),
    ("endless range", lambda: gf.range(0, 5, gf.placeholder_with_default(0, []))),
    ("products that do not fit", lambda: gf.matmul(gf.zeros([2, 3]), loose(np.zeros((2, 2), np.float32)))),
    ("singular", lambda: gf.matrix_inverse(gf.zeros([2, 2]))),
    ("labels outside", lambda: gf.losses.sparse_softmax_cross_entropy(loose([9]), gf.zeros([1, 3]))),
    ("scatter outside", lambda: gf.scatter_nd(gf.placeholder_with_default([[9]], [1, 1]), [1.0], [3])),
    ("segments unsorted", lambda: gf.segment_sum(gf.zeros([2]), gf.placeholder_with_default([1, 0], [2]))),
    ("segments negative", lambda: gf.unsorted_segment_sum(gf.zeros([2]), gf.placeholder_with_default([0, 5], [2]), 2)),
    ("k too large", lambda: gf.nn.top_k(gf.zeros([2]), gf.placeholder_with_default(9, []))),
    ("pad negative", lambda: gf.pad(gf.zeros([2]), gf.placeholder_with_default([[-1, 0]], [1, 2]))),
    ("depth negative", lambda: gf.one_hot([1], gf.placeholder_with_default(-3, []))),
    ("base64", lambda: gf.decode_base64(gf.placeholder_with_default("*", []))),
    ("no number", lambda: gf.string_to_number(gf.placeholder_with_default("x", []))),
]  # fmt: skip


@pytest.mark.parametrize("case", HOSTILE, ids=lambda case: case[0])
def test_promise_40_bad_input_is_a_python_exception(case: tuple[str, Callable[[], Any]]) -> None:
    with gf.Session() as session:
        try:
            result = session.run(case[1]())
        except (gf.errors.OpError, ValueError, TypeError) as error:
            assert not isinstance(error, gf.errors.InternalError), error
        else:
            pytest.fail(f"it gave {result!r}")
        assert session.run(gf.constant(1) + 1) == 2


def test_promise_40_an_exception_of_a_users_function_is_told() -> None:
    def bad() -> Any:
        raise KeyError("where")

    result = gf.py_func(bad, [], gf.float32, name="bad")
    with gf.Session() as session, pytest.raises(gf.errors.UnknownError, match=r"KeyError: 'where'") as caught:
        session.run(result)
    assert isinstance(caught.value.__cause__.__cause__, KeyError) and caught.value.op is result.op


def test_promise_40_a_store_refuses_another_type_for_a_name() -> None:
    store = ResourceStore()
    store.variable("v", gf.float32, ("here.py", 1))
    with pytest.raises(gf.errors.InvalidArgumentError, match=r"here\.py:1.*there\.py:2"):
        store.variable("v", gf.int32, ("there.py", 2))
