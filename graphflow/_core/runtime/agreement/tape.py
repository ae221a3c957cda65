"""Tape: the results of instructions that cannot be repeated, so that another run gets the same.

An element that was taken from a queue is gone, a random state has moved on, a function of the user may do anything.
Such instructions are not run again: each returns its recorded results, in the order of its calls. All other
instructions run
again: those that depend on their inputs alone, change variables, or have state that belongs to one run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from typing import Any, Final

import numpy as np

from graphflow._core.common.records import dataclass
from graphflow._core.kernels.table import KernelTable
from graphflow._core.plan.ir import Instruction
from graphflow._core.plan.passes.repeated import KEEP_ACCOUNT
from graphflow._core.resources.variables import VariableCell

_REPEATABLE: Final = frozenset(
    {"Assert", "AssertBroadcastable", "CheckNumerics", "IsVariableInitialized", "NoOp", "Placeholder"}
)
"""Stateful types that read state and change none."""
_OF_THE_RUN: Final = ("TensorArray", "Stack")
"""The beginnings of the names of types whose state belongs to one run."""
_USERS: Final = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})


def is_repeatable(i: Instruction) -> bool:
    """Whether an instruction may be run twice, the second time on variables of its own."""
    if i.type in _USERS:
        return False
    if i.bodies or i.is_variable or i.type in _REPEATABLE or i.type.startswith(_OF_THE_RUN):
        return True
    if i.definition is None:
        return i.type not in ("Send", "Recv")
    return not i.definition.stateful or (bool(i.writes()) and i.type not in KEEP_ACCOUNT)


def written_cells(i: Instruction) -> Callable[[tuple[Any, ...]], list[tuple[str, VariableCell]]]:
    """Finds the variables that an instruction writes, by the names of their values, among the arguments of its kernel.

    The first argument of the kernel may be the run. For a loop or a branch there are none.
    """
    specs = () if i.definition is None else i.definition.inputs
    positions = [
        (name, k - len(i.inputs))
        for k, (name, spec) in enumerate(zip(i.inputs, specs, strict=False))
        if spec.written
    ]
    return lambda arguments: [(name, arguments[k]) for name, k in positions]


@dataclass
class Tape:
    """The recorded results of instructions, by their names, in the order of their calls.

    For each call it holds the result, and then the values of the variables that the call has written.

    room: the bytes that may still be kept. full: whether there was more, so that some results are missing.
    """

    room: int
    full: bool = False
    results: dict[str, list[Any]] = field(default_factory=dict)

    def recording(self, kernels: KernelTable) -> KernelTable:
        """Kernels that record their results on this tape."""

        def make(i: Instruction) -> Callable[..., Any]:
            kernel = kernels.make(i)
            if is_repeatable(i):
                return kernel
            kept = self.results.setdefault(i.name, [])
            cells = written_cells(i)

            def recorded(*arguments: Any) -> Any:
                result = kernel(*arguments)
                if not self.full:
                    writes = [cell.value for _, cell in cells(arguments)]
                    kept.append(tuple([self._copied(value) for value in (result, *writes)]))
                return result

            return recorded

        return replace(kernels, make=make)

    def replaying(self, kernels: KernelTable) -> KernelTable:
        """Kernels that return the results on this tape, from its beginning."""
        recorded: dict[str, Iterator[Any]] = {}

        def make(i: Instruction) -> Callable[..., Any]:
            if is_repeatable(i):
                return kernels.make(i)
            results = recorded.setdefault(i.name, iter(self.results.get(i.name, ())))
            cells = written_cells(i)

            def replayed(*arguments: Any) -> Any:
                try:
                    result, *writes = next(results)
                except StopIteration:
                    raise LookupError(
                        f"{i.describe()} was called more often than when it was recorded."
                    ) from None
                for (_, cell), value in zip(cells(arguments), writes, strict=True):
                    cell.assign(value)
                return result

            return replayed

        return replace(kernels, make=make)

    def take_room(self, nbytes: int) -> None:
        """Notes bytes that are kept beside the tape."""
        self.room -= nbytes
        self.full |= self.room < 0

    def _copied(self, result: Any) -> Any:
        if isinstance(result, tuple | list):
            return type(result)([self._copied(part) for part in result])
        if not isinstance(result, np.ndarray):
            return result
        self.take_room(result.nbytes)
        return None if self.full else result.copy()
