"""A program as data: its values, its steps, and the text that it prints as."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

Shape = tuple[int, ...]
"""Sizes; a negative one stands for so many times the size of the batch."""

_HARNESS = Path(__file__).with_name("harness.py")


@dataclass(frozen=True)
class Value:
    """A tensor of a program: its name, its dtype ("F" is the program's float), its shape.

    smooth: whether TensorFlow differentiates what it comes from twice.
    """

    name: str
    dtype: str
    shape: Shape
    smooth: bool = True

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Step:
    """Lines of a program: what they make of what; `term` where the last result is added to the loss.

    needed: whether the program is none without them.
    """

    kind: str
    text: str
    takes: tuple[str, ...]
    makes: tuple[Value, ...]
    term: bool = False
    needed: bool = False


def code(dtype: str) -> str:
    """How a dtype is written."""
    return "F" if dtype == "F" else f"tf.{dtype}"


def dims(shape: Iterable[int]) -> str:
    """A shape as an operand of reshape."""
    return f"[{', '.join('-1' if n < 0 else str(n) for n in shape)}]"


def sizes(shape: Sequence[int]) -> str:
    """A shape whose batch is that of the run."""
    if all(n >= 0 for n in shape):
        return f"[{', '.join(map(str, shape))}]"
    return f"tf.stack([{', '.join(f'{-n} * batch' if n < 0 else str(n) for n in shape)}])"


def elements(shape: Iterable[int]) -> int:
    """The number of elements where the batch has one."""
    count = 1
    for n in shape:
        count *= abs(n)
    return count


@dataclass(frozen=True)
class Program:
    """The steps of a program in order, how it is trained, and what it is fed.

    optimizer: the text of an optimizer; clipped: whether gradients are clipped by their global norm.
    batches: the sizes of the batches of its runs; shown: the values that are fetched beside loss and gradients.
    """

    seed: int
    dtype: str
    steps: tuple[Step, ...]
    optimizer: str
    clipped: bool
    batches: tuple[int, ...]
    shown: tuple[str, ...]

    @property
    def kinds(self) -> list[str]:
        """The kinds of its steps."""
        return [step.kind for step in self.steps]

    def values(self) -> dict[str, Value]:
        """All its values by name."""
        return {value.name: value for step in self.steps for value in step.makes}

    def text(self) -> str:
        """The program, which takes TensorFlow or graphflow as `tf`, and the name of a float dtype."""
        lines = []
        terms = []
        for step in self.steps:
            lines += step.text.splitlines()
            if step.term:
                terms.append(step.makes[-1].name)
        known = self.values()
        shown = [name for name in self.shown if name in known]
        fetched = "".join(f"{name!r}: {name}, " for name in shown)
        lines += [
            f"loss = {' + '.join(terms)}",
            f"fetches = {{{fetched}'loss': loss}}",
            f"return train(tf, F, loss, inputs, fetches, {self.optimizer}, {self.clipped})",
        ]
        body = "\n".join(f"    {line}" for line in lines)
        head = "inputs = []" if any("inputs" in line for line in lines) else ""
        return f"def build(tf, F):\n    {head}\n{body}\n"

    def script(self) -> str:
        """The program with all that it needs, to be run by itself."""
        return (
            f"# A program of the generator, of seed {self.seed}: {', '.join(dict.fromkeys(self.kinds))}\n"
            f"{_HARNESS.read_text('utf-8')}\n\n{self.text()}\n\n"
            f"BATCHES = {self.batches!r}\n\n"
            f'if __name__ == "__main__":\n    compare_tiers(build, "{self.dtype}", BATCHES)\n'
        )

    def without(self, number: int) -> Program | None:
        """The program without a step; what takes its results takes other values of their shape. None if needed."""
        step = self.steps[number]
        if step.needed or (step.term and sum(s.term for s in self.steps) == 1):
            return None
        before = [value for s in self.steps[:number] for value in s.makes]
        inputs = [value for value in before if value.name in step.takes]
        steps = list(self.steps)
        lines: list[str] = []
        names: dict[str, str] = {}
        used = {name for s in self.steps[number + 1 :] for name in s.takes}
        for value in step.makes:
            if value.name not in used:
                continue
            like = [
                v for v in (*inputs, *reversed(before)) if (v.dtype, v.shape) == (value.dtype, value.shape)
            ]
            if like and step.kind != "stand-in":
                names[value.name] = like[0].name
            else:
                number_text = "0.5" if value.dtype in ("F", "float64") else "1"
                if value.dtype == "bool":
                    lines.append(f"{value} = tf.fill({sizes(value.shape)}, True)")
                else:
                    lines.append(
                        f"{value} = tf.fill({sizes(value.shape)}, tf.constant({number_text}, {code(value.dtype)}))"
                    )
        if lines and (step.kind == "stand-in" or not any(value.name == "batch" for value in before)):
            return None
        kept = tuple(v for v in step.makes if v.name in used and v.name not in names)
        steps[number : number + 1] = [Step("stand-in", "\n".join(lines), ("batch",), kept)] if lines else []
        if names:
            steps = [renamed(s, names) if k >= number else s for k, s in enumerate(steps)]
        return replace(self, steps=tuple(steps))


def renamed(step: Step, names: dict[str, str]) -> Step:
    """A step that takes other values."""
    if not any(name in names for name in step.takes):
        return step
    pattern = re.compile(rf"\b({'|'.join(names)})\b")
    return replace(
        step,
        text=pattern.sub(lambda match: names[match.group(1)], step.text),
        takes=tuple(names.get(name, name) for name in step.takes),
    )
