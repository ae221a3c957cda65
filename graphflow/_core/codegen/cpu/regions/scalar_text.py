"""The scalar language of elementwise ops: text to a typed expression tree, which each generator prints its own way.

An expression is Python text over named values: + - * / // % **, comparisons, `a if c else b`, and/or/not, bit operators
and the functions below. Every value has a dtype and there is no promotion: operands must agree, a literal takes the
dtype of the operand beside it (the statement's if there is none), so that float32 stays float32. Conditionals are
selections: both sides are computed, and an integer division in one counts as an error only if it is chosen.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping

from graphflow._core.common import syntax
from graphflow._core.common.records import dataclass

FLOATS = ("float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16")
DTYPES = (*FLOATS, *INTEGERS, "bool")

FLOAT_FUNCTIONS = (
    *(
        "exp",
        "expm1",
        "log",
        "log1p",
        "tanh",
        "erf",
        "erfc",
        "sigmoid",
        "softplus",
        "sqrt",
        "rsqrt",
        "sin",
        "cos",
    ),
    *(
        "tan",
        "asin",
        "acos",
        "atan",
        "sinh",
        "cosh",
        "asinh",
        "acosh",
        "atanh",
        "lgamma",
        "exp2",
        "log2",
        "log10",
    ),
)
ROUNDINGS = ("floor", "ceil", "trunc", "round")
DIVISIONS = ("floordiv", "floormod", "truncatediv", "truncatemod")
COMPARISONS = ("lt", "le", "eq", "ne")
_SYNONYMS = {"minimum": "min", "maximum": "max", "rint": "round"}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.FloorDiv: "floordiv",
    ast.Mod: "floormod",
    ast.Pow: "pow",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
}
# operation, whether the operands change places
_COMPARISONS: dict[type[ast.cmpop], tuple[str, bool]] = {
    ast.Lt: ("lt", False),
    ast.LtE: ("le", False),
    ast.Gt: ("lt", True),
    ast.GtE: ("le", True),
    ast.Eq: ("eq", False),
    ast.NotEq: ("ne", False),
}
_CONSTANTS = {"inf": math.inf, "nan": math.nan, "pi": math.pi}
_LARGEST_UNROLLED_POWER = 16


class ScalarTextError(ValueError):
    """The text is not in the scalar language, or its operands' dtypes do not agree; the op stays on NumPy."""


@dataclass(frozen=True, eq=False)
class Node:
    """A typed operation. `op` is "name" (with `name`), "literal" (with `value`) or what is done to `args`.

    A node that is used twice is one object, to be computed once.
    """

    op: str
    dtype: str
    args: tuple[Node, ...] = ()
    name: str = ""
    value: float = 0


def _groups(dtype: str) -> str:
    return "float" if dtype in FLOATS else "bool" if dtype == "bool" else "integer"


_LOGICAL = {"and", "or", "xor"}
_NUMERIC = {"add", "sub", "mul", "min", "max", "neg", "abs", "sign", "square", "pow", *ROUNDINGS, *DIVISIONS}
_ALLOWED = {
    "float": {*_NUMERIC, "div", "atan2", *FLOAT_FUNCTIONS},
    "integer": {*_NUMERIC, *_LOGICAL, "lshift", "rshift", "invert"},
    "bool": {*_LOGICAL, "not"},
}
_ARITY = {
    **dict.fromkeys(("pow", "atan2", "min", "max", *DIVISIONS), 2),
    **dict.fromkeys(("abs", "sign", "square", *ROUNDINGS, *FLOAT_FUNCTIONS), 1),
}


class _Parser:
    def __init__(self, text: str, names: Mapping[str, str]) -> None:
        self.text = text
        self.names = names
        self.known: dict[str, Node] = {}

    def error(self, message: str) -> ScalarTextError:
        return ScalarTextError(f"scalar text {self.text!r}: {message}")

    def literal(self, value: float, dtype: str) -> Node:
        if dtype not in FLOATS and not (math.isfinite(value) and int(value) == value):
            raise self.error(f"the literal {value} is not of type {dtype}")
        return Node("literal", dtype, value=value)

    def node(self, op: str, dtype: str, *args: Node) -> Node:
        if op not in _ALLOWED[_groups(dtype)]:
            advice = "; cast the operands or use //" if op == "div" else ""
            raise self.error(f"no {op!r} of {dtype}{advice}")
        if op in ROUNDINGS and dtype in INTEGERS:
            return args[0]
        return Node(op, dtype, args)

    def dtype_of(self, node: ast.expr) -> str | None:
        """The dtype that a node has whatever is expected of it, None for literals alone."""
        match node:
            case ast.Name(id=name):
                return self.names.get(name)
            case ast.Compare() | ast.BoolOp() | ast.UnaryOp(op=ast.Not()):
                return "bool"
            case ast.IfExp(body=body, orelse=orelse):
                return self.dtype_of(body) or self.dtype_of(orelse)
            case ast.UnaryOp(operand=operand):
                return self.dtype_of(operand)
            case ast.BinOp(left=left, right=right):
                return self.dtype_of(left) or self.dtype_of(right)
            case ast.Call(func=ast.Name(id="cast"), args=[_, target]):
                return self.cast_target(target)
            case ast.Call(func=ast.Name(id="isnan" | "isinf" | "isfinite")):
                return "bool"
            case ast.Call(func=ast.Name(id="where"), args=[_, chosen, other]):
                return self.dtype_of(chosen) or self.dtype_of(other)
            case ast.Call(args=arguments):
                return next((found for found in map(self.dtype_of, arguments) if found), None)
        return None

    def cast_target(self, node: ast.expr) -> str:
        match node:
            case ast.Name(id=name) | ast.Constant(value=str(name)) if name in DTYPES:
                return name
        raise self.error(f"cast needs one of the dtypes {', '.join(DTYPES)}")

    def parse(self, node: ast.expr, expected: str) -> Node:
        dtype = self.dtype_of(node) or expected
        if dtype != expected:
            raise self.error(f"{ast.unparse(node)!r} has dtype {dtype}, expected {expected}")
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return self.literal(value, expected)
            case ast.Name(id=name):
                return self.named(name, expected)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.parse(operand, expected)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
                return self.literal(-value, expected)
            case ast.UnaryOp(op=operator, operand=operand):
                logical = expected == "bool" and not isinstance(operator, ast.USub)
                op = "neg" if isinstance(operator, ast.USub) else "not" if logical else "invert"
                return self.node(op, expected, self.parse(operand, expected))
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return self.power(left, right, expected)
            case ast.BinOp(left=left, op=operator, right=right) if type(operator) in _OPERATORS:
                op = _OPERATORS[type(operator)]
                return self.node(op, expected, self.parse(left, expected), self.parse(right, expected))
            case ast.BoolOp(op=operator, values=values):
                result, *rest = [self.parse(part, "bool") for part in values]
                for part in rest:
                    result = Node("and" if isinstance(operator, ast.And) else "or", "bool", (result, part))
                return result
            case ast.Compare(left=left, ops=operators, comparators=comparators):
                return self.compare([left, *comparators], operators)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.select(test, body, orelse, expected)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self.call(_SYNONYMS.get(name, name), arguments, expected)
        raise self.error(f"{ast.unparse(node)!r} is not part of the language")

    def named(self, name: str, dtype: str) -> Node:
        if name in self.names:
            return self.known.setdefault(name, Node("name", dtype, name=name))
        if name in _CONSTANTS:
            return self.literal(_CONSTANTS[name], dtype)
        raise self.error(f"unknown name {name!r}")

    def power(self, base: ast.expr, exponent: ast.expr, dtype: str) -> Node:
        value = self.parse(base, dtype)
        match exponent:
            case ast.Constant(value=int() | float() as number):
                if number == 1:
                    return value
                if number == 2:
                    return self.node("square", dtype, value)
                if number == 0.5 and dtype in FLOATS:
                    return self.root(value)
                if dtype in INTEGERS and 0 < number <= _LARGEST_UNROLLED_POWER and number == int(number):
                    result = value
                    for _ in range(int(number) - 1):
                        result = self.node("mul", dtype, result, value)
                    return result
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=1 | 1.0)) if dtype in FLOATS:
                return self.node("div", dtype, self.literal(1, dtype), value)
        if dtype not in FLOATS:
            raise self.error(f"pow of {dtype} with this exponent")
        return self.node("pow", dtype, value, self.parse(exponent, dtype))

    def root(self, value: Node) -> Node:
        """value ** 0.5, which is not the square root for -inf and -0."""
        dtype = value.dtype
        infinite = Node("eq", "bool", (value, self.literal(-math.inf, dtype)))
        root = self.node("abs", dtype, self.node("sqrt", dtype, value))
        return Node("select", dtype, (infinite, self.literal(math.inf, dtype), root))

    def compare(self, operands: list[ast.expr], operators: list[ast.cmpop]) -> Node:
        result: Node | None = None
        for left, operator, right in zip(operands[:-1], operators, operands[1:], strict=True):
            if type(operator) not in _COMPARISONS:
                raise self.error("only < <= > >= == != compare")
            op, exchanged = _COMPARISONS[type(operator)]
            dtype = self.dtype_of(left) or self.dtype_of(right) or "float64"
            pair = (self.parse(left, dtype), self.parse(right, dtype))
            part = Node(op, "bool", pair[::-1] if exchanged else pair)
            result = part if result is None else Node("and", "bool", (result, part))
        assert result is not None
        return result

    def select(self, test: ast.expr, body: ast.expr, orelse: ast.expr, dtype: str) -> Node:
        return Node(
            "select", dtype, (self.parse(test, "bool"), self.parse(body, dtype), self.parse(orelse, dtype))
        )

    def call(self, name: str, arguments: list[ast.expr], dtype: str) -> Node:
        if name == "cast" and len(arguments) == 2:
            source = self.dtype_of(arguments[0]) or dtype
            value = self.parse(arguments[0], source)
            return value if source == dtype else Node("cast", dtype, (value,))
        if name == "where" and len(arguments) == 3:
            return self.select(arguments[0], arguments[1], arguments[2], dtype)
        if name in ("isnan", "isinf", "isfinite") and len(arguments) == 1:
            return self.classify(name, arguments[0])
        if _ARITY.get(name) != len(arguments):
            raise self.error(f"no function {name!r} of {len(arguments)} arguments")
        if name == "pow":
            return self.power(arguments[0], arguments[1], dtype)
        return self.node(name, dtype, *(self.parse(argument, dtype) for argument in arguments))

    def classify(self, name: str, argument: ast.expr) -> Node:
        dtype = self.dtype_of(argument) or "float64"
        value = self.parse(argument, dtype)
        if dtype not in FLOATS:
            return Node("literal", "bool", value=name == "isfinite")
        if name == "isnan":
            return Node("ne", "bool", (value, value))
        magnitude = Node("abs", dtype, (value,))
        return Node("eq" if name == "isinf" else "lt", "bool", (magnitude, self.literal(math.inf, dtype)))


def parse(text: str, dtype: str, names: Mapping[str, str]) -> Node:
    """The expression tree of a text of dtype `dtype` over `names` (name to dtype); ScalarTextError otherwise."""
    if dtype not in DTYPES:
        raise ScalarTextError(f"scalar text {text!r}: kernels know no dtype {dtype}")
    try:
        tree = syntax.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise ScalarTextError(f"scalar text {text!r}: {error.msg}") from error
    return _Parser(text, names).parse(tree.body, dtype)


def integer_divisors(node: Node) -> Iterator[Node]:
    """What a tree divides integers by."""
    if node.op in DIVISIONS and node.dtype in INTEGERS:
        yield node.args[1]
    for arg in node.args:
        yield from integer_divisors(arg)
