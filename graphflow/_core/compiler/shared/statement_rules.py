"""Rules that make statements and views alone, so that they are the same for processors and GPUs."""

from __future__ import annotations

from typing import Final

import numpy as np

from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.shared.strided import copied, reduced
from graphflow._core.compiler.values import Value
from graphflow._core.plan.ir import Instruction

_FLOATS: Final = ("float32", "float64")


# ---- biases ------------------------------------------------------------------------------------------------------


def _channels_first(i: Instruction) -> bool:
    return i.attrs.get("data_format", "NHWC") in ("NCHW", b"NCHW")


def _bias_add(lowering: Lowering, i: Instruction) -> bool:
    value, bias = (lowering.value(n) for n in i.inputs)
    if value is None or bias is None:
        return False
    if _channels_first(i):
        spread = (1,) * (len(value.shape) - 2)
        bias = Value(bias.root, bias.dtype, (*bias.shape, *spread), (*bias.strides, *spread), bias.offset)
    lowering.elementwise(i, "{0} + {1}", [value, bias], lowering.result(i))
    return True


def _bias_gradient(lowering: Lowering, i: Instruction) -> bool:
    value = lowering.value(i.inputs[0])
    if value is None:
        return False
    kept = 1 if _channels_first(i) else len(value.shape) - 1
    lowering.reduction(i, "sum", tuple(k for k in range(len(value.shape)) if k != kept), value)
    return True


# ---- elementwise, by dtype ------------------------------------------------------------------------------------------


def _divide(lowering: Lowering, i: Instruction) -> bool:
    """Divides integers towards zero."""
    reads = [v for v in map(lowering.value, i.inputs) if v is not None]
    if len(reads) != 2 or reads[0].dtype == "bool":
        return False
    text = "{0} / {1}" if reads[0].dtype in _FLOATS else "truncatediv({0}, {1})"
    lowering.elementwise(i, text, reads, lowering.result(i))
    return True


def _shift(symbol: str) -> Rule:
    def rule(lowering: Lowering, i: Instruction) -> bool:
        reads = [v for v in map(lowering.value, i.inputs) if v is not None]
        if len(reads) != 2:
            return False
        most = np.dtype(reads[0].dtype).itemsize * 8 - 1
        lowering.elementwise(i, f"{{0}} {symbol} min(max({{1}}, 0), {most})", reads, lowering.result(i))
        return True

    return rule


def _euclidean_norm(lowering: Lowering, i: Instruction) -> bool:
    value, axes = lowering.value(i.inputs[0]), lowering.constant(i.inputs[1])
    if value is None or axes is None or value.dtype not in _FLOATS:
        return False
    rank = len(value.shape)
    over = tuple(sorted({int(a) % rank for a in np.atleast_1d(axes)})) if rank else ()
    target = lowering.result(i)
    if (
        not over
    ):  # What is not reduced stays as it is, as in TensorFlow: a norm of one number may be negative.
        lowering.elementwise(i, "{0}", [value], target)
        return True
    total = lowering.temporary(i.name, target.dtype, target.shape)
    reduced(lowering, i, "sum", "{0} * {0}", [value], over, total)
    lowering.elementwise(i, "sqrt({0})", [total], target)
    return True


_MOST_BOUNDARIES: Final = 32


def _bucketize(lowering: Lowering, i: Instruction) -> bool:
    """The number of boundaries that are not above a number; above NaN, as a search has it, there is none."""
    value, edges = lowering.value(i.inputs[0]), np.array(i.attrs["boundaries"], np.float32)
    if value is None or not 0 < edges.size <= _MOST_BOUNDARIES or not np.isfinite(edges).all():
        return False
    if edges.size > 1 and (np.diff(edges) < 0).any():
        return False
    number = "{0}" if value.dtype == "float64" else "cast({0}, float32)"
    text = " + ".join(f"(0 if {number} < {float(edge)!r} else 1)" for edge in edges)
    lowering.elementwise(i, text, [value], lowering.result(i))
    return True


# ---- single elements, several values ---------------------------------------------------------------------------------


def _elements(lowering: Lowering, i: Instruction) -> bool:
    """Lowers views; single elements too, whose place is found by taking them from an array of places."""
    if lowering.view(i):
        return True
    value, others = lowering.value(i.inputs[0]), [lowering.constant(n) for n in i.inputs[1:]]
    if value is None or any(o is None for o in others) or any(lowering.shape(o) for o in i.outputs):
        return False
    source = copied(lowering, i, value) if value.root in lowering.ever_written else lowering.compact(i, value)
    places = np.arange(source.size).reshape(source.shape)
    found = lowering.kernel_of(i.type, i)(places, *others)
    for name, place in zip(i.outputs, found if isinstance(found, tuple | list) else [found], strict=True):
        lowering.define(name, Value(source.root, source.dtype, (), (), source.offset + int(place)))
    return True


def _identities(lowering: Lowering, i: Instruction) -> bool:
    values = [lowering.value(n) for n in i.inputs]
    for position, value in enumerate(values):
        if value is None:
            return False
        lowering.elementwise(i, "{0}", [value], lowering.result(i, position))
    return True


STATEMENT_RULES: Final[dict[str, Rule]] = {
    "BiasAdd": _bias_add,
    "BiasAddGrad": _bias_gradient,
    "Bucketize": _bucketize,
    **dict.fromkeys(("Div", "RealDiv", "TruncateDiv"), _divide),
    "LeftShift": _shift("<<"),
    "RightShift": _shift(">>"),
    "EuclideanNorm": _euclidean_norm,
    "IdentityN": _identities,
    "StridedSlice": _elements,
    "Unpack": _elements,
}
