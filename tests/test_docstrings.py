"""Protects what is said of the public functions, classes and methods: each argument has its line, in Google's style.

The reference, `help` and editors show it. The classes of errors, results and the rest have sections of the same style.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tests.test_exports import public_callables

WITHOUT: Final[Mapping[str, int]] = {
    "graphflow._core.checkpoint.atomic": 3,
    "graphflow._core.checkpoint.bundle_writer": 1,
    "graphflow._core.checkpoint.opening": 1,
    "graphflow._core.checkpoint.reader": 1,
    "graphflow._core.cluster.resolvers.base": 1,
    "graphflow._core.common.files.paths": 1,
    "graphflow._core.common.printable": 1,
    "graphflow._core.compiler.values": 1,
    "graphflow._core.graph.attributes": 1,
    "graphflow._core.graph.defaults": 1,
    "graphflow._core.graph.elements": 2,
    "graphflow._core.ops.control_flow.flow_basics": 1,
    "graphflow._core.ops.core": 1,
    "graphflow._core.ops.distributed.collectives": 1,
    "graphflow._core.ops.rules": 1,
    "graphflow._core.ops.state.initializers": 3,
    "graphflow._core.resources.compressed": 2,
    "graphflow._core.resources.records": 2,
    "graphflow.contrib.crf": 3,
    "graphflow.contrib.train_op": 1,
    "graphflow.distribute.collective": 1,
    "graphflow.distribute.in_graph": 1,
    "graphflow.distribute.parameter_server": 1,
    "graphflow.distribute.reducers.packing": 1,
    "graphflow.distribute.values": 2,
    "graphflow.distribute.variables": 3,
    "graphflow.distributions.kullback_leibler": 1,
    "graphflow.extend.kernels": 1,
    "graphflow.extend.lowering": 1,
    "graphflow.keras.losses": 15,
    "graphflow.keras.metrics.functions": 20,
    "graphflow.layers.optimize_loss": 1,
    "graphflow.losses.reduction": 7,
    "graphflow.nn.cells": 1,
    "graphflow.saved_model.files": 4,
    "graphflow.saved_model.foreign": 1,
    "graphflow.testing.strategy_model": 7,
    "graphflow.train.optimizers.slots": 1,
}
"""How many functions and methods of a module have arguments without a section that names them; may only shrink."""

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
        # A dataclass's __init__ does not say itself where it is from.
        module = name.rsplit(".", 2 if kind == "methods" else 1)[0]
        value = described(module, function)
        parameters = [
            p for p in inspect.signature(function).parameters.values() if p.name not in ("self", "cls")
        ]
        made = function.__code__.co_filename == "<string>"  # By dataclass, for some at the first use.
        if value is not function and (made or all(p.kind in VARIADIC for p in parameters)):
            continue  # Its class's fields say what it takes.
        yield module, name, [p.name for p in parameters], inspect.cleandoc(value.__doc__ or "")


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
    more = {m: names for m, names in without.items() if len(names) > WITHOUT.get(m, 0)}
    assert not more, f"give the arguments of these a section Args: {more}"
    fewer = {module: len(without.get(module, ())) for module in WITHOUT}
    fewer = {module: number for module, number in fewer.items() if number < WITHOUT[module]}
    assert not fewer, f"WITHOUT may shrink: {fewer}"


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
