"""Rules of ops that hand on what they look at: the result is the value itself, taken by others after the check."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from graphflow._core.codegen.gpu.kernels.checks import FINITE_SOURCE, INFINITE, NAN
from graphflow._core.codegen.gpu.toolkit import elementwise_launch
from graphflow._core.compiler.gpu.nodes import Buffers, device_node
from graphflow._core.compiler.lower import Lowering, Rule
from graphflow._core.compiler.shared.strided import unwritten
from graphflow._core.kernels.control_flow.checking import not_finite
from graphflow._core.plan.ir import Instruction


def _check_numerics(lowering: Lowering, i: Instruction) -> bool:
    value = lowering.value(i.inputs[0])
    if value is None or value.dtype not in ("float32", "float64"):
        return False
    x = lowering.compact(i, unwritten(lowering, i, value))

    def build(buffers: Buffers) -> Sequence[Any]:
        arguments = [buffers.status, buffers.number, x.size, buffers.array(x)]
        return [elementwise_launch(FINITE_SOURCE, x.size, arguments)]

    messages = {
        has_nan | has_infinity: not_finite(i.attrs["message"], bool(has_nan), bool(has_infinity))
        for has_nan in (0, NAN)
        for has_infinity in (0, INFINITE)
    }
    lowering.add(device_node(i, [x], [], build, messages=messages, fallible=True))
    lowering.define(i.outputs[0], x)
    lowering.hand_on(i)
    return True


CHECK_RULES: Final[dict[str, Rule]] = {"CheckNumerics": _check_numerics}
