"""What a plan is made of before it is fused: statements over an index space, kernels, loops and branches, and stretches
of the NumPy tier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol, runtime_checkable

from graphflow._core.common.records import dataclass
from graphflow._core.compiler.values import Value
from graphflow._core.plan import kinds
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


@dataclass(frozen=True)
class StandIn:
    """Kernels of any sizes that do what a node's own do, made for its sizes, with the same bits, until these are there.

    sources: their texts. emit, own: make the steps of these kernels, and of the node's own, from addresses; for the
    first `images` of `most` that its values hold, if given as a third argument.
    """

    sources: Sequence[str]
    emit: Callable[..., Sequence[Any]]
    own: Callable[..., Sequence[Any]]
    most: int


@dataclass(eq=False)
class KernelNode(Node):
    """A kernel that is no region: `sources` are its texts, `emit` makes its steps from addresses.

    checked: the values in which it may find a fault; `check`, given their arrays, raises what is wrong with them.
    before: given the run (RunContext), what each run puts where the node's first read lies, a constant of its own.
    state: given the run, the random state (Philox) of which the first read has the words, if the node moves the counter
    in them on, so that a loop may repeat it. stand_in: makes what runs until its own kernels are there.
    """

    sources: Sequence[str] = ()
    emit: Callable[[Sequence[int], Address], Sequence[Any]] | None = None
    checked: Sequence[Value] = ()
    check: Callable[..., None] | None = None
    blas: bool = False
    before: Callable[[Any], Any] | None = None
    state: Callable[[Any], Any] | None = None
    stand_in: Callable[[], StandIn] | None = None


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


@dataclass(frozen=True)
class Binding:
    """What a host has to find in each run: a list, the list of gradients of a list, or a stack.

    of: the value that is the list's handle, or the stack's name. source: of the gradients. shape, dtype: of a row.
    """

    kind: str
    of: str
    shape: tuple[int, ...]
    dtype: str
    source: str = ""


@dataclass(frozen=True)
class Part:
    """A condition, body or branch, of which everything is native; `results` are where what it gives lies, whole blocks
    of its own that no later node of it fills again, or feeds that it hands on. job: its CompileJob.
    """

    job: Any
    feeds: tuple[str, ...]
    results: tuple[Value, ...]


@dataclass(eq=False)
class NestedNode(KernelNode):
    """A While (parts: condition, body) or an If (parts: the branches, taken if true and if false).

    inputs: where the values lie that the parts take. predicate: of an If. starts: for each variable of a loop its name
    in the parts and where its initial value lies. targets: for each result where it goes; None if nobody takes it.
    fetched: for each branch the number of the result that each of its results is.
    """

    parts: Sequence[Part] = ()
    inputs: Mapping[str, Value] = field(default_factory=dict)
    predicate: Value | None = None
    starts: Sequence[tuple[str, Value]] = ()
    targets: Sequence[Value | None] = ()
    fetched: Sequence[Sequence[int]] = ()

    @property
    def is_loop(self) -> bool:
        """Whether it is a While."""
        return self.instruction.type == kinds.WHILE
