"""KernelTable: where the NumPy kernels of a plan's instructions come from.

Whoever lays out or runs a plan is handed a table rather than the registry, so that a check can record what each kernel
has returned, give it again, or look at it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from graphflow._core.common.denormals import computing
from graphflow._core.common.records import dataclass
from graphflow._core.kernels import registry
from graphflow._core.plan.ir import Instruction, Plan


@dataclass(frozen=True)
class KernelTable:
    """Makes the kernels, and says what they are like.

    make(instruction): the function that computes it, as described in kernels/registry.py. is_stateful(type): whether
    that takes the run as its first argument. may_view(type): whether a result may share memory with an input.
    """

    make: Callable[[Instruction], Callable[..., Any]]
    is_stateful: Callable[[str], bool]
    may_view: Callable[[str], bool]


def make_kernel(instruction: Instruction) -> Callable[..., Any]:
    """The registered kernel of an instruction; LookupError if its type has none."""
    factory = registry.factory(instruction.type)
    if factory is None:
        raise LookupError(f"{instruction.describe()} has no kernel.")
    return factory(instruction)


KERNELS: Final = KernelTable(make_kernel, registry.is_stateful, registry.may_view)
"""The registered kernels."""


def evaluate(instruction: Instruction, inputs: Sequence[Any]) -> Sequence[Any]:
    """The results of one instruction without a run; LookupError if its kernel needs one, or if there is none."""
    if registry.is_stateful(instruction.type):
        raise LookupError(instruction.type)

    with computing():
        result = make_kernel(instruction)(*inputs)
    return result if len(instruction.outputs) > 1 else (result,)


def evaluate_plan(plan: Plan, feeds: Sequence[Any]) -> list[Any] | None:
    """What a lowered plan computes, for one that is computed once: to make it ready for runs takes ten times as long.

    Returns:
        The fetched values; None if an instruction needs a run, or has raised an error, which a run reports.
    """
    values = dict(zip(plan.feeds, feeds, strict=True))
    for instruction in plan.instructions:
        if instruction.outputs and all(output in values for output in instruction.outputs):
            continue
        if instruction.is_constant:
            values[instruction.outputs[0]] = instruction.attrs["value"]
            continue
        if instruction.stateful or instruction.bodies:
            return None
        try:
            found = evaluate(instruction, [values[name] for name in instruction.inputs])
        except Exception:
            return None
        values.update(zip(instruction.outputs, found, strict=True))
    return [values[name] for name in plan.fetches]
