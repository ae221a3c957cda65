"""KernelTable: where the NumPy kernels of a plan's instructions come from.

Whoever lays out or runs a plan is handed a table rather than the registry, so that a check can record what each kernel
has returned, give it again, or look at it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from graphflow._core.common.records import dataclass
from graphflow._core.kernels import registry
from graphflow._core.plan.ir import Instruction


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
