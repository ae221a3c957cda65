"""Protects what is said of the public functions, classes and methods: each argument has its line, in Google's style.

The reference, `help` and editors show it. The classes of errors, results and the rest have sections of the same style.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, Final

from tests.test_exports import public_callables

VARIADIC: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
SECTION: Final = re.compile(r"^(Args|Returns|Raises|Yields|Attributes|Examples?):$", re.MULTILINE)


def described(module: str, function: Callable[..., Any]) -> Any:
    """What a function's docstring belongs to: itself; of an __init__, its class, unless it is shared and has one."""
    if function.__name__ != "__init__" or arguments_of(inspect.cleandoc(function.__doc__ or "")):
        return function
    owner: Any = sys.modules[module]
    for part in function.__qualname__.split(".")[:-1]:
        owner = getattr(owner, part, None)
    return function if owner is None else owner


def public_documents() -> Iterator[tuple[str, str, list[str], str]]:
    """Each public function and method: its module, its name, its arguments, and what is said of it."""
    for kind, name, function in public_callables():
        if function.__module__ == "typing":
            continue  # A protocol's __init__.
        # A dataclass's __init__ does not say itself where it is from.
        module = name.rsplit(".", 2 if kind == "methods" else 1)[0]
        value = described(module, function)
        parameters = [
            p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "cls")
        ]
        made = function.__code__.co_filename == "<string>"  # By dataclass, for some at the first use.
        names = [p.name for p in parameters if not (made and p.name.startswith("_"))]
        if value is not function and all(p.kind in VARIADIC for p in parameters):
            if not dataclasses.is_dataclass(value):
                continue  # It hands on what it is given.
            # It makes way for a dataclass's at the first use.
            names = [f.name for f in dataclasses.fields(value) if f.init and not f.name.startswith("_")]
        yield module, name, names, inspect.cleandoc(value.__doc__ or "")


def arguments_of(text: str) -> list[str] | None:
    """The names in the section of arguments, in order; None if there is no section."""
    section = re.search(r"^Args:\n((?:    .*\n|\n)+)", f"{text}\n", re.MULTILINE)
    return None if section is None else re.findall(r"^    \*{0,2}(\w+): ", section[1], re.MULTILINE)


def test_each_argument_has_its_line() -> None:
    without: dict[str, list[str]] = {}
    for module, name, arguments, text in public_documents():
        said = arguments_of(text)
        assert said is None or said == arguments, f"{name}({', '.join(arguments)}) documents {said}"
        if arguments and said is None:
            without.setdefault(module, []).append(name)
    assert not without, f"give the arguments of these a section Args: {without}"


def test_sections_stand_in_one_order_and_say_something() -> None:
    order = ["Args", "Returns", "Yields", "Raises"]
    for _, name, _, text in public_documents():
        if not text:
            continue
        assert not SECTION.match(text), f"{name} begins with a section: say first what it is"
        found = [section for section in SECTION.findall(text) if section in order]
        assert max(Counter(found).values(), default=1) == 1, f"{name} has a section twice: {found}"
        assert found == sorted(found, key=order.index), f"{name}: the order is {order}"
        for section in SECTION.finditer(text):
            assert text[section.end() :].startswith("\n    "), f"{name}: {section[0]} is empty"
