"""What becomes of operators that are multiplied, solved with, inverted: rules for classes, found by the closest one.

Each file of a structure registers its rules, so the base class knows no structure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from typing import Any, Final, TypeVar

Rule = Callable[..., Any]
_Rule = TypeVar("_Rule", bound=Rule)
_RULES: Final[dict[tuple[str, tuple[type, ...]], Rule]] = {}


def rule(what: str, *classes: type) -> Callable[[_Rule], _Rule]:
    """Registers a function of operators of these classes, or of classes derived from them.

    Args:
        what: "adjoint", "inverse" or "cholesky" for one operator, "matmul" or "solve" for two.
        *classes: One for each operator.
    """

    def register(function: _Rule) -> _Rule:
        _RULES[what, classes] = function
        return function

    return register


def combine(what: str, *operators: Any) -> Any:
    """The operator that the closest rule gives.

    Args:
        what: As of rule.
        *operators: The arguments.
    """
    lines = [list(enumerate(type(operator).__mro__)) for operator in operators]
    closest = sorted(product(*lines), key=lambda chosen: sum(distance for distance, _ in chosen))
    for chosen in closest:
        found = _RULES.get((what, tuple(each for _, each in chosen)))
        if found is not None:
            return found(*operators)
    raise NotImplementedError(f"{what} of {', '.join(operator.name for operator in operators)} has no rule.")


def all_hint(hints: Iterable[bool | None]) -> bool | None:
    """True if all are true, else unknown.

    Args:
        hints: What is said of each operator.
    """
    return all(hints) or None


def implied(given: bool | None, follows: bool | None, what: str) -> bool | None:
    """A hint that follows from others, unless the one that is given contradicts it.

    Args:
        given: What the user said.
        follows: Whether it follows that it is true.
        what: The sentence of the error.

    Raises:
        ValueError: If it follows, but was said to be false.
    """
    if not follows:
        return given
    if given is False:
        raise ValueError(what)
    return True
