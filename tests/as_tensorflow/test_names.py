"""Protects what programs use most: names and keyword arguments of TensorFlow's that many repositories have are there.

The list beside this file was counted over the Python files of 94 public repositories. Names that TensorFlow 1.15 does
not have are not in it, nor those of eager execution.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from graphflow.as_tensorflow.check import read_program

LIST: Final = Path(__file__).with_name("names_by_use.tsv")


def uses() -> list[tuple[str, int, list[str]]]:
    """Each name with the number of its repositories and the keyword arguments."""
    rows = [line.split("\t") for line in LIST.read_text().splitlines() if not line.startswith("#")]
    return [(name, int(count), rest[0].split(",") if rest else []) for name, count, *rest in rows]


def missing(program: str) -> list[str]:
    """What is missing of what a program uses."""
    return [
        finding.what for finding in read_program(f"import tensorflow as tf\n{program}\n", "p.py").findings
    ]


def test_the_names_that_most_programs_use_are_there() -> None:
    names = [name for name, _, _ in uses()]
    absent = [name for name in names if missing(name)]
    assert len(names) > 450
    assert absent == []


def test_all_of_their_keyword_arguments_are_there() -> None:
    calls = [f"{name}({word}=None)" for name, _, words in uses() for word in words]
    assert len(calls) > 400
    assert [call for call in calls if not missing(call.partition("(")[0]) and missing(call)] == []


@pytest.mark.parametrize("program", ["tf.no_such_name", "tf.nn.relu(no_such_argument=1)"])
def test_what_is_not_there_is_found(program: str) -> None:
    assert missing(program)
