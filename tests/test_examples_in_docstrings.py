"""Protects the examples in docstrings: each runs, in a graph of its own, and prints what stands below it.

Numbers need agree to five digits: they are rounded otherwise on another processor.
"""

from __future__ import annotations

import doctest
import inspect
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np
import pytest

import graphflow as gf
from tests.test_exports import public_callables

EXAMPLES: Final = 110
"""How many of the public names, those that programs use most, have an example; may only grow."""
NUMBER: Final = re.compile(r"(?<![\w.])-?\d+\.\d*(?:e[-+]?\d+)?")


class Rounded(doctest.OutputChecker):
    """Takes floats that are close, and any spaces between words."""

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        texts = [re.sub(r"\s+", "", NUMBER.sub("<number>", text)) for text in (want, got)]
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (want, got)]
        return texts[0] == texts[1] and all(
            math.isclose(a, b, rel_tol=1e-5, abs_tol=1e-6) for a, b in zip(*numbers, strict=True)
        )


def documented() -> Iterator[tuple[str, Any]]:
    """The public functions and classes with an example, once each."""
    found: dict[str, Any] = {}
    for _, _, function in public_callables():
        owner = inspect.getmodule(function)
        for part in function.__qualname__.split(".")[:-1]:
            owner = getattr(owner, part, None)
        for value in (function, owner):
            if ">>>" in (getattr(value, "__doc__", None) or "") and (
                inspect.isroutine(value) or inspect.isclass(value)
            ):
                found.setdefault(f"{value.__module__}.{value.__qualname__}", value)
    yield from found.items()


SHOWN: Final[Mapping[str, Any]] = dict(documented())


@pytest.mark.parametrize("name", SHOWN)
def test_an_example_prints_what_it_says(name: str) -> None:
    value = SHOWN[name]
    test = doctest.DocTestParser().get_doctest(
        inspect.getdoc(value) or "", {"gf": gf, "np": np}, name, inspect.getsourcefile(value), 0
    )
    said: list[str] = []
    with gf.Graph().as_default():
        doctest.DocTestRunner(Rounded(), verbose=False).run(test, out=said.append)
    assert not said, "".join(said)


def test_what_programs_use_most_has_an_example() -> None:
    assert len(SHOWN) >= EXAMPLES, len(SHOWN)
