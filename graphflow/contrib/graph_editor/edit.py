"""Parts of a graph are taken out of what is around them, left out, and connected with each other."""

from __future__ import annotations

from graphflow._core.graph.elements import Tensor
from graphflow._core.ops.array.array import placeholder
from graphflow.contrib.graph_editor.reroute import reroute_inputs, reroute_ts, swap_inputs, swap_outputs
from graphflow.contrib.graph_editor.subgraph import Part, SubGraphView, make_view
from graphflow.contrib.graph_editor.util import ControlOutputs


def _placeholder(tensor: Tensor) -> Tensor:
    """A placeholder for a tensor, beside its operation."""
    scope, slash, name = tensor.op.name.rpartition("/")
    kept = name if name.startswith("geph") else f"geph__{name}_{tensor.value_index}"
    with tensor.graph.as_default(), tensor.graph.name_scope(f"{scope}{slash}" if scope else None):
        return placeholder(tensor.dtype, tensor.shape, name=kept)


def detach_control_inputs(sgv: Part) -> None:
    """Operations of a part wait for none outside any more (tf.contrib.graph_editor.detach_control_inputs).

    Args:
        sgv: A view, or what makes one.
    """
    view = make_view(sgv)
    inside = set(view.ops)
    for op in view.ops:
        outside = [one for one in op.control_inputs if one not in inside]
        op.remove_control_inputs(outside)


def detach_control_outputs(sgv: Part, control_outputs: ControlOutputs) -> None:
    """None outside waits for operations of a part any more (tf.contrib.graph_editor.detach_control_outputs).

    Args:
        sgv: A view, or what makes one.
        control_outputs: Who waits in the graph.

    Raises:
        TypeError: If `control_outputs` is no ControlOutputs.
    """
    if not isinstance(control_outputs, ControlOutputs):
        raise TypeError(f"Expected a ControlOutputs, got: {type(control_outputs)}")
    control_outputs.update()
    view = make_view(sgv)
    inside = set(view.ops)
    for op in view.ops:
        for one in control_outputs.get(op):
            if one not in inside:
                one.remove_control_inputs([op])


def detach_inputs(sgv: Part, control_inputs: bool = False) -> tuple[SubGraphView, list[Tensor]]:
    """A part takes placeholders in place of its inputs (tf.contrib.graph_editor.detach_inputs).

    Args:
        sgv: A view, or what makes one.
        control_inputs: Whether it does not wait for operations outside either.

    Returns:
        The view, and the placeholders.
    """
    view = make_view(sgv)
    placeholders = [_placeholder(tensor) for tensor in view.inputs]
    if placeholders:
        swap_inputs(view, placeholders)
    if control_inputs:
        detach_control_inputs(view)
    return view, placeholders


def detach_outputs(
    sgv: Part, control_outputs: ControlOutputs | None = None
) -> tuple[SubGraphView, list[Tensor]]:
    """Who takes outputs of a part takes placeholders in their place (tf.contrib.graph_editor.detach_outputs).

    Args:
        sgv: A view, or what makes one.
        control_outputs: Who waits in the graph, to wait for it no more; None leaves that.

    Returns:
        The view, with the outputs that were taken, and the placeholders.
    """
    view = make_view(sgv)
    view = view.remap_outputs([tensor for tensor in view.outputs if tensor.consumers()])
    placeholders = [_placeholder(tensor) for tensor in view.outputs]
    if placeholders:
        swap_outputs(view, placeholders)
    if control_outputs is not None:
        detach_control_outputs(view, control_outputs)
    return view, placeholders


def detach(
    sgv: Part,
    control_inputs: bool = False,
    control_outputs: ControlOutputs | None = None,
    control_ios: ControlOutputs | None = None,
) -> tuple[SubGraphView, list[Tensor], list[Tensor]]:
    """A part takes placeholders, and so do those who took something of it (tf.contrib.graph_editor.detach).

    Args:
        sgv: A view, or what makes one.
        control_inputs: Whether it does not wait for operations outside either.
        control_outputs: Who waits in the graph, to wait for it no more; None leaves that.
        control_ios: In place of both, who waits in the graph.

    Returns:
        The view, the placeholders that it takes, and those that others take.

    Raises:
        ValueError: If `control_ios` is given with one of the others.
    """
    if control_ios is not None:
        if control_inputs or control_outputs is not None:
            raise ValueError(
                "control_ios is for both, and control_inputs or control_outputs is given besides."
            )
        control_inputs, control_outputs = True, control_ios
    view, inputs = detach_inputs(sgv, control_inputs)
    view, outputs = detach_outputs(view, control_outputs)
    return view, inputs, outputs


def connect(sgv0: Part, sgv1: Part, disconnect_first: bool = False) -> tuple[SubGraphView, SubGraphView]:
    """The inputs of a part are the outputs of another from now on (tf.contrib.graph_editor.connect).

    Args:
        sgv0: The part that gives.
        sgv1: The part that takes, as many and in the same order.
        disconnect_first: Whether others that took outputs of the first take placeholders.

    Returns:
        Both views.

    Raises:
        ValueError: If they do not fit each other.
    """
    giver, taker = make_view(sgv0), make_view(sgv1)
    if disconnect_first:
        detach_outputs(giver)
    reroute_inputs(SubGraphView(passthrough_ts=giver.outputs), taker)
    return giver, taker


def bypass(sgv: Part) -> tuple[SubGraphView, list[Tensor]]:
    """Who takes outputs of a part takes its inputs in their place (tf.contrib.graph_editor.bypass).

    Args:
        sgv: A view with as many inputs as outputs, or what makes one.

    Returns:
        The view, and the placeholders that it takes.

    Raises:
        ValueError: If they do not fit each other.
    """
    view = make_view(sgv)
    before = list(view.inputs)
    view, placeholders = detach_inputs(view)
    reroute_ts(before, view.outputs)
    return view, placeholders


__all__ = [
    "bypass",
    "connect",
    "detach",
    "detach_control_inputs",
    "detach_control_outputs",
    "detach_inputs",
    "detach_outputs",
]
