"""Protects tensorflow.python.framework.test_util: decorated tests run as a graph, or are skipped, under the hook."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

PROGRAM: Final = """
from tensorflow.python.eager import context
from tensorflow.python.framework import constant_op, errors, ops, test_util
from tensorflow.python.ops import math_ops, variables
from tensorflow.python.platform import test


@test_util.run_all_in_graph_and_eager_modes
class Modes(test.TestCase):
    def testOpenSession(self):
        self.assertFalse(context.executing_eagerly())
        self.assertEqual(3, self.evaluate(math_ops.add(1, 2)))


@test_util.disable_all_xla("for a reason")
class Sums(test.TestCase):
    @test_util.run_deprecated_v1
    def testGraph(self):
        with self.cached_session(), test_util.device(use_gpu=True):
            self.assertEqual(3, constant_op.constant(3).eval())

    @test_util.run_in_graph_and_eager_modes(use_gpu=False)
    @test_util.disable_xla("for a reason")
    def testBoth(self):
        v = variables.Variable(2.0)
        self.evaluate(v.initializer)
        self.assertAllClose(4.0, self.evaluate(v * v))

    @test_util.run_v1_only("for a reason")
    def testFirst(self):
        with self.session(use_gpu=True), context.graph_mode(), test_util.force_cpu():
            self.assertIn("CPU", constant_op.constant(1).device)

    @test_util.run_v2_only
    def testSecond(self):
        self.fail("not TensorFlow 2")

    @test_util.run_gpu_only
    def testGpu(self):
        self.fail("no GPU")

    @test_util.skip_if(lambda: True)
    def testCondition(self):
        self.fail("not to run")

    def testLayouts(self):
        self.assertEqual([2, 5, 3, 4], test_util.NHWCToNCHW([2, 3, 4, 5]))
        self.assertEqual([2, 4, 5, 6, 3], test_util.NCHWToNHWC([2, 3, 4, 5, 6]))
        moved = test_util.NHWCToNCHW(constant_op.constant([[[[1, 2]]]]))
        with self.session():
            self.assertAllEqual([[[[1]], [[2]]]], moved)

    def testGraphDefs(self):
        with ops.Graph().as_default() as one:
            constant_op.constant(1, name="a")
        with ops.Graph().as_default() as other:
            constant_op.constant(2, name="a")
        test_util.assert_ops_in_graph({"a": "Const"}, one)
        with self.assertRaises(ValueError):
            test_util.assert_ops_in_graph({"b": "Const"}, one)
        test_util.assert_equal_graph_def(one.as_graph_def(), one.as_graph_def())
        with self.assertRaisesRegexp(AssertionError, "a"):
            test_util.assert_equal_graph_def(one.as_graph_def(), other.as_graph_def())
        self.assertEqual("Const", test_util.get_node_def_from_graph("a", one.as_graph_def()).op)


if __name__ == "__main__":
    test.main()
"""


def test_tests_of_tensorflow_1_run_as_graphs(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    (tmp_path / "sums_test.py").write_text(PROGRAM)
    project = Path(__file__).resolve().parents[2]
    ended = subprocess.run(
        [sys.executable, "-m", "graphflow", "run", str(tmp_path / "sums_test.py")],
        capture_output=True, text=True, check=False, timeout=200,
        env={"PYTHONPATH": str(project), "HOME": str(tmp_path)},
    )  # fmt: skip
    assert "Ran 9 tests" in ended.stderr, ended.stderr
    assert "OK (skipped=3)" in ended.stderr, ended.stderr
