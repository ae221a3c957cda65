"""Protects `graphflow run`: a program runs as with Python itself, but that `import tensorflow` gives graphflow."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Final

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PLACE: Final = """
import sys
import beside
print(__name__, __file__, __package__, sys.argv, sys.path[0], sys.modules["__main__"].__dict__ is globals())
"""
TRAINING: Final = """
import numpy as np
import tensorflow as tf

flags = tf.app.flags
flags.DEFINE_integer("steps", 1, "")


def main(_):
    x = tf.placeholder(tf.float32, [None, 2])
    loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - 1.0))
    train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(flags.FLAGS.steps):
            session.run(train, {x: np.ones([4, 2], np.float)})
        print(tf.__version__, session.run(loss, {x: np.ones([4, 2])}) < 1e-6)


if __name__ == "__main__":
    tf.app.run()
"""
AGE: Final = """
import collections, inspect, time
import numpy as np
assert (np.float, np.int, np.object, np.bool(3)) == (float, int, object, True)
assert np.float is float and np.zeros([2], np.float).dtype == np.float64
assert issubclass(dict, collections.Mapping) and issubclass(list, collections.Iterable)
spec = inspect.getargspec(lambda a, b=1, *c, **d: 0)
assert spec.args == ["a", "b"] and spec == (["a", "b"], "c", "d", (1,))
assert np.reshape(np.arange(6), newshape=[2, 3]).shape == np.reshape(np.arange(6), (2, 3)).shape == (2, 3)
rows = np.array([[1], [2, 3]])
assert rows.dtype == object and rows.shape == (2,) and rows[1] == [2, 3] and np.asarray([[], [4]]).shape == (2,)
assert np.array([[1, 2]]).dtype == np.int64
try:
    np.array([[1], [2, 3]], float)
except ValueError as error:
    assert "inhomogeneous" in str(error)
else:
    raise AssertionError
assert np.reshape(np.arange(6), newshape=6).tolist() == np.reshape(a=np.arange(6), shape=[6]).tolist()
numbers = np.arange(6, dtype=np.int32).reshape(2, 3)
assert numbers.tostring() == numbers.tobytes() and np.float32(1).tostring() == np.float32(1).tobytes()
assert numbers.ptp() == 5 and numbers.ptp(axis=0).tolist() == [3, 3, 3]
numbers.itemset(1, 9)
numbers.itemset((1, 2), 7)
assert numbers.tolist() == [[0, 9, 2], [3, 4, 7]] and numbers.newbyteorder()[0, 1] == 9 << 24
one = np.array([[2.5]])
assert float(one) == 2.5 and int(one) == 2 and "%d %.2f" % (one, one) == "2 2.50" and float(np.array(3)) == 3.0
for several in (np.ones(2), np.ones([0])):
    try:
        float(several)
    except TypeError:
        continue
    raise AssertionError
before = time.clock()
assert time.clock() >= before
for module, name in ((np, "nothing"), (collections, "nothing"), (inspect, "nothing"), (time, "nothing")):
    try:
        getattr(module, name)
    except AttributeError as error:
        assert "nothing" in str(error)
    else:
        raise AssertionError(name)
"""
OLD: Final = {
    'print "x"': "written for Python 2",
    "try:\n    pass\nexcept ValueError, error:\n    pass": "written for Python 2",
    "for i in xrange(3): pass": "written for Python 2",
    "{}.iteritems()": "written for Python 2",
    "import urllib; urllib.urlretrieve('', '')": "written for Python 2",
    "import cPickle": "written for Python 2",
}
"""What Python 2 had."""


def run(
    *arguments: str | Path, cwd: Path, command: tuple[str, ...] = ("-m", "graphflow", "run")
) -> subprocess.CompletedProcess[str]:
    """How `graphflow run` with these arguments ends."""
    return subprocess.run(
        [sys.executable, *command, *map(str, arguments)],
        cwd=cwd, capture_output=True, text=True, check=False, timeout=200,
        env={"PYTHONPATH": str(PROJECT), "PATH": "/usr/bin:/bin", "HOME": str(cwd)},
    )  # fmt: skip


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "beside.py").write_text("")
    (tmp_path / "beside.py").write_text("")
    return tmp_path


def place(name: str, folder: Path) -> tuple[Path | str, ...]:
    """The arguments that run the program in each way that Python knows."""
    inner = folder / "inner"
    (inner / "__init__.py").write_text("")
    (inner / "__main__.py").write_text(PLACE)
    (inner / "program.py").write_text(PLACE)
    with zipfile.ZipFile(folder / "archive.zip", "w") as archive:
        archive.writestr("__main__.py", PLACE)
        archive.writestr("beside.py", "")
    return {
        "a file": (Path("inner") / "program.py",),
        "a file by its whole path": (inner / "program.py",),
        "a folder": ("inner",),
        "an archive": ("archive.zip",),
        "a module": ("-m", "inner.program"),
        "a package": ("-m", "inner"),
    }[name]


@pytest.mark.parametrize(
    "name", ["a file", "a file by its whole path", "a folder", "an archive", "a module", "a package"]
)
def test_a_program_is_where_python_itself_puts_it(name: str, folder: Path) -> None:
    arguments = (*place(name, folder), "--help", "-m", "--", "3")
    ours, pythons = run(*arguments, cwd=folder), run(*arguments, cwd=folder, command=())
    assert pythons.returncode == 0, pythons.stderr
    assert (ours.returncode, ours.stdout, ours.stderr) == (0, pythons.stdout, pythons.stderr)


@pytest.mark.parametrize(
    "program",
    [
        "def f():\n    raise ValueError('no')\n\n\nf()\n",
        "raise SystemExit(7)\n",
        "raise SystemExit('a message')\n",
        "import sys\nsys.exit()\n",
        "import atexit\natexit.register(print, 'at the end')\nraise KeyboardInterrupt\n",
        "import sys\nsys.excepthook = lambda kind, error, trace: print('mine', kind, trace.tb_lineno)\n1 / 0\n",
        "try:\n    1 / 0\nexcept ZeroDivisionError as error:\n    raise ValueError('then') from error\n",
        "import nothing_of_the_name\n",
        "def f(:\n",
    ],
)
def test_a_program_ends_as_with_python_itself(program: str, folder: Path) -> None:
    (folder / "program.py").write_text(program)
    arguments = (folder / "program.py",)
    ours, pythons = run(*arguments, cwd=folder), run(*arguments, cwd=folder, command=())
    assert (ours.returncode, ours.stdout, ours.stderr) == (pythons.returncode, pythons.stdout, pythons.stderr)


def test_a_program_of_tensorflow_trains(folder: Path) -> None:
    (folder / "train.py").write_text(TRAINING)
    ended = run("train.py", "--steps=100", cwd=folder)
    assert (ended.returncode, ended.stdout) == (0, "1.15.5 True\n"), ended.stderr
    assert ended.stderr.count("numpy.float, which is gone") == 1


def test_what_python_and_numpy_had_is_there_and_said_once(folder: Path) -> None:
    (folder / "program.py").write_text(AGE)
    ended = run("program.py", cwd=folder)
    assert (ended.returncode, ended.stdout) == (0, ""), ended.stderr
    for name in (
        "numpy.float",
        "numpy.reshape's newshape",
        "collections.Mapping",
        "inspect.getargspec",
        "time.clock",
    ):
        assert ended.stderr.count(f"{name}, which is") == 1
    assert " program.py:4: numpy.float" in ended.stderr
    assert " program.py:9: numpy.reshape's newshape" in ended.stderr


@pytest.mark.parametrize("text", OLD)
def test_what_python_2_had_is_told_of(text: str, folder: Path) -> None:
    (folder / "older.py").write_text(text)
    (folder / "program.py").write_text("import older\n")
    for program in ("older.py", "program.py"):
        ended = run(program, cwd=folder)
        assert ended.returncode == 1
        assert OLD[text] in ended.stderr.splitlines()[-1]


def test_what_is_not_there_is_one_line(folder: Path) -> None:
    (folder / "empty").mkdir()
    for arguments, message in (
        (("nothing.py",), "graphflow: There is no file nothing.py.\n"),
        (("empty",), "graphflow: There is no __main__.py in the folder empty.\n"),
        (("-m", "nothing.at_all"), "graphflow: There is no module nothing.at_all to run"),
        (("-m", "empty"), "graphflow: There is no module empty to run"),
    ):
        ended = run(*arguments, cwd=folder)
        assert ended.returncode == 2
        assert ended.stderr.startswith(message)
