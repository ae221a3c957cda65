"""Protects `graphflow check`: what a program uses and graphflow has not, by name and line, without running it."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphflow.as_tensorflow.check import read_program
from graphflow.cli.main import main

USED = """
import tensorflow as tf
import tensorflow.contrib.slim as slim
from tensorflow.contrib import layers, rnn as cells
from tensorflow.python.framework import ops
from tensorflow.contrib.training.python.training import hparam
net = tf.nn
short = layers.fully_connected
tf.mine = 3
def f(x, dtype=tf.float32.as_numpy_dtype):
    y = net.relu(short(x, 3, activation_fn=None)) + tf.mine
    cell = cells.BasicLSTMCell(3, state_is_tuple=True)
    return slim.conv2d, ops.Graph, tf.GraphKeys.LOSSES, tf.newaxis, tf.__version__, hparam.HParams
class Model(object):
    def __init__(self):
        self.net = tf.train.AdamOptimizer(learning_rate=0.1).minimize(self.loss, global_step=tf.train.get_global_step())
        self.flags = tf.app.flags.FLAGS.whatever
try:
    from tensorflow.nowhere import nothing
except ImportError:
    nothing = None
try:
    relu = tf.relu6
except (AttributeError, KeyError):
    relu = tf.nn.relu6
try:
    import tensorflow as tf
except ImportError:
    import tensorflow.nowhere as tf
"""


def said(text: str) -> dict[str, list[int]]:
    """What is missing, and at which lines."""
    found: dict[str, list[int]] = {}
    for finding in read_program(text, "program.py").findings:
        found.setdefault(finding.what, []).append(finding.line)
    return found


def test_what_is_there_is_not_said() -> None:
    report = read_program(USED, "program.py")
    assert not report.findings and not report.packages
    assert report.uses > 20


@pytest.mark.parametrize(
    ("line", "what", "advice"),
    [
        ("tf.nn.rellu(x)", "tf.nn.rellu", "nearest names are relu"),
        ("tf.train.Optimizer.minimise", "tf.train.Optimizer.minimise", "minimize"),
        ("tf.float32.nothing", "tf.float32.nothing", "graphflow does not have it"),
        ("tf.concat(concat_dim=0, values=x)", "tf.concat(concat_dim=)", "values, axis"),
        ("tf.layers.dense(x, 3, activaton=None)", "tf.layers.dense(activaton=)", "activation"),
        ("from tensorflow.nowhere import a", "tf.nowhere", ""),
        (
            "from tensorflow.contrib.layers import fully_conected",
            "tf.contrib.layers.fully_conected",
            "fully_connected",
        ),
        ("import tensorflow.contrib.nowhere as n\nn.a.b(n.c)", "tf.contrib.nowhere", ""),
        ("def f(x=tf.nowhere): pass", "tf.nowhere", ""),
        ("class A(tf.nowhere): pass", "tf.nowhere", ""),
        ("lambda x: tf.nowhere", "tf.nowhere", ""),
        ("n = tf.contrib\ndef f(): return n.nowhere", "tf.contrib.nowhere", ""),
        ("try: tf.nowhere\nexcept ValueError: pass", "tf.nowhere", ""),
        ("try: tf.a\nexcept AttributeError: tf.nowhere", "tf.nowhere", ""),
        ("for i in xrange(3): pass", "xrange", "2to3"),
        ("for k, v in d.iteritems(): pass", ".iteritems()", "2to3"),
        ("import cPickle", "import cPickle", "2to3"),
        ("from scipy.misc import imshow", "import scipy.misc", "imageio"),
        ("from itertools import izip", "import itertools", "2to3"),
    ],
)
def test_what_is_not_there_is_said_with_its_line_and_what_to_do(line: str, what: str, advice: str) -> None:
    (finding, *_) = read_program(f"import tensorflow as tf\n{line}\n", "program.py").findings
    assert finding.what == what and finding.line in (2, 3)
    assert advice in finding.advice


@pytest.mark.parametrize(
    "line",
    [
        "def f(tf): return tf.nowhere",
        "tf = 3\ntf.nowhere",
        "def f():\n    tf = other()\n    return tf.nowhere",
        "from other import xrange\nxrange(3)",
        "def xrange(n): pass\nxrange(3)",
        "import six\nsix.iteritems({})",
        "from urllib.request import urlopen",
        "from .scipy.misc import imread",
    ],
)
def test_what_is_not_of_tensorflow_is_not_said(line: str) -> None:
    assert said(f"import tensorflow as tf\n{line}\n") == {}


def test_every_use_of_what_is_missing_is_counted() -> None:
    text = "import tensorflow as tf\nfrom tensorflow import nowhere\nnowhere.a()\ntf.nowhere.b\n"
    assert said(text) == {"tf.nowhere": [2, 3, 4]}


def test_a_program_of_python_2_is_said_to_be_one() -> None:
    (finding,) = read_program('print "loss"\n', "program.py").findings
    assert finding.line == 1 and "2to3" in finding.advice


def test_packages_that_are_not_installed_are_listed_but_those_of_the_program() -> None:
    report = read_program("import not_installed_here.a\nimport utils\n", "program.py", frozenset({"utils"}))
    assert [(one.what, one.line) for one in report.packages] == [("not_installed_here", 1)]
    assert not report.findings


def test_the_command_reads_folders_and_its_status_is_for_ci(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "good.py").write_text("import tensorflow as tf\nimport helper\ntf.nn.relu\n")
    assert main(["check", str(tmp_path)]) == 0
    assert capsys.readouterr().out.endswith("1 file, 2 uses of TensorFlow's names: all are there.\n")
    (tmp_path / "models").mkdir()
    for folder in ("models", ".git", "__pycache__"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "bad.py").write_text("import tensorflow as tf\n" + "tf.nowhere\n" * 5)
    assert main(["check", str(tmp_path), "--lines", "2"]) == 1
    printed = capsys.readouterr().out
    bad = tmp_path / "models" / "bad.py"
    assert f"tf.nowhere     5  {bad}:2 {bad}:3 ..." in printed
    assert printed.endswith("2 files, 8 uses of TensorFlow's names: 1 of them missing.\n")


def test_what_cannot_be_read_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "no.py")]) == 2
    assert main(["check", str(tmp_path)]) == 2
    (tmp_path / "latin.py").write_bytes(b"# \xe9\n")
    (tmp_path / "null.py").write_bytes(b"a = 1\0\n")
    assert main(["check", str(tmp_path)]) == 1
    printed = capsys.readouterr()
    assert "latin.py:1" in printed.out and "null.py:1" in printed.out
    assert "There is no Python file" in printed.err


def test_nothing_of_the_program_is_run(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(f"import tensorflow as tf\nopen({str(tmp_path / 'ran')!r}, 'w')\nimport beside\n")
    (tmp_path / "beside.py").write_text("raise SystemExit('it was imported')\n")
    assert main(["check", str(program)]) == 0
    assert not (tmp_path / "ran").exists()
