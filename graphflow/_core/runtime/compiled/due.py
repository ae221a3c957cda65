"""At which run a plan whose bits are fixed goes over to compiled code: a function of the plan and its sizes alone.

That run waits for the compiler, which takes seconds where a kernel is met for the first time. A program of a thousand
steps of 50 microseconds is over before (nine of nineteen public programs that were tried were such), so a plan stays on
NumPy for as many runs as NumPy computes in a fifth of a second, by an estimate. Where the kernels are there, that fifth
is what is lost at most; a model whose step takes 25 milliseconds or more loses nothing.

To make such a plan takes as long as some hundred of these steps. It is made when three quarters of them are over, since
a program that ends before has no use for it; a compiler that has kernels to make begins by that much later. That holds
for the plans of all sizes that have come by then. A plan that is to run in stages is cut at that time, and they go over
at the run at which it would have: each by itself is short, and by its own time would go over much later.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Final

from graphflow._core.common.compile_timeouts import NUMPY_FIRST_SECONDS
from graphflow._core.compiler.shapes.fixed import Known
from graphflow._core.kernels.registry import nanoseconds
from graphflow._core.plan.ir import Instruction, Plan, walk
from graphflow._core.runtime.compiled.cores import PRODUCTS

FIRST_DUE_RUN: Final = 8
LAST_DUE_RUN: Final = 4000
WARMING: Final = "GRAPHFLOW_WARM_CACHE"
"""The variable that `graphflow cache warm` sets for a program, which may be a short run of a long one."""
_INSTRUCTIONS_A_SECOND: Final = 250_000
_ELEMENTS_A_SECOND: Final = 5e8
_MULTIPLICATIONS_A_SECOND: Final = 2e10
_WINDOWED: Final[Mapping[str, Callable[[Instruction], tuple[str, str]]]] = {
    **dict.fromkeys(("Conv2D", "Conv3D", "DepthwiseConv2dNative"), lambda i: (i.inputs[1], i.outputs[0])),
    **dict.fromkeys(
        ("Conv2DBackpropInput", "Conv3DBackpropInputV2", "DepthwiseConv2dNativeBackpropInput"),
        lambda i: (i.inputs[1], i.inputs[2]),
    ),
    **dict.fromkeys(
        ("Conv2DBackpropFilter", "Conv3DBackpropFilterV2", "DepthwiseConv2dNativeBackpropFilter"),
        lambda i: (i.outputs[0], i.inputs[2]),
    ),
}
"""Convolutions and their gradients: which of their values is the filter, and which has an element for each window."""


def due_run(plan: Plan, known: Known, times: Mapping[str, int] | None) -> int:
    """The run from which on a plan is compiled code if all bits are fixed.

    Args:
        plan: The plan.
        known: The shapes and dtypes of its values.
        times: How often an observed run has computed each value; None if no run was observed.

    Returns:
        The number of the run, the first that has loops or branches of which nothing is known.
    """
    if times is None and any(i.bodies for i in plan.instructions):
        return FIRST_DUE_RUN  # How often a loop turns is not known, and a turn is dear on NumPy.
    seconds = sum(_seconds(i, known) for i in plan.instructions)
    inner = (i for outer in plan.instructions for body in outer.bodies for i in walk(body) if i.outputs)
    seconds += sum(_seconds(i, known) * (times or {}).get(i.outputs[0], 0) for i in inner)
    return max(FIRST_DUE_RUN, min(LAST_DUE_RUN, int(NUMPY_FIRST_SECONDS / max(seconds, 1e-9))))


def preparing_run(due: int) -> int:
    """The run from which on the plan is made that goes over in run `due`; at once if the cache is being warmed."""
    return due - due // 4 if due > FIRST_DUE_RUN and not os.environ.get(WARMING) else 0


def _seconds(i: Instruction, known: Known) -> float:
    """About how long NumPy takes for an instruction."""
    taken, results = (
        [math.prod(known[n][0]) for n in names if n in known] for names in (i.inputs, i.outputs)
    )
    sizes = [*taken, *results]
    seconds = 1 / _INSTRUCTIONS_A_SECOND + sum(sizes) / _ELEMENTS_A_SECOND
    seconds += nanoseconds(i.type, max(results, default=0)) * 1e-9
    if i.type in _WINDOWED:
        seconds += _seconds_of_windows(i, known)
    elif i.type in PRODUCTS:  # Of two matrices and their product each of the three sizes is a side of two.
        seconds += math.sqrt(math.prod(sizes)) / _MULTIPLICATIONS_A_SECOND
    return seconds


def _seconds_of_windows(i: Instruction, known: Known) -> float:
    """About how long the products of a convolution take, and the windows, which are laid side by side for that."""
    filters, results = (known[n][0] if n in known else () for n in _WINDOWED[i.type](i))
    if not filters or not results or 0 in filters:
        return 0.0
    *window, channels, _ = filters
    elements = math.prod(results) // max(results[-1], 1) * math.prod(window) * channels
    if i.type.startswith("Depthwise"):  # A pass over memory for each element of the window, and no product.
        return elements * filters[-1] / _ELEMENTS_A_SECOND
    return elements / _ELEMENTS_A_SECOND + elements * filters[-1] / _MULTIPLICATIONS_A_SECOND
