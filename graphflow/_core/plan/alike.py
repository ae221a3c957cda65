"""Whether two plans that were made one after the other, from one graph or from two messages, compute the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphflow._core.plan.ir import Instruction, Plan


def alike(a: Plan, b: Plan) -> bool:
    """Whether two plans have equal instructions in the same order, with equal attributes, feeds and fetches.

    Of what cannot be compared, such as functions of the user's, it must be the very same.
    """
    if a is b:
        return True
    if (a.feeds, a.fetches, a.targets, len(a.instructions)) != (
        b.feeds,
        b.fetches,
        b.targets,
        len(b.instructions),
    ):
        return False
    return all(map(_alike, a.instructions, b.instructions))


def _alike(a: Instruction, b: Instruction) -> bool:
    if a is b:
        return True
    if (a.name, a.type, a.inputs, a.outputs, a.dtypes, a.shapes, a.control, a.device) != (
        b.name,
        b.type,
        b.inputs,
        b.outputs,
        b.dtypes,
        b.shapes,
        b.control,
        b.device,
    ):
        return False
    return (
        a.attrs.keys() == b.attrs.keys()
        and all(_equal(value, b.attrs[key]) for key, value in a.attrs.items())
        and len(a.bodies) == len(b.bodies)
        and all(map(alike, a.bodies, b.bodies))
    )


def _equal(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if (a.dtype, a.shape) != (b.dtype, b.shape):
            return False
        return a.tolist() == b.tolist() if a.dtype.hasobject else a.tobytes() == b.tobytes()
    if isinstance(a, list | tuple) and type(a) is type(b):
        return len(a) == len(b) and all(map(_equal, a, b))
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:
        return False
