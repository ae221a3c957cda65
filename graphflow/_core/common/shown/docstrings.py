"""What is said of functions that are made of others, as gf.layers.dense of gf.layers.Dense: their arguments' lines.

So a function that takes the arguments of a class or of another function is documented as fully as that one.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping


def arguments_said(documented: type | object) -> dict[str, str]:
    """The lines of each argument in a docstring's section Args.

    Args:
        documented: A function or a class; what a class does not say, its base classes may.

    Returns:
        For each argument its lines as they stand there, without the name before them; {} if there is no section.
    """
    said: dict[str, str] = {}
    for holder in documented.__mro__ if isinstance(documented, type) else (documented,):
        section = re.search(
            r"^Args:\n((?:    .*\n|\n)+)", f"{inspect.cleandoc(holder.__doc__ or '')}\n", re.MULTILINE
        )
        if section is not None:
            found = dict(re.findall(r"^    \*{0,2}(\w+): (.*(?:\n     .*)*)", section[1], re.MULTILINE))
            said = {**found, **said}
    return said


def document(
    sentence: str,
    arguments: Iterable[str],
    said: Mapping[str, str],
    returns: str,
    example: tuple[str, str] | None = None,
) -> str:
    """A docstring with a section for the arguments.

    Args:
        sentence: What the function is or gives.
        arguments: The names of its arguments, in their order.
        said: What is said of each; one of which nothing is said is left out.
        returns: What it gives, one line.
        example: Lines of Python, and what the last of them prints.

    Returns:
        The text of the docstring.
    """
    lines = [f"    {name}: {said[name]}" for name in arguments if name in said]
    shown = []
    if example is not None:
        code, printed = example
        shown = ["Examples:", *(f"    >>> {line}" for line in code.splitlines()), f"    {printed}", ""]
    return "\n".join([sentence, "", "Args:", *lines, "", "Returns:", f"    {returns}", "", *shown])
