"""Optimizers that decide when, and which, gradients another optimizer applies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow.train.optimizers.optimizer import Optimizer

if TYPE_CHECKING:
    from graphflow._core.graph.types import VariableLike
    from graphflow._core.ops.state.variable import Variable

_Wrapping = TypeVar("_Wrapping", bound=type[Optimizer])


class _Delegated:
    """What such an optimizer asks of the other, `_opt`."""

    _opt: Optimizer

    def compute_gradients(self, *args: Any, **kwargs: Any) -> list[tuple[Tensor | Any, Variable]]:
        """As the other optimizer's.

        Args:
            *args: What its compute_gradients takes.
            **kwargs: The same, by name.

        Returns:
            Pairs (gradient, variable).
        """
        return self._opt.compute_gradients(*args, **kwargs)

    def get_slot(self, var: VariableLike, name: str) -> Variable | Any:
        """A slot of the other optimizer.

        Args:
            var: The variable.
            name: The slot's name.

        Returns:
            The variable that holds it, or None.
        """
        return self._opt.get_slot(var, name)

    def get_slot_names(self) -> list[str]:
        """The names of the other optimizer's slots."""
        return self._opt.get_slot_names()

    def variables(self) -> list[Variable]:
        """The variables of the other optimizer."""
        return self._opt.variables()


def wraps_optimizer(wrapping: _Wrapping) -> _Wrapping:
    """Lets the gradients, slots and variables of a class of optimizers be those of its `_opt`, if it has none itself.

    A decorator and no class between, since the class is to stand directly below Optimizer.
    """
    for name, method in vars(_Delegated).items():
        if not name.startswith("_") and name not in vars(wrapping):
            setattr(wrapping, name, method)
    return wrapping


def finishes_beside(optimizer: Optimizer, variables: Sequence[Any]) -> Any:
    """The variable beside which an optimizer finishes a step of `variables`; None if it only waits."""
    if type(optimizer)._finish is Optimizer._finish:
        return None
    graph = get_default_graph()
    own = [v for (_, g), v in optimizer._non_slots.items() if g is graph]
    return min(own or variables, key=lambda v: str(v.name))
