"""Protects the picture of a run: each box names the code that it stands for, which runs in the order of the boxes.

docs/images/session-run.svg has it in the attribute `data-code` of a box's first line, as MODULE:NAME under graphflow,
several of them if a box stands for several. tests/test_layout.py looks after the picture of the rooms.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, reduce
from importlib import import_module
from types import CodeType, FrameType, FunctionType
from typing import Any, Final
from xml.etree import ElementTree

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.plan import pipeline
from graphflow._core.runtime.compiled.observe import Observer
from tests.test_layout import PACKAGE, PROJECT

ROWS: Final = ("Every run", "Planned once", "Compiled when hot")
_ORDINALS: Final = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


@cache
def picture() -> ElementTree.Element:
    return ElementTree.parse(PROJECT / "docs" / "images" / "session-run.svg").getroot()


@cache
def rows() -> Mapping[str, Sequence[tuple[str, Sequence[str]]]]:
    """The boxes of each row, in order: the text, and the names of the code."""
    found: dict[str, list[tuple[str, Sequence[str]]]] = {}
    for part in picture():
        kind = part.get("class", "")
        if kind == "head":
            found[part.text or ""] = row = []
        elif kind.startswith("box"):
            codes = [text for text in part if text.get("data-code")]
            rectangles = [child for child in part if child.tag.endswith("rect")]
            assert len(codes) == len(rectangles), f"a box of {[c.text for c in codes]} does not say its code"
            row += [(text.text or "", (text.get("data-code") or "").split()) for text in codes]
    return found


def meant(name: str) -> Any:
    """The function or class that MODULE:NAME is."""
    module, _, path = name.partition(":")
    return reduce(getattr, path.split("."), import_module(f"{PACKAGE}.{module}"))


@contextmanager
def order_of_calls() -> Iterator[list[CodeType]]:
    """Inside, the functions that this thread calls are noted, each once, and those of threads that begin."""
    found: dict[CodeType, None] = {}
    called: list[CodeType] = []

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            found.setdefault(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        yield called
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        called += found


def test_the_rows_are_there() -> None:
    assert tuple(rows()) == ROWS
    assert [len(boxes) for boxes in rows().values()] == [5, 8, 8]


def test_every_pass_is_in_the_picture_in_its_order() -> None:
    boxes = [code for _, codes in rows()["Planned once"] for code in map(meant, codes)]
    names = [code.__name__ for code in boxes]
    assert names == ["lower", *(p.__name__ for p in pipeline.PASSES), "partition", "assemble"]
    assert all(p in boxes for p in pipeline.PASSES)


@pytest.mark.parametrize("row", ROWS)
def test_what_a_box_says_is_what_runs_in_the_order_of_the_boxes(row: str) -> None:
    x = gf.placeholder(gf.float32, [None, 4])
    y = gf.reduce_sum(gf.exp(x) * 2.0 + gf.sqrt(x))
    with gf.Session(config=gf.ConfigProto(compiled="always")) as session, order_of_calls() as called:
        for _ in range(2):
            session.run(y, {x: np.ones([2, 4], np.float32)})
    codes = [meant(name) for _, names in rows()[row] for name in names]
    expected = [code.__code__ for code in codes if isinstance(code, FunctionType)]
    assert len(expected) >= 4
    assert [code for code in called if code in set(expected)] == expected


def test_the_run_that_is_observed_is_the_one_that_the_picture_names(monkeypatch: pytest.MonkeyPatch) -> None:
    runs: list[int] = []
    observed: list[int] = []
    observe = Observer.run
    x = gf.placeholder(gf.float32, [2])
    y = gf.exp(x) * 2.0

    def noting(*arguments: Any) -> Any:
        observed.append(len(runs))
        return observe(*arguments)

    monkeypatch.setattr(Observer, "run", noting)
    with gf.Session() as session:
        for _ in _ORDINALS:
            session.run(y, {x: [1.0, 2.0]})
            runs.append(len(runs))
    labels = [text.text for text in picture() if text.get("class") == "label"]
    assert f"the {_ORDINALS[observed[0]]} run with the same shapes" in labels
