"""Rowwise: a function of one element, turned into one of many elements at once, with the same bits.

A map is called once for each element of a dataset, and for a small element a call of NumPy costs more than its work.
If a batch follows, each operation is called once for all its elements, which lie one below the other. That is done only
if the result is the same to the last bit: for operations that are exact or correctly rounded, so that the order of the
elements does not matter, and for those that only move elements. Any other operation without side effects is called for
one row after the other. A function with an operation that allows neither runs element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from graphflow._core.common.records import dataclass
from graphflow._core.kernels.io.parsing import rows_parser
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan import kinds
from graphflow._core.plan.ir import PASS_THROUGH, Instruction, Plan
from graphflow._core.runtime.assemble import operand
from graphflow._core.runtime.context import RunContext

Rule = Callable[[Instruction, "Step"], "Callable[..., Any] | None"]


class NotRowwise(Exception):
    """The results of the elements cannot be put one below the other, such as when their shapes differ."""


@dataclass(frozen=True)
class Step:
    """What a rule is given: which inputs have a row for each element, the kernels, and the constants."""

    stacked: tuple[bool, ...]
    kernels: KernelTable
    constants: tuple[Any, ...]
    """The values of the inputs that are constants, None for the others."""


EXACT: Final = frozenset(
    [
        "Abs",
        "Add",
        "AddV2",
        "BitwiseAnd",
        "BitwiseOr",
        "BitwiseXor",
        "Cast",
        "Ceil",
        "DivNoNan",
        "MulNoNan",
        "Equal",
        "Floor",
        "Greater",
        "GreaterEqual",
        "Inv",
        "Invert",
        "IsFinite",
        "IsInf",
        "IsNan",
        "LeftShift",
        "Less",
        "LessEqual",
        "LogicalAnd",
        "LogicalNot",
        "LogicalOr",
        "Maximum",
        "Minimum",
        "Mul",
        "Neg",
        "NotEqual",
        "OnesLike",
        "RealDiv",
        "Reciprocal",
        "Relu",
        "Relu6",
        "RightShift",
        "Rint",
        "Round",
        "Select",
        "SelectV2",
        "Sign",
        "Sqrt",
        "Square",
        "SquaredDifference",
        "Sub",
        "ZerosLike",
    ]
)
"""Elementwise operations whose result is correctly rounded, and so the same whatever elements are beside it."""

_TEXTS: Final = frozenset(
    [
        "AsString",
        "DecodeBase64",
        "EncodeBase64",
        "StaticRegexFullMatch",
        "StaticRegexReplace",
        "StringLength",
        "StringLower",
        "StringStrip",
        "StringToHashBucketFast",
        "StringToNumber",
        "StringUpper",
    ]
)
"""Operations on each string of their one input."""
_RANDOM: Final = frozenset({"RandomUniform", "RandomUniformInt", "RandomStandardNormal", "TruncatedNormal"})
_CHECKS: Final = frozenset({"Assert", "CheckNumerics"})


class Rowwise:
    """The steps of a function of many elements. Thread-safe."""

    def __init__(self, plan: Plan, kernels: KernelTable, arguments: int) -> None:
        self._plan = plan
        self._kernels = kernels
        self._stacked = {name: position < arguments for position, name in enumerate(plan.feeds)}
        self._constants: dict[str, Any] = {}
        self._steps: list[tuple[Callable[..., Any], tuple[str, ...], tuple[str, ...]]] = []
        if any(_is_large(dims) for i in plan.instructions for dims in i.shapes if not i.is_constant):
            raise NotRowwise
        for instruction in plan.instructions:
            self._add(instruction)

    @staticmethod
    def of(plan: Plan, kernels: KernelTable, arguments: int) -> Rowwise | None:
        """The steps of a plan, whose first feeds are the element; None if it has to run element by element."""
        try:
            return Rowwise(plan, kernels, arguments)
        except NotRowwise:
            return None

    def run(
        self, run: RunContext, columns: Sequence[Any], captured: Sequence[Any], count: int
    ) -> list[np.ndarray[Any, Any]]:
        """The outputs, one row for each element, in memory of their own; NotRowwise if rows do not fit."""
        values = dict(zip(self._plan.feeds, (*columns, *captured), strict=True), **self._constants)
        for function, inputs, outputs in self._steps:
            results = function(run, count, *[values[name] for name in inputs])
            values.update(zip(outputs, results if len(outputs) > 1 else (results,), strict=False))
        fetched: list[np.ndarray[Any, Any]] = []
        for name in self._plan.fetches:
            value = values[name]
            if not self._stacked[name]:
                value = np.asarray(value)
                value = np.broadcast_to(value, (count, *value.shape))
            fetched.append(value if value.flags.owndata and name not in self._plan.feeds else value.copy())
        return fetched

    def _add(self, i: Instruction) -> None:
        if i.is_constant:
            value = i.attrs["value"]
            self._constants[i.outputs[0]] = value[()] if value.ndim == 0 and value.dtype != object else value
            self._stacked[i.outputs[0]] = False
            return
        if i.type == kinds.NO_OP:
            return
        stacked = tuple(self._stacked[name] for name in i.inputs)
        step = Step(stacked, self._kernels, tuple(self._constants.get(name) for name in i.inputs))
        function, rows = self._function(i, step)
        self._stacked.update(dict.fromkeys(i.outputs, rows))
        self._steps.append((function, i.inputs, i.outputs))

    def _function(self, i: Instruction, step: Step) -> tuple[Callable[..., Any], bool]:
        """A function of (run, count, *inputs) that computes an instruction, and whether its result has rows."""
        if (
            i.bodies
            or i.is_variable
            or any(dtype.native is None for dtype in i.dtypes)
            or i.definition is None
        ):
            raise NotRowwise
        if i.type in PASS_THROUGH:
            return lambda run, count, value: value, step.stacked[0]
        random = i.type in _RANDOM
        if (i.stateful and not random and i.type not in _CHECKS) or i.definition.takes_refs:
            raise NotRowwise
        kernel = self._kernels.make(i)
        if i.type in ("RandomUniform", "RandomStandardNormal") and not any(step.stacked):
            return lambda run, count, shape: kernel(run, shape, count), True
        if self._kernels.is_stateful(i.type):
            return _row_by_row(i, step, kernel, pass_run=True), True
        if not any(step.stacked):
            return lambda run, count, *inputs: kernel(*inputs), False
        if i.type in ("Shape", "Rank", "Size"):
            dtype = i.dtypes[0].as_numpy_dtype
            return _SHAPES[i.type](dtype), False
        if i.type in EXACT and not any(dtype.is_complex for dtype in i.dtypes) and not _cuts_fractions(i):
            return _elementwise(step.stacked, kernel, i.type == "Select"), True
        rule = _RULES.get(i.type)
        function = None if rule is None else rule(i, step)
        if function is None and any(_may_be_picture(dims) for dims in i.shapes):
            raise NotRowwise
        return (_row_by_row(i, step, kernel) if function is None else function), True


_MOST_ELEMENTS: Final = 1 << 15
_PICTURE_ELEMENTS: Final = 1 << 12


def _is_large(dims: Any) -> bool:
    """Whether a value of one element has so much in it that its operations had better follow one another in the
    processor's cache, as compiled code has them, than go over many elements each.
    """
    known = [size for size in dims or () if size is not None]
    return len(known) > 0 and int(np.prod(known, dtype=np.int64)) > _MOST_ELEMENTS


def _may_be_picture(dims: Any) -> bool:
    """Whether the result of an operation that is called for each element is too large to be worth it, or may be."""
    if dims is None:
        return True
    if None in dims:
        return len(dims) >= 3
    return int(np.prod(dims, dtype=np.int64)) > _PICTURE_ELEMENTS


def _cuts_fractions(i: Instruction) -> bool:
    """Whether it casts floats to integers: the result for NaN or a large number depends on the elements beside it."""
    return i.type == "Cast" and i.dtypes[0].is_integer and i.attrs["SrcT"].is_floating


_SHAPES: Final[Mapping[str, Callable[[Any], Callable[..., Any]]]] = {
    "Shape": lambda dtype: lambda run, count, x: np.array(x.shape[1:], dtype),
    "Rank": lambda dtype: lambda run, count, x: dtype(x.ndim - 1),
    "Size": lambda dtype: lambda run, count, x: dtype(x.size // count),
}


def _elementwise(stacked: tuple[bool, ...], kernel: Callable[..., Any], select: bool) -> Callable[..., Any]:
    """The kernel on all rows; axes of size one are put in so that elements of different ranks broadcast as before."""

    def run_elementwise(run: Any, count: int, *inputs: Any) -> Any:
        ranks = [np.ndim(x) - own for x, own in zip(inputs, stacked, strict=True)]
        rank = max(ranks)
        if select and (
            ranks[0] not in (0, rank) or inputs[1].shape[stacked[1] :] != inputs[2].shape[stacked[2] :]
        ):
            raise NotRowwise  # A vector that chooses among rows, or an error.
        aligned = [
            x.reshape(count, *[1] * (rank - r), *x.shape[1:]) if own and r < rank else x
            for x, own, r in zip(inputs, stacked, ranks, strict=True)
        ]
        if select:
            return np.where(*aligned)
        return kernel(*aligned)

    return run_elementwise


def _row_by_row(
    i: Instruction, step: Step, kernel: Callable[..., Any], pass_run: bool = False
) -> Callable[..., Any]:
    outputs = len(i.outputs)
    stacked = step.stacked

    def call_rows(run: Any, count: int, *inputs: Any) -> Any:
        results = []
        for row in range(count):
            taken = [operand(x[row]) if own else x for x, own in zip(inputs, stacked, strict=True)]
            results.append(kernel(run, *taken) if pass_run else kernel(*taken))
        if not outputs:
            return ()
        if outputs == 1:
            return stack(results)
        return [stack(column) for column in zip(*results, strict=True)]

    return call_rows


def stack(rows: Sequence[Any]) -> np.ndarray[Any, Any]:
    """Rows one below the other in one array of its own; NotRowwise if their shapes differ."""
    first = np.asarray(rows[0])
    result = np.empty((len(rows), *first.shape), first.dtype)
    for number, row in enumerate(rows):
        if np.shape(row) != first.shape:
            raise NotRowwise
        result[number] = (
            row[()] if first.dtype == object and first.ndim == 0 and isinstance(row, np.ndarray) else row
        )
    return result


# ---- operations that move elements ----------------------------------------------------------------------------------


def _only_first(step: Step) -> bool:
    """Whether only the first input has rows, and the others are the same for all elements."""
    return step.stacked[0] and not any(step.stacked[1:])


def _reshape(i: Instruction, step: Step) -> Callable[..., Any] | None:
    if not _only_first(step):
        return None

    def run_reshape(run: Any, count: int, x: Any, shape: Any) -> Any:
        sizes = [int(size) for size in shape]
        known = int(np.prod([size for size in sizes if size >= 0], dtype=np.int64))
        if x.size == 0 or known == 0 or (x.size // count) % known or min(sizes, default=0) < -1:
            raise NotRowwise
        return x.reshape(count, *sizes)

    return run_reshape


def _shifted(axis: Any, rank: int) -> int:
    """The number that an axis of an element has among the axes of the rows."""
    if not -rank <= axis < rank:
        raise NotRowwise  # An error.
    return int(axis) % rank + 1


def _expand_dims(i: Instruction, step: Step) -> Callable[..., Any] | None:
    if not _only_first(step):
        return None
    return lambda run, count, x, axis: np.expand_dims(x, _shifted(axis, x.ndim))


def _squeeze(i: Instruction, step: Step) -> Callable[..., Any] | None:
    axes = i.attrs.get("squeeze_dims") or ()

    def run_squeeze(run: Any, count: int, x: Any) -> Any:
        chosen = [_shifted(a, x.ndim - 1) for a in axes] or [a for a in range(1, x.ndim) if x.shape[a] == 1]
        return np.squeeze(x, tuple(chosen))

    return run_squeeze


def _transpose(i: Instruction, step: Step) -> Callable[..., Any] | None:
    if not _only_first(step):
        return None
    return lambda run, count, x, order: x.transpose(0, *[_shifted(a, x.ndim - 1) for a in order])


def _with_attribute(name: str) -> Rule:
    """The kernel itself, with the axis that is an attribute shifted; all inputs with rows, or only the first."""

    def rule(i: Instruction, step: Step) -> Callable[..., Any] | None:
        axis = int(i.attrs[name])
        if axis < -1:
            return None  # It may be out of range.
        axis += axis >= 0
        kernel = step.kernels.make(replace(i, attrs={**i.attrs, name: axis}))
        if i.type == "Pack":
            return lambda run, count, *inputs: kernel(*_all_stacked(count, inputs, step.stacked))
        return (lambda run, count, *inputs: kernel(*inputs)) if _only_first(step) else None

    return rule


def _all_stacked(count: int, inputs: Sequence[Any], stacked: Sequence[bool]) -> list[Any]:
    return [
        x if own else np.broadcast_to(x, (count, *np.shape(x)))
        for x, own in zip(inputs, stacked, strict=False)
    ]


def _concat(i: Instruction, step: Step) -> Callable[..., Any] | None:
    if step.stacked[-1]:
        return None
    kernel = step.kernels.make(i)

    def run_concat(run: Any, count: int, *inputs: Any) -> Any:
        parts = _all_stacked(count, inputs[:-1], step.stacked)
        return kernel(*parts, np.int32(_shifted(inputs[-1], parts[0].ndim - 1)))

    return run_concat


def _with_axes(i: Instruction, step: Step) -> Callable[..., Any] | None:
    """Reductions that are exact, and reversal: the axes are the second input."""
    if not _only_first(step) or (i.type in ("Sum", "Prod") and not i.dtypes[0].is_integer):
        return None
    kernel = step.kernels.make(i)
    return lambda run, count, x, axes: kernel(
        x, np.array([_shifted(a, x.ndim - 1) for a in np.ravel(axes)], np.int32)
    )


def _with_leading(*leading: int) -> Rule:
    """Kernels whose further inputs have a row or an entry for each axis: one more is put before them."""

    def rule(i: Instruction, step: Step) -> Callable[..., Any] | None:
        if not _only_first(step):
            return None
        kernel = step.kernels.make(i)

        def run_with_leading(run: Any, count: int, x: Any, *others: Any) -> Any:
            extended = [
                np.concatenate([np.full((1, *np.shape(other)[1:]), value, np.asarray(other).dtype), other])
                for other, value in zip(others, leading, strict=False)
            ]
            return kernel(x, *extended, *others[len(leading) :])

        return run_with_leading

    return rule


def _gather(i: Instruction, step: Step) -> Callable[..., Any] | None:
    """Rows of a table that is the same for all elements."""
    if step.stacked != (False, True, False) or i.attrs.get("batch_dims") or step.constants[2] is None:
        return None
    if int(step.constants[2]) != 0:
        return None
    kernel = step.kernels.make(i)
    return lambda run, count, *inputs: kernel(*inputs)


# ---- operations on strings ------------------------------------------------------------------------------------------


def _text(i: Instruction, step: Step) -> Callable[..., Any] | None:
    kernel = step.kernels.make(i)
    return lambda run, count, x: np.asarray(kernel(x))


def _decode_raw(i: Instruction, step: Step) -> Callable[..., Any] | None:
    kernel = step.kernels.make(i)

    def run_decode_raw(run: Any, count: int, x: Any) -> Any:
        if len({len(text) for text in x.reshape(-1).tolist()}) > 1:
            raise NotRowwise
        return kernel(x)

    return run_decode_raw


def _decode_csv(i: Instruction, step: Step) -> Callable[..., Any] | None:
    """Lines of text with defaults that are the same for all."""
    if not _only_first(step):
        return None
    kernel = step.kernels.make(i)
    return lambda run, count, *inputs: kernel(*inputs)


def _parse_single(i: Instruction, step: Step) -> Callable[..., Any] | None:
    """Examples whose features have one shape, with defaults that are the same for all."""
    if not _only_first(step):
        return None
    together = rows_parser(i)
    one_by_one = _row_by_row(i, step, step.kernels.make(i))
    single = len(i.outputs) == 1
    if together is None:
        return None

    def run_parse(run: Any, count: int, serialized: Any, *defaults: Any) -> Any:
        found = together(serialized, *defaults) if serialized.ndim == 1 else None
        if found is None:
            return one_by_one(run, count, serialized, *defaults)
        return found[0] if single else found

    return run_parse


_RULES: Final[Mapping[str, Rule]] = {
    "Reshape": _reshape,
    "ExpandDims": _expand_dims,
    "Squeeze": _squeeze,
    "Transpose": _transpose,
    "OneHot": _with_attribute("axis"),
    "Pack": _with_attribute("axis"),
    "ConcatV2": _concat,
    "GatherV2": _gather,
    "Unpack": _with_attribute("axis"),
    **dict.fromkeys(("Max", "Min", "Any", "All", "Sum", "Prod", "ReverseV2"), _with_axes),
    **dict.fromkeys(("Pad", "PadV2", "MirrorPad"), _with_leading(0)),
    "Slice": _with_leading(0, -1),
    **dict.fromkeys(_TEXTS, _text),
    "DecodeRaw": _decode_raw,
    "DecodeCSV": _decode_csv,
    "ParseSingleExample": _parse_single,
}
