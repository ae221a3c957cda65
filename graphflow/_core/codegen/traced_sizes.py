"""Sizes that note what is done with them, so that it can be done again for others without the code that did it.

What is computed from some sizes, such as a plan laid out in memory, is computed once with a `Size` for each that may
be another the next time. It has a number, and code goes the way that it goes for this number. The trace notes the
arithmetic, and each comparison with how it ended. For other numbers the arithmetic is done again; if a comparison
ends otherwise, the code would go another way, and the trace does not hold.

A Size is no int on purpose: whatever needs one asks for it, by `__index__`, and that is noted as a comparison with the
number it was. So nothing depends on a size without being noted. What is taken as a key of a dictionary is the same only
if it was computed the same way; code must be right, if not as good, when equal sizes are taken for different ones.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

Replay = Callable[[Sequence[int]], "list[int] | None"]
"""Given the sizes: the results that were asked for; None if the trace does not hold for these."""

_MOST_NODES: Final = 200_000
_ARITHMETIC: Final[dict[str, Callable[[int, int], int]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}
_COMPARISONS: Final[dict[str, Callable[[int, int], bool]]] = {
    "==": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
}


class TraceError(Exception):
    """Sizes were used in a way of which no trace is kept."""


class Trace:
    """The arithmetic on some sizes, and the comparisons. For one thread at a time.

    A node is an operation with the numbers of its operands; equal operations are one node.
    """

    def __init__(self) -> None:
        self._nodes: list[tuple[Any, ...]] = []
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._found: list[int] = []
        self._guards: dict[tuple[str, int, int], bool] = {}
        self._inputs = 0
        self._closed = False

    def size(self, number: int) -> Size:
        """A size that may be another one the next time."""
        self._inputs += 1
        return self._node(("input", self._inputs - 1), number)

    def call(self, function: Callable[..., Sequence[int]], count: int, *arguments: Any) -> tuple[Any, ...]:
        """The `count` results of a function of sizes, which is called again for others: of how it goes its way,
        nothing is noted. So nothing but numbers may depend on it.
        """
        operands = tuple(self.number_of(a) for a in arguments)
        found = function(*[self._found[k] for k in operands])
        results = tuple(found)
        if len(results) != count:
            raise ValueError(f"{function} gave {len(results)} results, not {count}.")
        whole = self._node(("call", function, operands), 0)
        return tuple(self._node(("of", whole.node, k), int(n)) for k, n in enumerate(results))

    def number_of(self, value: Any) -> int:
        """The node of a size, or of a number."""
        if type(value) is Size:
            if value.trace is not self:
                raise TraceError("A size of another trace.")
            return value.node
        return self._node(("number", operator.index(value)), operator.index(value)).node

    def close(self) -> None:
        """No more is noted: a size that is used after this is an error."""
        self._closed = True

    @property
    def guards(self) -> int:
        """How many comparisons there were."""
        return len(self._guards)

    def apply(self, op: str, left: Any, right: Any) -> Any:
        """The result of an operation on sizes and numbers; simpler if that is the same for all sizes."""
        if type(left) is Size and type(right) is Size and left.node == right.node and op == "-":
            return 0
        if type(right) is not Size:
            if (op in "+-" and right == 0) or (op in ("*", "//") and right == 1):
                return left
            if op == "*" and right == 0:
                return 0
            if op == "%" and right == 1:
                return 0
        elif type(left) is not Size:
            if op == "+" and left == 0:
                return right
            if op == "*" and left in (0, 1):
                return right if left else 0
            if op in "+*":
                left, right = right, left
        if type(right) is not Size:
            simpler = self._simpler(op, left, int(right))
            if simpler is not None:
                return simpler
        a, b = self.number_of(left), self.number_of(right)
        if op in ("//", "%") and self._nodes[a][0] == "*" and b in self._nodes[a][1:]:
            first, second = self._nodes[a][1:]
            return self._of(second if b == first else first) if op == "//" else 0
        return self._node((op, a, b), _ARITHMETIC[op](self._found[a], self._found[b]))

    def _simpler(self, op: str, left: Size, right: int) -> Any:
        """(n * a) * b, (n * a) // b and (n * a) % b if b divides a, and (n + a) + b."""
        node = self._nodes[left.node]
        if len(node) != 3 or node[0] not in "*+" or self._nodes[node[2]][0] != "number":
            return None
        inner, factor = Size(self, node[1], self._found[node[1]]), self._nodes[node[2]][1]
        if node[0] == "+":
            if op not in "+-":
                return None
            return self.apply("+", inner, factor + (right if op == "+" else -right))
        if op == "*":
            return self.apply("*", inner, factor * right)
        if op in ("//", "%") and right and factor % right == 0:
            return self.apply("*", inner, factor // right) if op == "//" else 0
        return None

    def _of(self, place: int) -> Any:
        """A node as a size, or as a number if it is one."""
        node = self._nodes[place]
        return node[1] if node[0] == "number" else Size(self, place, self._found[place])

    def compare(self, op: str, left: Any, right: Any) -> bool:
        """How a comparison ends, which is noted."""
        a, b = self.number_of(left), self.number_of(right)
        if a == b:
            return op != "<"
        found = _COMPARISONS[op](self._found[a], self._found[b])
        if self._nodes[a][0] != "number" or self._nodes[b][0] != "number":
            if self._closed:
                raise TraceError("A size is looked at after its trace was closed.")
            if op == "==" and a > b:
                a, b = b, a
            self._guards.setdefault((op, a, b), found)
        return found

    def _node(self, node: tuple[Any, ...], number: int) -> Size:
        place = self._numbers.get(node)
        if place is None:
            if self._closed or len(self._nodes) >= _MOST_NODES:
                raise TraceError("The trace is closed." if self._closed else "The trace is too long.")
            place = self._numbers[node] = len(self._nodes)
            self._nodes.append(node)
            self._found.append(number)
        return Size(self, place, self._found[place])

    def replay(self, results: Sequence[int], checked: bool = True) -> Replay:
        """A function that gives the numbers of some nodes for other sizes.

        checked: whether it looks if the comparisons end in the same way, of which it needs all sizes.
        """
        guards = self._guards if checked else {}
        needed = {*results, *(k for _, a, b in guards for k in (a, b))}
        for place in range(len(self._nodes) - 1, -1, -1):
            if place in needed:
                needed.update(self._operands(place))
        checks: dict[int, list[str]] = {}
        for (op, a, b), expected in guards.items():
            test = f"{self._text(a)} {op} {self._text(b)}"
            line = f"    if not {test}: return None" if expected else f"    if {test}: return None"
            checks.setdefault(max(a, b), []).append(line)
        functions: list[Any] = []
        lines = ["def replay(sizes):"]
        for place in range(len(self._nodes)):
            if place in needed:
                lines += self._line(place, functions)
            lines += checks.get(place, [])
        lines.append(f"    return [{', '.join(self._text(k) for k in results)}]")
        scope: dict[str, Any] = {f"f{k}": function for k, function in enumerate(functions)}
        exec(compile("\n".join(lines), "<sizes>", "exec"), scope)
        found: Replay = scope["replay"]
        return found

    def _operands(self, place: int) -> Sequence[int]:
        node = self._nodes[place]
        if node[0] in ("input", "number"):
            return ()
        if node[0] == "call":
            operands: tuple[int, ...] = node[2]
            return operands
        return (node[1],) if node[0] == "of" else (node[1], node[2])

    def _text(self, place: int) -> str:
        node = self._nodes[place]
        return f"({node[1]})" if node[0] == "number" else f"t{place}"

    def _line(self, place: int, functions: list[Any]) -> list[str]:
        node = self._nodes[place]
        if node[0] == "number":
            return []
        if node[0] == "input":
            text = f"sizes[{node[1]}]"
        elif node[0] == "call":
            functions.append(node[1])
            text = f"f{len(functions) - 1}({', '.join(self._text(k) for k in node[2])})"
        elif node[0] == "of":
            text = f"t{node[1]}[{node[2]}]"
        else:
            text = f"{self._text(node[1])} {node[0]} {self._text(node[2])}"
        return [f"    t{place} = {text}"]


class Size:
    """A size of a trace: its node, and the number that it is this time."""

    __slots__ = ("node", "number", "trace")

    def __init__(self, trace: Trace, node: int, number: int) -> None:
        self.trace = trace
        self.node = node
        self.number = number

    def __add__(self, other: Any) -> Any:
        return self.trace.apply("+", self, other) if _is_whole(other) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return self.trace.apply("+", other, self) if _is_whole(other) else NotImplemented

    def __sub__(self, other: Any) -> Any:
        return self.trace.apply("-", self, other) if _is_whole(other) else NotImplemented

    def __rsub__(self, other: Any) -> Any:
        return self.trace.apply("-", other, self) if _is_whole(other) else NotImplemented

    def __mul__(self, other: Any) -> Any:
        return self.trace.apply("*", self, other) if _is_whole(other) else NotImplemented

    def __rmul__(self, other: Any) -> Any:
        return self.trace.apply("*", other, self) if _is_whole(other) else NotImplemented

    def __floordiv__(self, other: Any) -> Any:
        if not _is_whole(other):
            return NotImplemented
        return self.trace.apply("//", self, _not_zero(other))

    def __rfloordiv__(self, other: Any) -> Any:
        return self.trace.apply("//", other, _not_zero(self)) if _is_whole(other) else NotImplemented

    def __mod__(self, other: Any) -> Any:
        return self.trace.apply("%", self, _not_zero(other)) if _is_whole(other) else NotImplemented

    def __rmod__(self, other: Any) -> Any:
        return self.trace.apply("%", other, _not_zero(self)) if _is_whole(other) else NotImplemented

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __neg__(self) -> Any:
        return self.trace.apply("-", 0, self)

    def __eq__(self, other: object) -> bool:
        return self.trace.compare("==", self, other) if _is_whole(other) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self.trace.compare("==", self, other) if _is_whole(other) else NotImplemented

    def __lt__(self, other: Any) -> bool:
        return self.trace.compare("<", self, other) if _is_whole(other) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return self.trace.compare("<=", self, other) if _is_whole(other) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self.trace.compare("<", other, self) if _is_whole(other) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self.trace.compare("<=", other, self) if _is_whole(other) else NotImplemented

    def __bool__(self) -> bool:
        return not self.trace.compare("==", self, 0)

    def __hash__(self) -> int:
        return hash((id(self.trace), self.node))

    def __index__(self) -> int:
        self.trace.compare("==", self, self.number)
        return self.number

    __int__ = __index__

    def __float__(self) -> float:
        return float(self.__index__())

    def __repr__(self) -> str:
        return repr(self.__index__())

    def __format__(self, spec: str) -> str:
        return format(self.__index__(), spec)


def is_traced(value: object) -> bool:
    """Whether a number is a size of a trace."""
    return type(value) is Size


def trace_of(values: Sequence[Any]) -> Trace | None:
    """The trace of the sizes among some numbers; None if there are none."""
    return next((value.trace for value in values if type(value) is Size), None)


def called(function: Callable[..., Sequence[int]], count: int, *arguments: Any) -> Sequence[Any]:
    """The `count` results of a function of numbers, by `Trace.call` if sizes of a trace are among them."""
    trace = trace_of(arguments)
    return function(*arguments) if trace is None else trace.call(function, count, *arguments)


def number(value: Any) -> int:
    """The number that a size is this time, without a note of that: for those who only tell of it."""
    found: int = value.number if type(value) is Size else value
    return found


def numbers(values: Sequence[Any]) -> tuple[int, ...]:
    """The same of several."""
    return tuple([number(value) for value in values])


def _is_whole(value: object) -> bool:
    return type(value) is Size or (hasattr(value, "__index__") and not isinstance(value, bytes | str))


def _not_zero(divisor: Any) -> Any:
    """A divisor, of which it is noted that it is not 0."""
    if not divisor:
        raise ZeroDivisionError("A size is divided by 0.")
    return divisor
