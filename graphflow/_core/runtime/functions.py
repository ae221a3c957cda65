"""FunctionRunner: a function of a dataset, for one element or, if the bits stay the same, for many at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphflow._core.common.denormals import computing
from graphflow._core.plan.ir import Plan, walk
from graphflow._core.resources.store import ResourceStore
from graphflow._core.runtime.assemble import operand
from graphflow._core.runtime.context import RunContext
from graphflow._core.runtime.executable import Executable, carry_out
from graphflow._core.runtime.rowwise import NotRowwise, Rowwise


class FunctionRunner:
    """A function that can be called again and again. Its random states are its own.

    executable, rowwise: run its plan for one element, and for many. store: the store of this function alone. random:
    whether it draws random numbers, so that the order of the calls matters.
    """

    def __init__(
        self, plan: Plan, executable: Executable, store: ResourceStore, rowwise: Rowwise | None
    ) -> None:
        self._store = store
        self._executable = executable
        self._rowwise = rowwise
        self.random = any(i.stateful and "seed2" in i.attrs for i in walk(plan))

    def __call__(self, arguments: Sequence[Any]) -> tuple[Any, ...]:
        """The values of the outputs, arrays of their own. Raises the error of the operation that fails."""
        if not self._executable.uses_variables:
            results = carry_out(self._executable, RunContext(self._store), arguments)
            return tuple([operand(value) for value in results])
        home = self._store.home
        home.enter()  # Its variables are the session's, whose runs may read them meanwhile.
        try:
            results = carry_out(self._executable, RunContext(self._store), arguments)
            return tuple([operand(value) for value in results])
        finally:
            home.leave()

    def rows(
        self, columns: Sequence[Any], captured: Sequence[Any], count: int
    ) -> list[np.ndarray[Any, Any]] | None:
        """The outputs for `count` elements at once, one below the other, with the bits of as many single calls.

        None if that cannot be done, or fails for one of the elements. Nothing has changed then.
        """
        if self._rowwise is None:
            return None
        before = self._random_states() if self.random else {}
        try:
            with computing():
                return self._rowwise.run(RunContext(self._store), columns, captured, count)
        except NotRowwise:
            self._rowwise = None
        except Exception:
            # Element by element, the one that fails raises the error with the operation's name.
            pass
        if self.random:
            self._store.set_state(before)
        return None

    @property
    def takes_rows(self) -> bool:
        """Whether rows() is worth a try."""
        return self._rowwise is not None

    def _random_states(self) -> dict[str, Mapping[str, np.ndarray[Any, Any]]]:
        return {name: state for name, state in self._store.get_state().items() if name.startswith("random/")}

    def get_state(self) -> dict[str, np.ndarray[Any, Any]]:
        """The states of its random ops."""
        return {
            f"{name}/{key}": value
            for name, state in self._store.get_state().items()
            for key, value in state.items()
        }

    def set_state(self, state: Mapping[str, np.ndarray[Any, Any]]) -> None:
        """Restores a state that get_state returned."""
        states: dict[str, dict[str, np.ndarray[Any, Any]]] = {}
        for path, value in state.items():
            name, _, key = path.rpartition("/")
            states.setdefault(name, {})[key] = value
        self._store.set_state(states)
