"""What a plan is made of before it is fused: statements over an index space, kernels, stretches of the NumPy tier."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from graphflow._core.compiler.values import Value
from graphflow._core.plan.ir import Instruction

Address = Callable[[Value], int]


@dataclass(eq=False)
class Node:
    """Something to do. `reads` are the values it takes, `makes` the roots it fills, in part or whole.

    `variables` are the variables' roots it writes; `instruction` is what it stands for, for messages; `after` are
    numbers of nodes that come before it for reasons other than values. fallible: whether it may find an error in the
    values that it takes; variables are written only once those before have found none.
    """

    instruction: Instruction
    reads: list[Value]
    makes: list[str]
    variables: list[str] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    fallible: bool = field(default=False, kw_only=True)


@dataclass(eq=False)
class Statements(Node):
    """Elementwise work over `space`.

    lines: (target, dtype, text), in order; a text names operands as {0}, {1}, ... (positions in `reads`) and earlier
    targets as they are. stores: for each target that leaves the node, the value it is stored as; a target of a
    variable is stored there. reduce: how the last target is reduced, and over which axes of the space.
    """

    space: tuple[int, ...] = ()
    lines: list[tuple[str, str, str]] = field(default_factory=list)
    results: list[tuple[str, Value]] = field(default_factory=list)
    reduce: tuple[str, tuple[int, ...]] | None = None
    forced: bool = False
    """Whether its results are stored in any case (a part of a larger block, a variable)."""
    build: Callable[[Any, list[Any]], dict[str, Any]] | None = None
    """Instead of lines: adds code to a scalar program, from the registers of the reads to those of the targets."""


@dataclass(eq=False)
class KernelNode(Node):
    """A kernel that is no region: `sources` are its texts, `emit` makes its steps from addresses.

    indices: those that it may find to be out of range; `check`, given their array, raises what is wrong with them.
    before: given the run (RunContext), what each run puts where the node's first read lies, a constant of its own.
    """

    sources: Sequence[str] = ()
    emit: Callable[[Sequence[int], Address], Sequence[Any]] | None = None
    indices: Value | None = None
    check: Callable[[Any], None] | None = None
    blas: bool = False
    before: Callable[[Any], Any] | None = None


@runtime_checkable
class Combining(Protocol):
    """A node of one result that may take a following one in."""

    def combined(self, following: Statements, position: int, target: Value) -> Node | None:
        """The node that also does what `following` does to the result, its read `position`; None if there is none.

        target: where the result of `following` lies.
        """


@dataclass(eq=False)
class PythonNode(Node):
    """An instruction for the NumPy tier."""
