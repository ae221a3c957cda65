"""WrappingOptimizer: the base of optimizers that decide when, and which, gradients another optimizer applies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow.train.optimizers.optimizer import Optimizer

if TYPE_CHECKING:
    from graphflow._core.ops.state.variable import Variable


class WrappingOptimizer(Optimizer):
    """An optimizer whose gradients, slots and variables are those of another, `opt`."""

    def __init__(self, opt: Optimizer, use_locking: bool, name: str) -> None:
        super().__init__(use_locking, name)
        self._opt = opt

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Tensor | Any, Variable]]:
        """As the other optimizer's."""
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, *args: Any, **kwargs: Any) -> Variable | Any:
        """A slot of the other optimizer."""
        return self._opt.get_slot(*args, **kwargs)

    def get_slot_names(self, *args: Any, **kwargs: Any) -> list[str]:
        """The names of the other optimizer's slots."""
        return self._opt.get_slot_names(*args, **kwargs)

    def variables(self) -> list[Variable]:
        """The variables of the other optimizer."""
        return self._opt.variables()

    def _finishes_beside(self, variables: Sequence[Any]) -> Any:
        """The variable beside which the other optimizer finishes a step of `variables`; None if it only waits."""
        if type(self._opt)._finish is Optimizer._finish:
            return None
        graph = get_default_graph()
        own = [v for (_, g), v in self._opt._non_slots.items() if g is graph]
        return min(own or variables, key=lambda v: str(v.name))
