"""Protects gf.test.TestCase: every assertion passes where it should and fails where it should, and tests are apart."""

from __future__ import annotations

import os
import subprocess
import sys
import unittest
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphflow as gf


class Example(gf.test.TestCase):
    def runTest(self) -> None:
        """Nothing: the methods are called from outside."""


@pytest.fixture()
def case() -> Iterator[Any]:
    example = Example()
    example.setUp()
    yield example
    example.tearDown()
    example.doCleanups()


NAN = float("nan")
PASS_AND_FAIL: list[tuple[str, tuple[Any, ...], tuple[Any, ...]]] = [
    ("assertAllClose", ([1.0, 2.0], [1.0, 2.0 + 1e-7]), ([1.0, 2.0], [1.0, 2.1])),
    ("assertAllClose", ([NAN, 2], np.array([NAN, 2.0])), ([NAN], [1.0])),
    ("assertAllClose", ({"a": [1.0]}, {"a": [1.0]}), ({"a": [1.0]}, {"b": [1.0]})),
    (
        "assertAllClose",
        ([[1.0], [2.0, 3.0]], [[1.0], [2.0, 3.0]]),
        ([[1.0], [2.0, 3.0]], [[1.0], [2.0, 4.0]]),
    ),
    ("assertAllClose", ([1.0, 2.0], [1.1, 2.0], 0.0, 0.2), ([1.0], [[1.0]])),
    ("assertAllCloseAccordingToType", (np.float16(1.0), 1.0005), (np.float32(1.0), 1.0005)),
    ("assertNotAllClose", ([1.0], [1.1]), ([1.0], [1.0])),
    ("assertAllEqual", ([1, 2], np.array([1, 2])), ([1, 2], [1, 3])),
    ("assertAllEqual", (["a", "b"], ["a", "b"]), ([1, 2], [[1, 2]])),
    ("assertNotAllEqual", ([1], [2]), ([1], [1])),
    ("assertAllGreater", ([2, 3], 1), ([1, 3], 1)),
    ("assertAllLess", ([2, 3], 4), ([2, 4], 4)),
    ("assertAllGreaterEqual", ([1, 3], 1), ([0, 3], 1)),
    ("assertAllLessEqual", ([2, 4], 4), ([2, 5], 4)),
    ("assertAllInRange", ([0, 1], 0, 1), ([0, 1], 0, 1, True)),
    ("assertAllInRange", ([0.5], 0, 1, True, True), ([0.5, NAN], 0, 1)),
    ("assertAllInSet", ([1, 2, 1], {1, 2, 3}), ([1, 4], {1, 2})),
    ("assertDTypeEqual", (np.float32(1), np.float32), (np.float32(1), np.float64)),
    ("assertDTypeEqual", (np.int32(1), gf.int32), (np.int32(1), gf.int64)),
    ("assertNear", (1.0, 1.05, 0.1), (1.0, 1.2, 0.1)),
    ("assertArrayNear", ([1.0, 2.0], [1.05, 2.0], 0.1), ([1.0], [1.0, 2.0], 0.1)),
    ("assertNDArrayNear", (np.zeros(2), np.full(2, 0.1), 0.2), (np.zeros(2), np.ones(2), 0.2)),
    ("assertStartsWith", ("abc", "ab"), ("abc", "b")),
    ("assertDeviceEqual", ("/cpu:0", "/device:CPU:0"), ("/cpu:0", "/cpu:1")),
    ("assertItemsEqual", ([1, 2, 2], [2, 1, 2]), ([1, 2], [1, 2, 2])),
    ("assertSameElements", ([1, 2], [1, 2, 2]), ([1], [1, 2])),
    ("assertContainsSubset", ([1], [1, 2]), ([1, 3], [1, 2])),
    ("assertLen", ([1, 2], 2), ([1, 2], 3)),
    ("assertEmpty", ([],), ([0],)),
    ("assertNotEmpty", ([0],), ([],)),
    ("assertBetween", (1, 1, 2), (3, 1, 2)),
    ("assertEndsWith", ("abc", "bc"), ("abc", "ab")),
    ("assertNotStartsWith", ("abc", "b"), ("abc", "ab")),
    ("assertNotEndsWith", ("abc", "b"), ("abc", "bc")),
    ("assertSequenceStartsWith", ([1, 2], [1, 2, 3]), ([2], [1, 2])),
    ("assertSequenceStartsWith", ("a", ["a", "b"]), ("b", ["a", "b"])),
    ("assertNoCommonElements", ([1, 2], [3]), ([1, 2], [2])),
    ("assertTotallyOrdered", ([1, 1.0], [2], [3]), ([1], [0])),
    ("assertTotallyOrdered", ([1], [2]), ([1, 2],)),
    ("assertRegexMatch", ("abc", ["x", "c$"]), ("abc", ["x", "^b"])),
    ("assertContainsInOrder", (["a", "b"], "xayb"), (["b", "a"], "xayb")),
    ("assertSequenceAlmostEqual", ([1.0], [1.0 + 1e-9]), ([1.0], [1.1])),
    ("assertSequenceAlmostEqual", ([1.0], [1.05], None, None, 0.1), ([1.0], [1.0, 2.0])),
    ("assertEquals", (1, 1), (1, 2)),
    ("assertNotEquals", (1, 2), (1, 1)),
    ("assertAlmostEquals", (1.0, 1.0 + 1e-9), (1.0, 1.1)),
    ("assertRegexpMatches", ("abc", "b."), ("abc", "d")),
]


@pytest.mark.parametrize(("name", "right", "wrong"), PASS_AND_FAIL, ids=[p[0] for p in PASS_AND_FAIL])
def test_assertions(case: Any, name: str, right: tuple[Any, ...], wrong: tuple[Any, ...]) -> None:
    getattr(case, name)(*right)
    with pytest.raises(AssertionError):
        getattr(case, name)(*wrong)


def test_tensors_are_evaluated(case: Any) -> None:
    v = gf.Variable([1.0, 2.0])
    with case.session() as session:
        session.run(v.initializer)
        case.assertAllClose(v, [1.0, 2.0])
        case.assertAllEqual(gf.constant([3]) + 1, [4])
        case.assertAllClose({"sum": gf.reduce_sum(v)}, {"sum": 3.0})
        assert case.evaluate({"v": v, "one": gf.constant(1)})["one"] == 1
    case.evaluate(v.initializer)
    assert case.evaluate(v).tolist() == [1.0, 2.0]
    case.assertShapeEqual(np.zeros([2]), v.value())
    with pytest.raises(AssertionError):
        case.assertShapeEqual(np.zeros([3]), v.value())


def test_errors_are_matched(case: Any) -> None:
    x = gf.placeholder(gf.float32, name="fed_later")
    with case.test_session():
        with case.assertRaisesOpError("fed_later"):
            case.evaluate(x)
        with (
            pytest.raises(AssertionError, match="does not match"),
            case.assertRaisesOpError("something else"),
        ):
            case.evaluate(x)
    with case.assertRaisesWithPredicateMatch(ValueError, lambda error: "one" in str(error)):
        raise ValueError("one")
    with case.assertRaisesWithLiteralMatch(ValueError, "one (1)"):
        raise ValueError("one (1)")
    with pytest.raises(AssertionError), case.assertRaisesWithLiteralMatch(ValueError, "one"):
        raise ValueError("one (1)")
    with pytest.raises(AssertionError, match="not raised"), case.assertRaisesOpError(""):
        pass


def test_a_cached_session_keeps_its_variables(case: Any) -> None:
    v = gf.Variable(1.0)
    with case.cached_session() as first:
        first.run(v.initializer)
    with case.test_session() as second:
        assert second is first
        assert second.run(v) == 1.0
    with pytest.raises(ValueError, match="another"), case.cached_session(graph=gf.Graph()):
        pass
    with gf.Graph().as_default() as other, case.test_session(graph=other) as third:
        assert third is not first


def test_a_test_begins_with_an_empty_graph_though_another_left_one_open() -> None:
    left = gf.Graph().as_default()
    graph = left.__enter__()
    example = Example()
    example.setUp()
    assert gf.get_default_graph() is not graph
    example.tearDown()
    left.__exit__(None, None, None)


def test_each_test_begins_with_an_empty_graph_and_the_same_seeds() -> None:
    drawn = []
    for _ in range(2):
        example = Example()
        example.setUp()
        assert not gf.get_default_graph().get_operations()
        with example.session():
            drawn.append([example.evaluate(gf.random_uniform([2])).tolist(), np.random.rand()])
        example.tearDown()
    assert drawn[0] == drawn[1]


def test_a_folder_of_the_test_goes_with_it() -> None:
    example = Example()
    example.setUp()
    folder = example.get_temp_dir()
    assert folder == example.get_temp_dir()
    assert os.path.isdir(folder)
    example.doCleanups()
    assert not os.path.exists(folder)
    example.tearDown()


def test_a_checked_thread_raises_in_the_test_what_its_function_raised(case: Any) -> None:
    values: list[int] = []
    right = case.checkedThread(values.append, args=(3,))
    wrong = case.checkedThread(int, args=("x",))
    for thread in (right, wrong):
        thread.start()
    right.join()
    assert values == [3] and not right.is_alive()
    with case.assertRaisesRegexp(ValueError, "invalid literal"):
        wrong.join()


def test_a_benchmark_reports_the_time_of_an_operation(capfd: pytest.CaptureFixture[str]) -> None:
    class Sums(gf.test.Benchmark):
        def benchmarkSum(self) -> dict[str, Any]:
            total = gf.assign_add(gf.get_variable("total", initializer=0.0), 1.0)
            with gf.Session() as session:
                session.run(gf.global_variables_initializer())
                result = self.run_op_benchmark(session, total, burn_iters=1, min_iters=3, mbs=2.0)
                assert self.evaluate(total) == 5.0
            return result

    with gf.Graph().as_default():
        result = Sums().benchmarkSum()
    assert result["iters"] == 3
    assert result["throughput"] == 2.0 / result["wall_time"] > 0
    assert "benchmark Sums.benchmarkSum: iters 3" in capfd.readouterr().err


def test_a_local_cluster_has_servers_that_run_operations() -> None:
    workers, servers = gf.test.create_local_cluster(num_workers=1, num_ps=1)
    with gf.Graph().as_default():
        with gf.device("/job:ps/task:0"):
            v = gf.Variable(3.0)
        with gf.Session(workers[0].target) as session:
            session.run(v.initializer)
            assert session.run(v + 1.0) == 4.0
    assert len(servers) == 1


def test_messages_are_compared(case: Any) -> None:
    histogram = pytest.importorskip("google.protobuf") and gf.protos.summary_pb2.HistogramProto(min=1.0)
    case.assertProtoEquals("min: 1", histogram)
    with pytest.raises(AssertionError):
        case.assertProtoEquals("min: 2", histogram)


PROGRAM = """
import graphflow as gf

class Sums(gf.test.TestCase):
    def testRight(self):
        with self.test_session():
            self.assertAllClose(gf.add(1.0, 2.0), 3.0)

    def testWrong(self):
        with self.session():
            self.assertAllEqual(gf.constant(1), 2)

if __name__ == "__main__":
    gf.test.main()
"""


def test_main_runs_the_tests_of_a_program() -> None:
    command = [sys.executable, "-c", PROGRAM]
    project = Path(__file__).resolve().parent.parent.parent
    done = subprocess.run(command, capture_output=True, text=True, cwd=project)
    assert done.returncode == 1
    assert "Ran 2 tests" in done.stderr
    assert "FAILED (failures=1)" in done.stderr


def test_what_else_test_programs_ask_for() -> None:
    functions: list[Callable[..., Any]] = [gf.test.is_built_with_cuda, gf.test.is_gpu_available]
    assert [function() for function in functions] == [True, False]
    assert gf.test.gpu_device_name() == ""
    assert os.path.isdir(gf.test.get_temp_dir())
    with gf.test.mock.patch.object(os, "getcwd", return_value="/nowhere"):
        assert os.getcwd() == "/nowhere"
    assert issubclass(gf.test.TestCase, unittest.TestCase)
