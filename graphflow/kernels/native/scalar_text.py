"""The scalar language of elementwise ops, typed and translated to the intrinsics of generated kernels.

An expression is Python text over named values: + - * / // % **, comparisons, `a if c else b`, and/or/not, bit
operators and the functions below. Every value has a dtype and there is no promotion: operands must agree, a
literal takes the dtype of the operand beside it (the statement's where there is none), so that float32 stays
float32. Conditionals become selections, both sides are computed; an integer division by zero sets the
kernel's `bad` word unless a condition excludes it.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from dataclasses import dataclass

FLOATS = ("float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16")
DTYPES = (*FLOATS, *INTEGERS, "bool")

_FLOAT_FUNCTIONS = {
    **{
        name: name
        for name in ("exp", "expm1", "log", "log1p", "tanh", "erf", "erfc", "sigmoid", "softplus", "sqrt")
    },
    **{
        name: name
        for name in ("rsqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh")
    },
    **{name: name for name in ("atanh", "lgamma", "exp2", "log2", "log10")},
}
_ROUNDING = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "round", "rint": "round"}
_BINARY_FUNCTIONS = {
    **dict.fromkeys(("min", "minimum"), "minimum"),
    **dict.fromkeys(("max", "maximum"), "maximum"),
    **{name: name for name in ("pow", "atan2", "floordiv", "floormod", "truncatediv", "truncatemod")},
}
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
}
_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
_CONSTANTS = {"inf": math.inf, "nan": math.nan, "pi": math.pi}
_LARGEST_UNROLLED_POWER = 16


class ScalarTextError(ValueError):
    """The text is not in the scalar language, or its operands' dtypes do not agree; the op stays on NumPy."""


@dataclass(frozen=True)
class Translation:
    """Lines that compute intermediate values, then the value itself.

    `guards` tells whether `bad` can be set.
    """

    lines: tuple[str, ...]
    value: str
    guards: bool


def variable(name: str) -> str:
    """What a value is called in generated text, where it must not meet the generator's own names."""
    return f"v_{name}"


class _Translator:
    def __init__(self, text: str, names: Mapping[str, str], prefix: str) -> None:
        self.text = text
        self.names = names
        self.prefix = prefix
        self.lines: list[str] = []
        self.guards = False
        self.condition: str | None = None

    def error(self, message: str) -> ScalarTextError:
        return ScalarTextError(f"scalar text {self.text!r}: {message}")

    def temporary(self, code: str) -> str:
        name = f"{self.prefix}{len(self.lines)}"
        self.lines.append(f"{name} = {code}")
        return name

    def literal(self, value: float | bool, dtype: str) -> str:
        if dtype == "bool":
            return "True" if value else "False"
        if dtype in FLOATS:
            number = float(value)
            if math.isfinite(number):
                return f"{dtype}({number!r})"
            sign = "-" if number < 0 else ""
            return f"{dtype}(float('{sign}inf'))" if math.isinf(number) else f"{dtype}(float('nan'))"
        if not math.isfinite(value) or int(value) != value:
            raise self.error(f"the literal {value} is not of type {dtype}")
        return f"{dtype}({int(value)})"

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

    def convert(self, code: str, source: str, target: str) -> str:
        if source == target:
            return code
        return f"({code} != {self.literal(0, source)})" if target == "bool" else f"to_{target}({code})"

    def wrap(self, code: str, dtype: str) -> str:
        """The value of an operator in its dtype again: Numba widens integers."""
        return f"to_{dtype}({code})" if dtype in INTEGERS else f"({code})"

    def translate(self, node: ast.expr, expected: str) -> str:
        dtype = self.dtype_of(node) or expected
        if dtype != expected:
            raise self.error(f"{ast.unparse(node)!r} has dtype {dtype}, expected {expected}")
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return self.literal(value, expected)
            case ast.Name(id=name):
                if name in self.names:
                    return variable(name)
                if name in _CONSTANTS:
                    return self.literal(_CONSTANTS[name], expected)
                raise self.error(f"unknown name {name!r}")
            case ast.UnaryOp(op=operator, operand=operand):
                return self.unary(operator, self.translate(operand, expected), expected)
            case ast.BinOp(left=left, op=operator, right=right):
                return self.binary(operator, left, right, expected)
            case ast.BoolOp(op=operator, values=values):
                parts = [self.translate(value, "bool") for value in values]
                return "(" + (" & " if isinstance(operator, ast.And) else " | ").join(parts) + ")"
            case ast.Compare(left=left, ops=operators, comparators=comparators):
                return self.compare([left, *comparators], operators)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.select(test, body, orelse, expected)
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self.call(name, arguments, expected)
        raise self.error(f"{ast.unparse(node)!r} is not part of the language")

    def unary(self, operator: ast.unaryop, value: str, dtype: str) -> str:
        if isinstance(operator, ast.Not) or (isinstance(operator, ast.Invert) and dtype == "bool"):
            return f"(not {value})"
        if isinstance(operator, ast.USub) and dtype != "bool":
            return self.wrap(f"-{value}", dtype)
        if isinstance(operator, ast.Invert) and dtype in INTEGERS:
            return self.wrap(f"~{value}", dtype)
        if isinstance(operator, ast.UAdd):
            return value
        raise self.error(f"no such operator for {dtype}")

    def binary(self, operator: ast.operator, left: ast.expr, right: ast.expr, dtype: str) -> str:
        if isinstance(operator, ast.Pow):
            return self.power(left, right, dtype)
        first, second = self.translate(left, dtype), self.translate(right, dtype)
        if isinstance(operator, ast.FloorDiv | ast.Mod):
            return self.divide(
                "floordiv" if isinstance(operator, ast.FloorDiv) else "floormod", first, second, dtype
            )
        if isinstance(operator, ast.Div):
            if dtype not in FLOATS:
                raise self.error(f"/ of {dtype}; cast the operands or use //")
            return f"({first} / {second})"
        symbol = _OPERATORS.get(type(operator))
        logical = symbol in ("&", "|", "^")
        if (
            symbol is None
            or (dtype == "bool" and not logical)
            or (dtype in FLOATS and symbol not in ("+", "-", "*"))
        ):
            raise self.error(f"no such operator for {dtype}")
        return self.wrap(f"{first} {symbol} {second}", dtype)

    def divide(self, kind: str, first: str, second: str, dtype: str) -> str:
        if dtype in INTEGERS:
            divisor = self.temporary(second)
            zero = f"({divisor} == {self.literal(0, dtype)})"
            self.lines.append(
                f"bad = bad | int64({zero if self.condition is None else f'{zero} & {self.condition}'})"
            )
            self.guards = True
            verb, rest = ("floor", kind[5:]) if kind.startswith("floor") else ("truncate", kind[8:])
            return f"integer_{verb}_{'divide' if rest == 'div' else 'modulo'}({first}, {divisor})"
        if dtype == "bool":
            raise self.error("division of bool")
        if kind in ("floordiv", "truncatediv"):
            return f"f_{'floor' if kind == 'floordiv' else 'trunc'}({first} / {second})"
        divisor = self.temporary(second)
        remainder = self.temporary(f"f_fmod({first}, {divisor})")
        if kind == "truncatemod":
            return remainder
        zero = self.literal(0, dtype)
        differ = f"({remainder} != {zero}) & (({remainder} < {zero}) != ({divisor} < {zero}))"
        return f"select({differ}, {remainder} + {divisor}, {remainder})"

    def power(self, base: ast.expr, exponent: ast.expr, dtype: str) -> str:
        value = self.translate(base, dtype)
        match exponent:
            case ast.Constant(value=int() | float() as number):
                if number == 1:
                    return value
                if number == 2 or (
                    dtype in INTEGERS and 0 < number <= _LARGEST_UNROLLED_POWER and number == int(number)
                ):
                    name = self.temporary(value)
                    return self.wrap(" * ".join([name] * int(number)), dtype)
        if dtype not in FLOATS:
            raise self.error(f"pow of {dtype} with this exponent")
        return f"f_pow({value}, {self.translate(exponent, dtype)})"

    def compare(self, operands: list[ast.expr], operators: list[ast.cmpop]) -> str:
        parts = []
        for left, operator, right in zip(operands[:-1], operators, operands[1:], strict=True):
            symbol = _COMPARISONS.get(type(operator))
            if symbol is None:
                raise self.error("only < <= > >= == != compare")
            dtype = self.dtype_of(left) or self.dtype_of(right) or "float64"
            parts.append(f"({self.translate(left, dtype)} {symbol} {self.translate(right, dtype)})")
        return parts[0] if len(parts) == 1 else "(" + " & ".join(parts) + ")"

    def select(self, test: ast.expr, body: ast.expr, orelse: ast.expr, dtype: str) -> str:
        condition = self.temporary(self.translate(test, "bool"))
        outer = self.condition
        self.condition = condition if outer is None else f"{outer} & {condition}"
        chosen = self.translate(body, dtype)
        self.condition = f"(not {condition})" if outer is None else f"{outer} & (not {condition})"
        other = self.translate(orelse, dtype)
        self.condition = outer
        return f"select({condition}, {chosen}, {other})"

    def call(self, name: str, arguments: list[ast.expr], dtype: str) -> str:
        if name == "cast" and len(arguments) == 2:
            source = self.dtype_of(arguments[0]) or dtype
            return self.convert(self.translate(arguments[0], source), source, dtype)
        if name == "where" and len(arguments) == 3:
            return self.select(arguments[0], arguments[1], arguments[2], dtype)
        if name in ("isnan", "isinf", "isfinite") and len(arguments) == 1:
            return self.classify(name, arguments[0])
        values = [self.translate(argument, dtype) for argument in arguments]
        if name in _BINARY_FUNCTIONS and len(values) == 2:
            return self.binary_function(_BINARY_FUNCTIONS[name], arguments, values, dtype)
        if len(values) != 1:
            raise self.error(f"no function {name!r} of {len(values)} arguments")
        return self.unary_function(name, values[0], dtype)

    def classify(self, name: str, argument: ast.expr) -> str:
        dtype = self.dtype_of(argument) or "float64"
        value = self.temporary(self.translate(argument, dtype))
        if dtype not in FLOATS:
            return "True" if name == "isfinite" else "False"
        if name == "isnan":
            return f"({value} != {value})"
        symbol = "==" if name == "isinf" else "<"
        return f"(f_abs({value}) {symbol} {self.literal(math.inf, dtype)})"

    def binary_function(self, name: str, arguments: list[ast.expr], values: list[str], dtype: str) -> str:
        if name in ("minimum", "maximum"):
            return f"{name}({values[0]}, {values[1]})"
        if name == "pow":
            return self.power(arguments[0], arguments[1], dtype)
        if name == "atan2":
            if dtype not in FLOATS:
                raise self.error(f"atan2 of {dtype}")
            return f"f_atan2({values[0]}, {values[1]})"
        return self.divide(name, values[0], values[1], dtype)

    def unary_function(self, name: str, value: str, dtype: str) -> str:
        if name == "square":
            factor = self.temporary(value)
            return self.wrap(f"{factor} * {factor}", dtype)
        if dtype in FLOATS:
            if name in _FLOAT_FUNCTIONS or name in ("abs", "sign"):
                return f"f_{name}({value})"
            if name in _ROUNDING:
                return f"f_{_ROUNDING[name]}({value})"
        elif dtype in INTEGERS:
            if name in _ROUNDING:
                return value
            operand, zero = self.temporary(value), self.literal(0, dtype)
            if name == "abs":
                return f"select({operand} < {zero}, to_{dtype}(-{operand}), {operand})"
            if name == "sign":
                return f"to_{dtype}(int64({operand} > {zero}) - int64({operand} < {zero}))"
        raise self.error(f"no function {name!r} of {dtype}")


def translate(text: str, dtype: str, names: Mapping[str, str], prefix: str) -> Translation:
    """Translate an expression of dtype `dtype` over `names` (name to dtype).

    Intermediate names start with `prefix`.
    """
    if dtype not in DTYPES:
        raise ScalarTextError(f"scalar text {text!r}: kernels know no dtype {dtype}")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except SyntaxError as error:
        raise ScalarTextError(f"scalar text {text!r}: {error.msg}") from error
    translator = _Translator(text, names, prefix)
    value = translator.translate(tree.body, dtype)
    return Translation(tuple(translator.lines), value, translator.guards)
