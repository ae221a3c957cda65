"""Blocks of reversible residual layers, whose activations follow from their outputs (tf.contrib.layers.rev_block).

Of a layer y1 = x1 + f(x2), y2 = x2 + g(y1) the inputs follow from the outputs, so that gradients need nothing of what
lies between (Gomez et al., 2017).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphflow._core.autodiff.gradients import gradients
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.shaping import stop_gradient
from graphflow._core.ops.control_flow.custom_gradient import custom_gradient, variables_read
from graphflow._core.ops.control_flow.flow_basics import tuple_
from graphflow._core.ops.math.math import add_n
from graphflow._core.ops.state.variable_scope import get_variable_scope, variable_scope
from graphflow.layers.base import Layer

_Function = Callable[..., Any]


class RevBlock(Layer):
    """Reversible residual layers, one after another; see rev_block (tf.contrib.layers.RevBlock).

    Its variables are made in the first call.

    Args:
        f: A function, or a list of one for each layer.
        g: A function, or a list of one for each layer.
        num_layers: How many layers.
        f_side_input: A list of further tensors for `f`.
        g_side_input: A list of further tensors for `g`.
        use_efficient_backprop: Whether gradients compute activations from the outputs.
        name: Of its variables and operations.
        _scope: The variable scope to take as it is.
        _reuse: Whether the variables exist already.
    """

    def __init__(
        self,
        f: _Function | Sequence[_Function],
        g: _Function | Sequence[_Function],
        num_layers: int = 1,
        f_side_input: Sequence[Any] | None = None,
        g_side_input: Sequence[Any] | None = None,
        use_efficient_backprop: bool = True,
        name: str = "revblock",
        _scope: Any = None,
        _reuse: Any = None,
    ) -> None:
        super().__init__(name=name, _scope=_scope, _reuse=_reuse)
        self.f: list[_Function] = _scoped("f", f, num_layers)
        self.g: list[_Function] = _scoped("g", g, num_layers)
        self.num_layers = num_layers
        self.f_side_input: list[Any] = list(f_side_input or ())
        self.g_side_input: list[Any] = list(g_side_input or ())
        self._efficient = use_efficient_backprop

    def forward(self, x1: Tensor, x2: Tensor) -> tuple[Tensor, Tensor]:
        """The outputs.

        Args:
            x1: A tensor of floats.
            x2: A tensor of floats.

        Returns:
            Two tensors.
        """
        y1, y2 = self([x1, x2])
        return y1, y2

    def backward(self, y1: Tensor, y2: Tensor) -> tuple[Tensor, Tensor]:
        """The inputs that have these outputs.

        Args:
            y1: A tensor of floats.
            y2: A tensor of floats.

        Returns:
            Two tensors.
        """
        x1, x2 = self([y1, y2], forward=False)
        return x1, x2

    def call(self, inputs: Any, forward: bool = True) -> Any:
        """The outputs of inputs, or the other way round.

        Args:
            inputs: Two tensors.
            forward: Whether they are inputs.
        """
        scope = get_variable_scope()
        known = set(scope.global_variables())
        first, second = inputs
        outputs = self._outputs_of(first, second) if forward else self._inputs_of(first, second)
        trained = set(scope.trainable_variables())
        for made in scope.global_variables():
            if made not in known:
                (self._trainable_weights if made in trained else self._non_trainable_weights).append(made)
        return outputs

    def _outputs_of(self, x1: Tensor, x2: Tensor) -> tuple[Tensor, Tensor]:
        if not self._efficient:
            return self._layers(x1, x2, self.f_side_input, self.g_side_input)

        @custom_gradient
        def reversible(x1: Tensor, x2: Tensor, *sides: Tensor) -> Any:
            count = len(self.f_side_input)
            outputs = self._layers(x1, x2, sides[:count], sides[count:])

            def backward(*given: Tensor, variables: Sequence[Any] = ()) -> Any:
                return self._gradients(outputs, given, sides, variables)

            return outputs, backward

        y1, y2 = reversible(x1, x2, *self.f_side_input, *self.g_side_input)
        return y1, y2

    def _layers(
        self, x1: Tensor, x2: Tensor, f_side: Sequence[Any], g_side: Sequence[Any]
    ) -> tuple[Tensor, Tensor]:
        for f, g in zip(self.f, self.g, strict=True):
            x1 = x1 + _applied(f, x2, f_side)
            x2 = x2 + _applied(g, x1, g_side)
            if self._efficient:
                x1, x2 = tuple_([x1, x2])
        return x1, x2

    def _inputs_of(self, y1: Tensor, y2: Tensor) -> tuple[Tensor, Tensor]:
        for f, g in zip(reversed(self.f), reversed(self.g), strict=True):
            y2 = y2 - _applied(g, y1, self.g_side_input)
            y1 = y1 - _applied(f, y2, self.f_side_input)
        return y1, y2

    def _gradients(
        self,
        outputs: Sequence[Tensor],
        given: Sequence[Tensor],
        sides: Sequence[Tensor],
        variables: Sequence[Any],
    ) -> tuple[list[Any], list[Any]]:
        """The gradients by both inputs and the side inputs, and by the variables; layer by layer from the last."""
        y1, y2 = outputs
        of_y1, of_y2 = given
        count = len(self.f_side_input)
        f_side, g_side = ([stop_gradient(side) for side in part] for part in (sides[:count], sides[count:]))
        found: dict[Any, list[Any]] = {}
        with variable_scope(self.scope_name, reuse=True):
            for f, g in zip(reversed(self.f), reversed(self.g), strict=True):
                step, of_step, own = _derived(g, y1, g_side, of_y2)
                y2, of_y1 = y2 - step, of_y1 + of_step
                back, of_back, others = _derived(f, y2, f_side, of_y1)
                y1, of_y2 = y1 - back, of_y2 + of_back
                for source, gradient in [*own, *others]:
                    if gradient is not None:
                        found.setdefault(source, []).append(gradient)
                # Nothing of the layer below is computed before this one is done with.
                y1, y2, of_y1, of_y2 = tuple_([y1, y2, of_y1, of_y2])
        sums = {source: add_n(parts) for source, parts in found.items()}
        return (
            [of_y1, of_y2, *(sums.get(side) for side in (*f_side, *g_side))],
            [sums.get(variable) for variable in variables],
        )


def _scoped(kind: str, functions: _Function | Sequence[_Function], count: int) -> list[_Function]:
    """The function of each layer, in a variable scope of its own; ValueError if there are not as many as layers."""
    each = [functions] * count if callable(functions) else list(functions)
    if len(each) != count:
        raise ValueError(f"{kind} must be one function, or one for each of {count} layers: got {len(each)}.")

    def scoped(number: int, function: _Function) -> _Function:
        def called(*args: Any) -> Any:
            with variable_scope(f"revlayer_{number}/{kind}", use_resource=True):
                return function(*args)

        return called

    return [scoped(number, function) for number, function in enumerate(each)]


def _applied(function: _Function, x: Tensor, side: Sequence[Any]) -> Tensor:
    result: Tensor = function(x, list(side)) if side else function(x)
    return result


def _derived(
    function: _Function, x: Tensor, side: Sequence[Tensor], given: Tensor
) -> tuple[Tensor, Any, list[tuple[Any, Any]]]:
    """What a function gives, the gradient by its argument, and those by its side inputs and variables."""
    graph = get_default_graph()
    before = graph.version
    start = stop_gradient(x)
    result = _applied(function, start, side)
    sources = [*side, *variables_read(graph, before)]
    of_start, *others = gradients([result], [start, *sources], [given])
    return result, 0.0 if of_start is None else of_start, list(zip(sources, others, strict=True))


def rev_block(
    x1: Tensor,
    x2: Tensor,
    f: _Function | Sequence[_Function],
    g: _Function | Sequence[_Function],
    num_layers: int = 1,
    f_side_input: Sequence[Any] | None = None,
    g_side_input: Sequence[Any] | None = None,
    is_training: bool = True,
) -> tuple[Tensor, Tensor]:
    """Layers y1 = x1 + f(x2), y2 = x2 + g(y1), whose gradients need only their outputs (tf.contrib.layers.rev_block).

    Args:
        x1: A tensor of floats.
        x2: A tensor of floats, like `x1`.
        f: A function from a tensor to one like it, which may call get_variable; or a list of one for each layer. With
            `f_side_input` its second argument is that list. It must close over no tensors.
        g: As `f`.
        num_layers: How many layers.
        f_side_input: A list of further tensors for `f`.
        g_side_input: A list of further tensors for `g`.
        is_training: Whether gradients compute activations from the outputs.

    Returns:
        y1 and y2 of the last layer.

    Examples:
        >>> x = gf.ones([2, 3])
        >>> y1, y2 = gf.contrib.layers.rev_block(x, x, gf.negative, gf.square)
        >>> with gf.Session() as session:
        ...     print(*session.run([y1[0], y2[0]]))
        [0. 0. 0.] [1. 1. 1.]
    """
    block = RevBlock(
        f,
        g,
        num_layers,
        f_side_input,
        g_side_input,
        use_efficient_backprop=is_training,
        _reuse=get_variable_scope().reuse,
    )
    return block.forward(x1, x2)
