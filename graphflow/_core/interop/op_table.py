"""The definition of each op type in TensorFlow 1.15: its inputs, outputs and attributes, with their types and defaults.

Graphs are written with TensorFlow's attributes and read with TensorFlow's defaults. The facts are recorded from
TensorFlow itself in tensorflow_ops.txt, by tests/oracle/op_table.py, which says how a line is read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from graphflow._core.common.records import dataclass

_NO_DEFAULT: Final = object()


@dataclass(frozen=True)
class Argument:
    """An input or output: `type` is a dtype's name or the attribute that holds it.

    `count` is the attribute that holds the length of a list, "" if it is no list; `types` says that `type` is the
    attribute that lists the types of a list; `reference` that it is a variable and not its value.
    """

    name: str
    type: str
    count: str = ""
    types: bool = False
    reference: bool = False

    @staticmethod
    def parse(text: str) -> Argument:
        """Reads "name:type", see the module."""
        name, _, kind = text.partition(":")
        reference = kind.startswith("&")
        count, star, kind = kind.lstrip("&").rpartition("*")
        return Argument(name, kind, count, bool(star) and not count, reference)


@dataclass(frozen=True)
class Attribute:
    """An attribute: `type` is TensorFlow's name, such as "list(int)"."""

    name: str
    type: str
    default: Any = _NO_DEFAULT

    @property
    def optional(self) -> bool:
        """Whether it has a default."""
        return self.default is not _NO_DEFAULT

    @staticmethod
    def parse(text: str) -> Attribute:
        """Reads "name:type=default", see the module."""
        declared, equals, default = text.partition("=")
        name, _, kind = declared.partition(":")
        return Attribute(name, kind, json.loads(default) if equals else _NO_DEFAULT)


@dataclass(frozen=True)
class OpType:
    """One op type as TensorFlow declares it."""

    name: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    attributes: Mapping[str, Attribute]
    stateful: bool

    @staticmethod
    def parse(line: str) -> OpType:
        """Reads a line of the table."""
        head, _, attributes = line.partition(" |")
        left, _, right = head.partition(" ->")
        name, *inputs = left.split()
        parsed = [Attribute.parse(a) for a in attributes.strip().split("; ") if a]
        return OpType(
            name.lstrip("!"),
            tuple(map(Argument.parse, inputs)),
            tuple(map(Argument.parse, right.split())),
            {a.name: a for a in parsed},
            name.startswith("!"),
        )


@cache
def _lines() -> Mapping[str, str]:
    text = Path(__file__).with_name("tensorflow_ops.txt").read_text("utf-8")
    return {line.split(" ", 1)[0].lstrip("!"): line for line in text.splitlines() if line}


@cache
def tensorflow_op(name: str) -> OpType | None:
    """TensorFlow's declaration of an op type; None if TensorFlow has none, or it is not in the table."""
    line = _lines().get(name)
    return None if line is None else OpType.parse(line)


def tensorflow_ops() -> list[str]:
    """The names of all op types in the table."""
    return list(_lines())
