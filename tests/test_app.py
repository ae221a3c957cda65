"""Protects programs with flags: defaults, the first read that parses, what is left for main, refusals, help."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent
PROGRAM = '''
"""Counts."""
import graphflow as gf
from graphflow.app import flags
gf.app.flags.DEFINE_string("name", "worker", "whose")
flags.DEFINE_integer(flag_name="count", default_value=2, docstring="how many")
gf.flags.DEFINE_float("rate", 0.5, "how fast")
gf.flags.DEFINE_boolean("sync", False, "together")
gf.flags.DEFINE_enum("mode", "train", ["train", "eval"], "what")
gf.flags.DEFINE_list("hosts", "a,b", "where")
FLAGS = gf.app.flags.FLAGS

def main(argv):
    print(FLAGS.name, FLAGS.count, FLAGS.rate, FLAGS.sync, FLAGS.mode, FLAGS.hosts, argv[1:])
    return 3
'''


def call(program: str, *arguments: str) -> tuple[int, str, str]:
    """Status and outputs of a program."""
    command = [sys.executable, "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=PROJECT)
    return done.returncode, done.stdout.strip(), done.stderr.strip()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "worker 2 0.5 False train ['a', 'b'] []"),
        (["--name=ps", "--count", "5", "--sync", "rest"], "ps 5 0.5 True train ['a', 'b'] ['rest']"),
        (["--nosync", "--mode=eval", "--hosts=x"], "worker 2 0.5 False eval ['x'] []"),
        (["x", "--count=1", "--unknown=7"], "worker 1 0.5 False train ['a', 'b'] ['x', '--unknown=7']"),
    ],
)
def test_run_gives_main_what_is_no_flag(arguments: list[str], expected: str) -> None:
    assert call(f"{PROGRAM}\ngf.app.run()", *arguments) == (3, expected, "")


@pytest.mark.parametrize(
    ("argument", "meant"),
    [
        ("--cuont=5", "count"),
        ("--nmae", "name"),
        ("-hosst=x", "hosts"),
        ("--nosynch", "nosync"),
        ("--mod=eval", "mode"),
    ],
)
def test_a_misspelled_flag_is_told_of_and_left_to_main(argument: str, meant: str) -> None:
    status, out, err = call(f"{PROGRAM}\ngf.app.run()", argument)
    assert (status, out) == (3, f"worker 2 0.5 False train ['a', 'b'] ['{argument}']")
    assert f"changes nothing. Did you mean --{meant}?" in err
    assert call(f"{PROGRAM}\ngf.app.run()", "--", argument)[2] == ""


def test_a_value_that_does_not_fit_is_refused_in_words() -> None:
    status, out, err = call(f"{PROGRAM}\ngf.app.run(main)", "--count=two")
    assert (status, out) == (1, "")
    assert "--count=two" in err
    assert "Traceback" not in err


def test_help_shows_the_flags() -> None:
    status, out, _ = call(f"{PROGRAM}\ngf.app.run(main)", "--help")
    assert status == 1
    assert out.startswith("Counts.")
    assert "how many" in out
    assert "--rate" in out


def test_the_first_read_parses_the_command_line() -> None:
    program = f"{PROGRAM}\nprint(FLAGS.count, FLAGS.is_parsed())"
    assert call(program, "--count=9") == (0, "9 True", "")


def test_an_unknown_flag_is_refused_where_the_first_read_parses() -> None:
    status, _, err = call(f"{PROGRAM}\nprint(FLAGS.count)", "--unknown=1")
    assert status != 0
    assert "unknown" in err


def test_required_flags_and_a_command_line_of_ones_own() -> None:
    program = (
        f'{PROGRAM}\ngf.app.flags.DEFINE_string("must", None, "")\nflags.mark_flag_as_required("must")\n'
    )
    given = f'{program}gf.app.run(main, argv=["p", "--must=n", "z"])'
    assert call(given) == (3, "worker 2 0.5 False train ['a', 'b'] ['z']", "")
    status, _, err = call(f"{program}gf.app.run(main)")
    assert status == 1
    assert "must" in err


def test_flags_can_be_set_and_listed() -> None:
    program = f'{PROGRAM}\nFLAGS.count = 8\nFLAGS(["p"])\nprint(FLAGS.count, "count" in FLAGS, FLAGS["count"].default)'
    status, out, _ = call(program)
    assert (status, out) == (0, "8 True 2")


def test_a_program_without_main_is_told() -> None:
    status, _, err = call("import graphflow as gf\ngf.app.run()")
    assert status == 1
    assert "no function main" in err


def test_nothing_of_it_is_imported_with_graphflow() -> None:
    names = "absl", "unittest", "graphflow.logging", "graphflow.gfile"
    program = f"import sys, graphflow\nprint([n for n in {names!r} if n in sys.modules])"
    assert call(program) == (0, "[]", "")
