"""OptionalValue: a value that may be missing, while a graph runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from graphflow._core.resources.datasets import states
from graphflow._core.resources.datasets.base import Element
from graphflow._core.resources.datasets.states import State


class OptionalValue(states.Component):
    """The components of a value; None if it is missing."""

    kept_as = "optional"

    def __init__(self, components: Element | None) -> None:
        self.components = components

    def as_state(self) -> State:
        """The components."""
        state: State = {}
        states.put_elements(state, "value", [] if self.components is None else [self.components])
        return state

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> OptionalValue:
        """The value of a state."""
        found = states.get_elements(state, "value")
        return cls(found[0] if found else None)


NOTHING: Final = OptionalValue(None)
"""One without a value."""
