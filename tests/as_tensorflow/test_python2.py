"""Protects --py2: programs of Python 2 run with the meaning that they had, and tracebacks show their own lines."""

from __future__ import annotations

import ast
import traceback
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphflow.as_tensorflow import python2
from tests.cli.test_run import run

pytest.importorskip("fissix")


def variables(program: str) -> dict[str, Any]:
    """What a program's names are at its end."""
    found: dict[str, Any] = {
        "np": np,
        "__graphflow_divide__": python2.divide,
        "__graphflow_divide_in_place__": python2.divide_in_place,
    }
    exec(python2.converted(program.encode(), "program.py"), found)
    return found


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("x = 7 / 2", 3),
        (
            "class T:\n    def sort(self, by, up): return by, up\nprint 1\nx = T().sort('a', up=7 / 2)",
            ("a", 3),
        ),
        ("x = [2, 3, 1]\nx.sort(lambda a, b: b - a)", [3, 2, 1]),
        ("x = -7 / 2", -4),
        ("x = 7 / 2.0", 3.5),
        ("x = 7\nx /= 2", 3),
        ("from __future__ import division\nx = 7 / 2", 3.5),
        ("from __future__ import (absolute_import,\n    division)\nx = 7 / 2", 3.5),
        ("a = [9, 5]\na[1] /= 2\nx = a", [9, 2]),
        ("x = (np.arange(5) / 2).tolist()", [0, 0, 1, 1, 2]),
        ("x = (np.arange(3.0) / 2).tolist()", [0, 0.5, 1]),
        ("x = range(3) + [7]", [0, 1, 2, 7]),
        ("x = map(str, xrange(2))", ["0", "1"]),
        ("x = sorted({1: 2}.iteritems())", [(1, 2)]),
        ("x = {1: 2}.has_key(1)", True),
        ("x = reduce(lambda a, b: a + b, [1, 2, 3])", 6),
        ("try:\n    1 / 0\nexcept ZeroDivisionError, error:\n    x = 1", 1),
        ("x = 0777 + 1L", 512),
        ("if True:\n\tif True:\n                x = 1\n", 1),
        ("x = '''\n\ta'''\nif x:\n\tif x:\n                y = 1\n", "\n\ta"),
    ],
)
def test_it_means_what_it_meant(program: str, expected: object) -> None:
    assert variables(program)["x"] == expected


def test_division_in_place_keeps_an_array() -> None:
    found = variables("a = np.ones(2)\nb = a\na /= 2\nc = np.arange(4)\nd = c\nc /= 2")
    assert found["a"] is found["b"] and found["a"].tolist() == [0.5, 0.5]
    assert found["c"] is found["d"] and found["c"].tolist() == [0, 0, 1, 1]


def test_lines_keep_their_numbers() -> None:
    program = "import sys\nx = reduce(max, [1, 2])\nexec 'y = 1'\n\n\ndef f((a, b)):\n"
    program += "    print a\n    raise KeyError, b\n\n\nf((1, 2))\n"
    with pytest.raises(KeyError) as caught:
        variables(program)
    lines = [frame.lineno for frame in traceback.extract_tb(caught.tb) if frame.filename == "program.py"]
    assert lines == [11, 8]


def test_what_is_no_python_says_what_python_3_says() -> None:
    with pytest.raises(SyntaxError):
        python2.converted(b"x = (\n", "program.py")


def test_texts_that_are_not_utf_8_are_read() -> None:
    code = python2.converted("# caf\xe9\nx = 1\n".encode("latin-1"), "program.py")
    assert ast.unparse(ast.parse("x = 1")) and code.co_filename == "program.py"


def test_a_program_and_its_modules_run_and_their_files_stay(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("import beside\n")
    (package / "beside.py").write_text("print 'beside', 5 / 2\n")
    text = "import cPickle\nimport tensorflow as tf\nfrom package import beside\n\n"
    text += "print 'sum', tf.constant(7).dtype.name, 3 / 2\n"
    (tmp_path / "train.py").write_text(text)
    for arguments in (("--py2", "train.py"), ("--py2", "-m", "train"), ("--py2", ".")):
        if arguments[-1] == ".":
            (tmp_path / "__main__.py").write_text(text)
        ended = run(*arguments, cwd=tmp_path)
        assert (ended.returncode, ended.stdout) == (0, "beside 2\nsum int32 1\n"), ended.stderr
    assert (tmp_path / "train.py").read_text() == text
    assert not list(tmp_path.rglob("*.pyc"))
    without = run("train.py", cwd=tmp_path)
    assert without.returncode == 1 and "graphflow run --py2" in without.stderr


def test_a_program_in_a_folder_that_is_a_package_imports_what_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "__init__.py").write_text("")
    (tmp_path / "settings.py").write_text("import sizes\nwidth = sizes.width / 2\n")
    (tmp_path / "sizes.py").write_text("width = 7\n")
    (tmp_path / "train.py").write_text("import settings\nprint 'width', settings.width\n")
    ended = run("--py2", "train.py", cwd=tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "width 3\n"), ended.stderr


def test_tracebacks_show_the_programs_lines(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import sys\nx = reduce(max, [1])\nprint 'before'\nraise ValueError, 'no'\n"
    )
    ended = run("--py2", "train.py", cwd=tmp_path)
    assert ended.returncode == 1
    assert "line 4, in <module>\n    raise ValueError, 'no'\n" in ended.stderr
