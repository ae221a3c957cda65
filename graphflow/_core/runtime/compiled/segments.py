"""What a compiled plan runs one after the other: native programs, and stretches of the NumPy tier."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any

from graphflow._core.common.records import dataclass
from graphflow._core.compiler.fuse import Group
from graphflow._core.compiler.lower import Lowering
from graphflow._core.compiler.values import Value
from graphflow._core.plan.ir import Plan
from graphflow._core.runtime.compiled.laying import NativeSteps


@dataclass
class NativeSegment:
    """Groups as one program. starts: the step at which each group begins. made: what the program was made of."""

    program: Any
    groups: list[Group]
    starts: list[int]
    made: NativeSteps


@dataclass
class PythonSegment:
    """Instructions for NumPy: a part, what it is given, and where its results go, None for objects."""

    part: Any
    inputs: list[Callable[[dict[str, Any]], Any]]
    outputs: list[tuple[str, Any]]


@dataclass(frozen=True)
class HandedOut:
    """The results for which each run takes new memory, so that nobody copies them.

    values: the value that each of these blocks is taken as. takers: the blocks by the positions of the fetches that
    take them whole; another fetch of such a block is copied, or shares it if the plan is a stage.
    """

    values: dict[str, Value] = field(default_factory=dict)
    takers: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Parts:
    """What a compiled plan was made of: the plan for known shapes, and where its values lie.

    externals: what stands for the address of each feed, variable and block that is handed out, until a run says it.
    staging: where fed scalars are put. takers: the blocks that are handed out, each by the position of the fetch that
    takes it. simple: whether runs do nothing but hand the programs what is fed, and out what is fetched.
    """

    plan: Plan
    lowering: Lowering
    externals: Mapping[str, int]
    staging: Mapping[str, Any]
    takers: Mapping[int, str]
    simple: bool
