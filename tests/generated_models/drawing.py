"""What layers draw with: chance, the values that there are, and the steps that have been added."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

from .program import Shape, Step, Value, code, elements

MOST_ELEMENTS = 400
"""Elements of a value, for each example of a batch."""

_Choice = TypeVar("_Choice")


class NoneFitsError(Exception):
    """There is no value that a layer could take."""


class Drawing:
    """A program while it is being drawn."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.steps: list[Step] = []
        self.values: list[Value] = []
        self.variables: list[Value] = []
        """Variables that other layers may take as well."""
        self._numbers = 0
        self._taken: dict[str, int] = {}

    # ---- chance -------------------------------------------------------------------------------------------------

    def choose(self, options: Sequence[_Choice]) -> _Choice:
        """One of several."""
        return self.chance.choice(options)

    def often(self, share: float = 0.5) -> bool:
        """True so often."""
        return self.chance.random() < share

    def number(self) -> int:
        """A number that is used once, which tells initial values or names."""
        self._numbers += 1
        return self._numbers

    def size(self) -> int:
        """The size of an axis that a layer makes."""
        return self.choose((2, 3, 3, 4, 4, 6))

    # ---- values -------------------------------------------------------------------------------------------------

    def pick(
        self,
        *ranks: int,
        dtype: str = "F",
        fits: Callable[[Shape], bool] | None = None,
        smooth: bool = False,
    ) -> Value:
        """A value of one of the ranks (any if none is said): more often one that nobody takes, or a late one."""
        found = [
            v
            for v in self.values
            if v.dtype == dtype
            and (not ranks or len(v.shape) in ranks)
            and (fits is None or fits(v.shape))
            and (v.smooth or not smooth)
        ]
        if not found:
            raise NoneFitsError
        weights = [(1 + k) * (4 if v.name not in self._taken else 1) for k, v in enumerate(found)]
        return self.chance.choices(found, weights)[0]

    def batched(self, *ranks: int, fits: Callable[[Shape], bool] | None = None) -> Value:
        """A value whose first axis alone is the batch."""
        return self.pick(
            *ranks,
            fits=lambda s: bool(s) and s[0] == -1 and all(n > 0 for n in s[1:]) and (fits is None or fits(s)),
        )

    def unused(self) -> list[Value]:
        """The floats that nobody takes."""
        return [v for v in self.values if v.name not in self._taken and v.dtype == "F"]

    # ---- steps --------------------------------------------------------------------------------------------------

    def name(self, letter: str = "v") -> str:
        """A new name."""
        return f"{letter}{self.number()}"

    def start(self, fan: int) -> str:
        """The text of an initializer for weights that sum over so many values."""
        return f"start({self.number()}, {1.7 / max(1, fan) ** 0.5:.3f})"

    def made(self, dtype: str, shape: Shape, smooth: bool = True) -> Value:
        """A value of a new name."""
        if elements(shape) > MOST_ELEMENTS or len(shape) > 5:
            raise NoneFitsError
        return Value(self.name(), dtype, shape, smooth)

    def step(
        self,
        kind: str,
        text: str,
        takes: Sequence[Value],
        makes: Sequence[Value],
        *,
        term: bool = False,
        needed: bool = False,
        hidden: bool = False,
    ) -> None:
        """Adds a step. hidden: other layers do not take what it makes."""
        names = tuple(dict.fromkeys([v.name for v in takes] + (["batch"] if "batch" in text else [])))
        self.steps.append(Step(kind, text, names, tuple(makes), term, needed))
        for value in takes:
            self._taken[value.name] = self._taken.get(value.name, 0) + 1
        if not hidden:
            self.values += makes

    def give(
        self,
        kind: str,
        expression: str,
        takes: Sequence[Value],
        shape: Shape,
        dtype: str = "F",
        *,
        smooth: bool = True,
    ) -> Value:
        """Adds a step of one expression."""
        value = self.made(dtype, shape, smooth and all(v.smooth for v in takes))
        self.step(kind, f"{value} = {expression}", takes, [value])
        return value

    def variable(self, shape: Shape, fan: int | None = None, *, trainable: bool = True) -> Value:
        """A new variable, or now and then an earlier one of the shape."""
        same = [v for v in self.variables if v.shape == shape]
        if trainable and same and self.often(0.4):
            return self.choose(same)
        value = Value(self.name("w"), "F", shape)
        scale = self.start(fan if fan is not None else (shape[0] if shape else 1))
        text = f'{value} = tf.get_variable("{value}", {list(shape)}, {code("F")}, {scale}'
        self.step("variable", f"{text}{'' if trainable else ', trainable=False'})", (), [value], hidden=True)
        if trainable:
            self.variables.append(value)
        return value

    def fed(self, dtype: str, shape: Shape, high: int = 0) -> Value:
        """A new placeholder; integers are below `high`."""
        value = Value(self.name("x"), dtype, shape)
        kind = {"F": "float", "int32": "int", "bool": "bool"}[dtype]
        dimensions = [None if n < 0 else n for n in shape]
        lines = [
            f"{value} = tf.placeholder({code(dtype)}, {dimensions})",
            f'tf.add_to_collection("fed", {value}); tf.add_to_collection("kinds", ("{kind}", {high}))',
        ]
        if dtype == "F":
            lines.append(f"inputs.append({value})")
        self.step("input", "\n".join(lines), (), [value], needed=False, hidden=dtype != "F")
        return value

    def function(self, x: str) -> str:
        """The text of a bounded smooth function of a text."""
        return self.choose(("tf.tanh({})", "tf.sigmoid({})", "tf.sin({})", "tf.nn.softsign({})")).format(x)

    def activation(self, x: str) -> str:
        """The text of an activation of a text."""
        kinds = (
            "tf.nn.relu({})",
            "tf.tanh({})",
            "tf.nn.elu({})",
            "tf.nn.leaky_relu({})",
            "tf.nn.softplus({})",
            "{}",
        )
        return self.choose(kinds).format(x)
