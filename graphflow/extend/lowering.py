"""Lowering rules of extensions: how an op that is not elementwise becomes compiled code.

A rule says what is to be computed as statements over index spaces, in the language of scalar texts; fusing, memory,
threads, and the code for processors and GPUs are graphflow's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, Protocol, TypeAlias

from graphflow._core.compiler.added_rules import TARGETS, add_rule
from graphflow._core.compiler.values import Value as NativeValue
from graphflow._core.plan.ir import Instruction


class Lowering(Protocol):
    """What a lowering rule works with: a plan whose shapes are known, while it is taken apart.

    Values are named as in the plan. One that is native has a place in memory, a NativeValue: `dtype` is the name of its
    dtype, such as "float32", and `shape` its extents; `reshaped(shape)` and `transposed(axes)` are the same elements
    walked otherwise, which costs nothing. Not for several threads.
    """

    def value(self, name: str) -> NativeValue | None:
        """Where a value lies.

        Args:
            name: One of the instruction's inputs.

        Returns:
            Its place; None if only the NumPy tier has it, as strings and values without elements.
        """

    def constant(self, name: str) -> Any:
        """The array of a value that is known before the plan runs, such as axes.

        Args:
            name: One of the instruction's inputs.

        Returns:
            A NumPy array, or None if the value is not known.
        """

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a value.

        Args:
            name: One of the instruction's inputs or outputs.

        Returns:
            Its extents, each at least 1.
        """

    def result(self, instruction: Instruction, position: int = 0) -> NativeValue:
        """Makes the place of a result of the instruction.

        Args:
            instruction: What is lowered.
            position: Which of its outputs.

        Returns:
            The place, which the rule has to fill whole.
        """

    def temporary(self, label: str, dtype: str, shape: tuple[int, ...]) -> NativeValue:
        """Makes a place for something between.

        Args:
            label: A name for people.
            dtype: The name of its dtype.
            shape: Its extents.

        Returns:
            The place.
        """

    def elementwise(
        self, instruction: Instruction, text: str, reads: Sequence[NativeValue], target: NativeValue
    ) -> None:
        """Adds the statement target = text, for each element of the target.

        Args:
            instruction: What is lowered.
            text: An expression in the language of scalar texts, in which {0}, {1}, ... are the reads.
            reads: Values whose shapes broadcast to that of the target, by NumPy's rule.
            target: What is filled.
        """

    def reduction(
        self,
        instruction: Instruction,
        kind: str,
        axes: tuple[int, ...],
        value: NativeValue,
        text: str = "{0}",
        target: NativeValue | None = None,
    ) -> None:
        """Adds a reduction over axes.

        Args:
            instruction: What is lowered.
            kind: "sum", "prod", "max", "min" or, of floats, "mean".
            axes: Axes of the value, not negative, in ascending order.
            value: What is reduced.
            text: What is reduced of each element {0}.
            target: What is filled: of the value's shape without the axes, or with 1 in their place. By default the
                first result of the instruction.
        """

    def compact(self, instruction: Instruction, value: NativeValue) -> NativeValue:
        """The value with its elements side by side in memory.

        Args:
            instruction: What is lowered.
            value: Any value.

        Returns:
            The value itself, or a copy.
        """


LoweringRule: TypeAlias = Callable[[Lowering, Instruction], bool]
Target: TypeAlias = Literal["cpu", "gpu"]


def lowers(*op_types: str, target: Target | None = None) -> Callable[[LoweringRule], LoweringRule]:
    """Registers how op types of an extension become compiled code, as a decorator of a function(lowering, instruction).

    The rule is called whenever a plan is compiled, with an instruction all of whose inputs and outputs have native
    dtypes and at least one element. It either fills each result and returns True, or adds nothing and returns False:
    then the NumPy kernel runs, between compiled code. The result must be that of the NumPy kernel, to rounding: the two
    are compared before compiled code is trusted, and a plan in which they differ stays on NumPy, with a warning.

    Args:
        op_types: Names of op types that an extension has defined.
        target: "cpu" or "gpu"; by default both.

    Returns:
        The decorator, which returns the function as it is.

    Raises:
        KeyError: No op type has that name.
        ValueError: The op type is one of graphflow's own, or has a rule; or there is no such target.
    """
    if target is not None and target not in TARGETS:
        raise ValueError(f"A target is one of {', '.join(TARGETS)}, not {target!r}.")

    def register(rule: LoweringRule) -> LoweringRule:
        add_rule(op_types, partial(_checked, rule), TARGETS if target is None else (target,))
        return rule

    return register


def _checked(rule: LoweringRule, lowering: Any, instruction: Instruction) -> bool:
    """What a rule returns; RuntimeError if it has not done what that says."""
    before = len(lowering.nodes)
    done = rule(lowering, instruction)
    name = getattr(rule, "__name__", repr(rule))
    if not done:
        if len(lowering.nodes) != before:
            raise RuntimeError(
                f"{name} has added statements for {instruction.describe()}, and returned {done!r}."
            )
        return False
    used = instruction.used or (True,) * len(instruction.outputs)
    for position, output in enumerate(instruction.outputs):
        if used[position] and lowering.value(output) is None and lowering.constant(output) is None:
            raise RuntimeError(
                f"{name} has returned True, and not made result {position} of {instruction.describe()}."
            )
    return True


__all__ = ["Lowering", "NativeValue", "lowers"]
