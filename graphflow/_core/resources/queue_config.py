"""The settings of a queue, and what they say of its elements."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any, Final, TypeAlias

from graphflow._core.common.records import dataclass
from graphflow._core.graph import shapes
from graphflow._core.graph.dtypes import DType
from graphflow._core.graph.shapes import Dims
from graphflow.errors import InvalidArgumentError

Element: TypeAlias = tuple[Any, ...]
"""One array for each component."""


_SETTINGS: Final = {"dtypes": "component types", "shapes": "component shapes", "seeds": "random seeds"}
"""What settings are called in messages, if not by their names."""


@dataclass(frozen=True)
class QueueConfig:
    """The settings of a queue; two ops that share a queue must have the same.

    shapes: of each component, None if nothing is said of any. capacity: below 0 for no limit.
    """

    kind: str
    dtypes: tuple[DType, ...]
    shapes: tuple[Dims, ...] | None
    capacity: int
    min_after_dequeue: int = 0
    seeds: tuple[int, int] = (0, 0)

    def check_same(self, name: str, asked: QueueConfig) -> None:
        """InvalidArgumentError if another op that shares the queue of that name asks for another kind of queue."""
        if asked == self:
            return
        setting = next(f.name for f in fields(self) if getattr(asked, f.name) != getattr(self, f.name))
        raise InvalidArgumentError(
            None,
            None,
            f"The shared {_what(self.kind)} {name!r} has {_SETTINGS.get(setting, setting)} "
            f"{_readable(getattr(self, setting))}, but {_readable(getattr(asked, setting))} is asked for. Use another "
            "shared_name.",
        )

    def check_shapes(self, elements: Iterable[Element], rows: int | None = None) -> None:
        """InvalidArgumentError if an element has other shapes than these; rows: how many came as rows of one tensor."""
        if self.shapes is None:
            return
        for element in elements:
            for position, (value, dims) in enumerate(zip(element, self.shapes, strict=True)):
                if value.shape != dims and not shapes.compatible(dims, value.shape):
                    raise InvalidArgumentError(
                        None,
                        None,
                        f"Shape mismatch in tuple component {position}. Expected {_listed(dims, rows)}, got "
                        f"{_listed(value.shape, rows)}",
                    )


def _what(kind: str) -> str:
    return "queue" if kind.endswith("Queue") else kind.lower()


def _readable(value: Any) -> str:
    """A setting as a message says it."""
    if isinstance(value, tuple) and all(isinstance(v, DType) for v in value):
        return str([v.name for v in value])
    return repr(value)


def _listed(dims: shapes.Dims, rows: int | None) -> str:
    """A shape as TensorFlow's queues write it: [2,?,3]."""
    sizes = [*([] if rows is None else [rows]), *(dims or ())]
    return f"[{','.join('?' if n is None else str(n) for n in sizes)}]"
