"""What a layer adds to the models that it is in besides weights: losses, updates of state, metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import graphflow.nest as nest
from graphflow._core.graph.elements import Tensor
from graphflow.keras import ops
from graphflow.keras.engine import tracking
from graphflow.keras.typing import Tensors


class LayerAdditions:
    """The losses, updates and metrics of a layer, and which of them depend on what."""

    trainable: Any
    stateful: bool
    _losses: list[Any]
    _updates: list[Any]
    _call_inputs: list[Tensor]

    def _sublayers(self) -> list[Any]:
        raise NotImplementedError

    def add_loss(self, losses: Tensors, inputs: Tensors = None) -> None:
        """Adds to what is minimised.

        Args:
            losses: A tensor, a function without arguments that makes one, or a list of these.
            inputs: Changes nothing: what a loss depends on is seen from the graph.
        """
        found = [loss() if callable(loss) else loss for loss in nest.flatten(losses)]
        self._losses += [ops.convert_to_tensor(loss) for loss in found if loss is not None]

    def add_update(self, updates: Tensors, inputs: Tensors = None) -> None:
        """Adds what each step of training runs.

        Args:
            updates: An operation, a tensor, a pair (variable, value), a function that makes one, or a list of these.
            inputs: Changes nothing: what an update depends on is seen from the graph.
        """
        if isinstance(updates, tuple) and len(updates) == 2:
            updates = [updates]
        for update in updates if isinstance(updates, list) else [updates]:
            made: Any = update() if callable(update) else update
            made = ops.assign(*made) if isinstance(made, tuple) else made
            self._updates.append(getattr(made, "op", made))

    def add_metric(self, value: Tensor, aggregation: str | None = None, name: str | None = None) -> None:
        """Logs a value as a metric of the models that the layer is in.

        Args:
            value: A tensor, or the result of a metric.
            aggregation: "mean" for the mean over batches; None for the result of a metric.
            name: The name in the logs.
        """
        self._added_metrics().append((value, aggregation, name))

    def _added_metrics(self) -> list[Any]:
        added: list[Any] = self.__dict__.setdefault("_metric_values", [])
        return added

    @property
    def losses(self) -> list[Tensor]:
        """Its losses and those of the layers inside."""
        nested = [loss for layer in self._sublayers() for loss in layer.losses]
        return tracking.once([*self._losses, *nested])

    @property
    def updates(self) -> list[Any]:
        """Operations that each training step must run; none if the layer is neither trainable nor stateful."""
        if not self.trainable and not self.stateful:
            return []
        return tracking.once([*self._updates, *(u for layer in self._sublayers() for u in layer.updates)])

    def _seen_inputs(self) -> list[Tensor]:
        """All tensors that it, or a layer inside, was called with."""
        nested = (layer for layer in self._sublayers() if isinstance(layer, LayerAdditions))
        return [*self._call_inputs, *(t for layer in nested for t in layer._seen_inputs())]

    def _depending_on(self, elements: Sequence[Any], inputs: Any) -> list[Any]:
        """Of updates or losses those that depend on inputs; on no input of a layer if `inputs` is None."""
        seen = reachable(self._seen_inputs() if inputs is None else nest.flatten(inputs))
        return [e for e in elements if (getattr(e, "op", e) in seen) == (inputs is not None)]

    def get_losses_for(self, inputs: Tensors) -> list[Tensor]:
        """The losses that depend on inputs.

        Args:
            inputs: Tensors; None for the losses that depend on none.

        Returns:
            Scalars.
        """
        return self._depending_on(self.losses, inputs)

    def get_updates_for(self, inputs: Tensors) -> list[Any]:
        """The updates that depend on inputs.

        Args:
            inputs: Tensors; None for the updates that depend on none.

        Returns:
            Operations.
        """
        return self._depending_on(self.updates, inputs)


def reachable(tensors: Sequence[Any]) -> set[Any]:
    """The operations that depend on tensors or variables, those that make them among them; loops go back, too."""
    found: set[Any] = set()
    waiting = [t.op for t in tensors if hasattr(t, "op")]
    while waiting:
        op = waiting.pop()
        if op not in found:
            found.add(op)
            waiting += [consumer for output in op.outputs for consumer in output.consumers()]
    return found
