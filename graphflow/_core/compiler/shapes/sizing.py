"""Sizes that are fed as values, which a plan is compiled for as it is for the shapes of its feeds.

Many programs feed the number of their examples, `zero_state(batch_size, ...)`, or feed a SparseTensor, whose dense
shape is a value. What is as large as a value says has no shape that follows from those of the feeds, and with it all
that is computed from it stays on NumPy. So such a value is taken as a constant: for each there is another compiled
plan, as for each combination of shapes, and templates fill in what differs (runtime/compiled/filling.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from graphflow._core.compiler.shapes.fixed import may_size
from graphflow._core.plan import build
from graphflow._core.plan.ir import PASS_THROUGH, Instruction, Plan, rename_inputs, walk

MOST_ELEMENTS: Final = 8
"""A fed vector of more elements is no shape."""
_CARRYING: Final = PASS_THROUGH | {
    "Add",
    "AddV2",
    "Cast",
    "ConcatV2",
    "ExpandDims",
    "FloorDiv",
    "FloorMod",
    "GatherV2",
    "Maximum",
    "Minimum",
    "Mul",
    "Neg",
    "Pack",
    "Prod",
    "Reshape",
    "Slice",
    "Squeeze",
    "StridedSlice",
    "Sub",
    "Unpack",
}
"""Types by which sizes are made of sizes. Sums and largest elements are not among them: these are made of data, such
as the lengths of a batch, which are others in every run."""


def sizing_feeds(plan: Plan) -> tuple[int, ...]:
    """The positions of the feeds on whose values shapes depend: integers, scalars or short vectors."""
    candidates = {
        name: name
        for name, (dtype, dims) in zip(plan.feeds, plan.feed_types, strict=False)
        if dtype.name in ("int32", "int64") and _may_be_size(dims)
    }
    if not candidates:
        return ()
    made_of: dict[str, set[str]] = {name: {name} for name in candidates}
    found: set[str] = set()
    for i in walk(plan):
        origins = [made_of.get(name, ()) for name in i.inputs]
        if not any(origins):
            continue
        for of, sizes in zip(origins, may_size(i), strict=True):
            if sizes:
                found.update(of)
        if i.type in _CARRYING:
            for output, dtype, dims in zip(i.outputs, i.dtypes, i.shapes, strict=True):
                if dtype.name in ("int32", "int64") and _may_be_size(dims):
                    made_of.setdefault(output, set()).update(*origins)
    return tuple(position for position, name in enumerate(plan.feeds) if name in found)


def fed_sizes(value: Any) -> tuple[int, ...] | None:
    """The elements of a fed value, if it may be a size or shape."""
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.size <= MOST_ELEMENTS:
        return tuple(value.tolist())
    return (int(value),) if np.ndim(value) == 0 and value is not None else None


def constant_of(feed: str) -> str:
    """The name of the constant that stands for a feed."""
    return f"{feed} as fed"


def with_sizes(
    plan: Plan, sizes: Mapping[str, tuple[int, ...]], shapes: Mapping[str, tuple[int, ...]]
) -> Plan:
    """The plan in which constants stand for what is fed.

    Args:
        plan: A plan.
        sizes: The elements of some feeds, by name.
        shapes: The shapes of these feeds.
    """
    if not sizes:
        return plan
    types = dict(zip(plan.feeds, plan.feed_types, strict=True))
    constants = []
    for name, elements in sizes.items():
        value = np.array(elements, types[name][0].as_numpy_dtype).reshape(shapes[name])
        constants += build.constants(_standing_for(name, plan), [value])
    names = {name: constant_of(name) for name in sizes}
    return plan.with_instructions([*constants, *[rename_inputs(i, names) for i in plan.instructions]])


def _standing_for(feed: str, plan: Plan) -> Instruction:
    """What the constant for a feed is made from: its name, dtype and place."""
    dtype, dims = plan.feed_types[plan.feeds.index(feed)]
    device = next((i.device for i in plan.instructions if i.device), "")
    return Instruction(constant_of(feed), "Feed", (), (constant_of(feed),), (dtype,), (dims,), device=device)


def _may_be_size(dims: Any) -> bool:
    return dims is not None and len(dims) < 2 and all(n is None or n <= MOST_ELEMENTS for n in dims)
