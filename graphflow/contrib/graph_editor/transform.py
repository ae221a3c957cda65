"""Parts of a graph copied, with other tensors in place of those that they take from outside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from graphflow import nest
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys
from graphflow._core.ops.array.array import placeholder
from graphflow.contrib.graph_editor.subgraph import Part, SubGraphView, make_view
from graphflow.contrib.graph_editor.walks import get_walks_intersection_ops


def _closed(scope: str) -> str:
    return f"{scope}/" if scope and not scope.endswith("/") else scope


class TransformerInfo:
    """What became of what in a copy (tf.contrib.graph_editor.TransformerInfo).

    Attributes:
        graph: The graph that was copied from.
        graph_: The graph that was copied to.
        scope: The scope in it that was copied.
        scope_: The scope of the copy.
        sgv: The part that was copied.
        transformed_ops: The copies of its operations.
        transformed_ts: The copies of its tensors.
    """

    def __init__(self, sgv: SubGraphView, graph_: Graph, scope_: str, scope: str) -> None:
        """Begins without copies.

        Args:
            sgv: The part that is copied.
            graph_: The graph that it is copied to.
            scope_: The scope of the copy.
            scope: The scope that is copied.
        """
        self.sgv = sgv
        self.graph, self.graph_ = sgv.graph, graph_
        self.scope, self.scope_ = scope, scope_
        self.transformed_ops: dict[Operation, Operation] = {}
        self.transformed_ts: dict[Tensor, Tensor] = {}

    def new_name(self, name: str) -> str:
        """The name of a copy.

        Args:
            name: The name of what is copied.

        Returns:
            A name in the scope of the copy.

        Raises:
            ValueError: If it is not in the scope that is copied.
        """
        if not name.startswith(self.scope):
            raise ValueError(f"{name} does not belong to source scope: {self.scope}.")
        return self.scope_ + name[len(self.scope) :]

    def transformed(self, original: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """The copies of operations and tensors.

        Args:
            original: One, its name, or a structure of them.
            missing_fn: What is given in place of a copy that there is not; None by default.

        Returns:
            The same structure.
        """
        return nest.map_structure(lambda one: self._other(one, missing_fn, False), original)

    def original(self, transformed: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """What copies are copies of.

        Args:
            transformed: A copy, its name, or a structure of them.
            missing_fn: What is given in place of one that is no copy; None by default.

        Returns:
            The same structure.
        """
        return nest.map_structure(lambda one: self._other(one, missing_fn, True), transformed)

    def _other(self, one: Any, missing_fn: Callable[[Any], Any] | None, back: bool) -> Any:
        if isinstance(one, str):
            one = (self.graph_ if back else self.graph).as_graph_element(one)
        for table in (self.transformed_ops, self.transformed_ts):
            for old, new in table.items():
                if one is (new if back else old):
                    return old if back else new
        return None if missing_fn is None else missing_fn(one)


def replace_t_with_placeholder_handler(info: TransformerInfo, t: Tensor) -> Tensor:
    """A placeholder in place of a tensor from outside.

    Args:
        info: What is copied.
        t: The tensor.

    Returns:
        A tensor of the same dtype and shape in the graph that is copied to.
    """
    with info.graph_.as_default(), info.graph_.name_scope(None):
        short = t.op.name.replace("/", "_")
        name = info.graph_.unique_name(f"{info.scope_}geph__{short}_{t.value_index}")
        return placeholder(t.dtype, t.shape, name=f"{name}/")


def keep_t_if_possible_handler(info: TransformerInfo, t: Tensor) -> Tensor:
    """The tensor from outside itself; a placeholder in another graph.

    Args:
        info: What is copied.
        t: The tensor.

    Returns:
        A tensor in the graph that is copied to.
    """
    return t if info.graph is info.graph_ else replace_t_with_placeholder_handler(info, t)


def assign_renamed_collections_handler(
    info: TransformerInfo, elem: Operation | Tensor, elem_: Operation | Tensor
) -> None:
    """Puts a copy into the collections of what it is a copy of, in its scope unless the library knows their names.

    Args:
        info: What is copied.
        elem: An operation or a tensor.
        elem_: The copy.
    """
    known = {value for key, value in vars(GraphKeys).items() if key.isupper()}
    for name in info.graph.get_all_collection_keys():
        if any(one is elem for one in info.graph.get_collection(name)):
            info.graph_.add_to_collection(name if name in known else info.new_name(name), elem_)


def transform_op_if_inside_handler(
    info: TransformerInfo, op: Operation, keep_if_possible: bool = True
) -> Operation | None:
    """The copy of an operation that another waits for.

    Args:
        info: What is copied.
        op: The operation.
        keep_if_possible: Whether one from outside counts itself, in the same graph.

    Returns:
        An operation, or None.
    """
    if op in info.transformed_ops:
        return info.transformed_ops[op]
    return op if keep_if_possible and info.graph is info.graph_ else None


def copy_op_handler(
    info: TransformerInfo, op: Operation, new_inputs: list[Tensor]
) -> tuple[Operation, list[Tensor]]:
    """Copies an operation.

    Args:
        info: What is copied.
        op: The operation.
        new_inputs: What the copy takes.

    Returns:
        The copy, and its results.

    Raises:
        ValueError: If it stands in a branch or a loop.
    """
    if op.control_flow_context is not None:
        raise ValueError(
            f"{op.name} stands in a branch or a loop, of which parts cannot be copied: write the graph with "
            "as_graph_def and read it with gf.import_graph_def, whose input_map replaces tensors."
        )
    with info.graph_.name_scope(None), info.graph_.control_dependencies(None):
        name = info.graph_.unique_name(info.new_name(op.name))
        copied = info.graph_.add(op.op_def, new_inputs, dict(op.attrs), f"{name}/")
    copied.set_device(op.device)
    copied.keep_line(op)
    return copied, copied.outputs


class Transformer:
    """Copies a part of a graph; what it does with each element is a function that may be replaced.

    TensorFlow: tf.contrib.graph_editor.Transformer.

    Attributes:
        transform_op_handler: Of an operation and the copy's inputs the copy and its results.
        transform_control_input_handler: Of an operation that is waited for the one that the copy waits for, or None.
        assign_collections_handler: Puts a copy into collections.
        transform_external_input_handler: Of a tensor from outside the one that the copy takes.
    """

    def __init__(self) -> None:
        """Begins with the functions that copy, and make placeholders of what comes from outside."""
        self.transform_op_handler: Callable[..., Any] = copy_op_handler
        self.transform_control_input_handler: Callable[..., Any] = transform_op_if_inside_handler
        self.assign_collections_handler: Callable[..., Any] = assign_renamed_collections_handler
        self.transform_external_input_handler: Callable[..., Any] = replace_t_with_placeholder_handler

    def __call__(
        self, sgv: Part, dst_graph: Graph, dst_scope: str, src_scope: str = "", reuse_dst_scope: bool = False
    ) -> tuple[SubGraphView, TransformerInfo]:
        """Copies.

        Args:
            sgv: A part of a graph: a view, operations, or a graph.
            dst_graph: The graph to copy to.
            dst_scope: The scope of the copy.
            src_scope: The scope of what is copied.
            reuse_dst_scope: Whether the scope may be there; by default it is made unique.

        Returns:
            A view of the copy, and what became of what.

        Raises:
            TypeError: If `dst_graph` is no graph.
        """
        view = make_view(sgv)
        if not isinstance(dst_graph, Graph):
            raise TypeError(f"Expected a gf.Graph, got: {type(dst_graph)}")
        scope_ = _closed(dst_scope)
        if scope_ and not reuse_dst_scope:
            with dst_graph.name_scope(None):
                scope_ = _closed(dst_graph.unique_name(scope_[:-1]))
        info = TransformerInfo(view, dst_graph, scope_, _closed(src_scope))
        outside: dict[Tensor, Tensor] = {}
        for op in view.ops:
            taken = []
            for tensor in op.inputs:
                if tensor not in info.transformed_ts and tensor not in outside:
                    outside[tensor] = self.transform_external_input_handler(info, tensor)
                taken.append(
                    info.transformed_ts[tensor] if tensor in info.transformed_ts else outside[tensor]
                )
            copied, results = self.transform_op_handler(info, op, taken)
            info.transformed_ops[op] = copied
            self.assign_collections_handler(info, op, copied)
            for old, new in zip(op.outputs, results, strict=True):
                info.transformed_ts[old] = new
                self.assign_collections_handler(info, old, new)
        for op, copied in info.transformed_ops.items():
            waited = [self.transform_control_input_handler(info, one) for one in op.control_inputs]
            copied.add_control_inputs([one for one in waited if one is not None])
        return SubGraphView(info.transformed_ops.values()), info


def copy(
    sgv: Part,
    dst_graph: Graph | None = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """A copy of a part of a graph, which takes placeholders (tf.contrib.graph_editor.copy).

    Args:
        sgv: A part of a graph: a view, operations, or a graph.
        dst_graph: The graph to copy to; the same by default.
        dst_scope: The scope of the copy.
        src_scope: The scope of what is copied.
        reuse_dst_scope: Whether the scope may be there; by default it is made unique.

    Returns:
        A view of the copy, and what became of what.

    Raises:
        TypeError: If `dst_graph` is no graph.
    """
    view = make_view(sgv)
    return Transformer()(
        view, view.graph if dst_graph is None else dst_graph, dst_scope, src_scope, reuse_dst_scope
    )


def copy_with_input_replacements(
    sgv: Part,
    replacement_ts: Mapping[Tensor, Tensor],
    dst_graph: Graph | None = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[SubGraphView, TransformerInfo]:
    """A copy that takes other tensors from outside (tf.contrib.graph_editor.copy_with_input_replacements).

    Args:
        sgv: A part of a graph: a view, operations, or a graph.
        replacement_ts: Of tensors from outside those that the copy takes; others are kept.
        dst_graph: The graph to copy to; the same by default.
        dst_scope: The scope of the copy.
        src_scope: The scope of what is copied.
        reuse_dst_scope: Whether the scope may be there; by default it is made unique.

    Returns:
        A view of the copy, and what became of what.

    Raises:
        TypeError: If `dst_graph` is no graph.
    """
    view = make_view(sgv)
    copier = Transformer()

    def replaced(info: TransformerInfo, t: Tensor) -> Tensor:
        return replacement_ts[t] if t in replacement_ts else keep_t_if_possible_handler(info, t)

    copier.transform_external_input_handler = replaced
    return copier(view, view.graph if dst_graph is None else dst_graph, dst_scope, src_scope, reuse_dst_scope)


def graph_replace(
    target_ts: Any,
    replacement_ts: Mapping[Tensor, Tensor],
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> Any:
    """Tensors computed once more, from others (tf.contrib.graph_editor.graph_replace).

    Args:
        target_ts: A tensor, or a structure of them.
        replacement_ts: Of tensors that they need those to take instead.
        dst_scope: The scope of the copy.
        src_scope: The scope of what is copied.
        reuse_dst_scope: Whether the scope may be there; by default it is made unique.

    Returns:
        The same structure; what needs none of the tensors is as it was.

    Raises:
        ValueError: If the targets need none of the tensors.
    """
    ops = get_walks_intersection_ops(
        list(replacement_ts), [tensor.op for tensor in nest.flatten(target_ts)], control_inputs=True
    )
    if not ops:
        raise ValueError("Targets and replacements are not connected!")
    _, info = copy_with_input_replacements(ops, replacement_ts, None, dst_scope, src_scope, reuse_dst_scope)
    return info.transformed(target_ts, lambda one: one)


__all__ = [
    "Transformer",
    "TransformerInfo",
    "assign_renamed_collections_handler",
    "copy",
    "copy_op_handler",
    "copy_with_input_replacements",
    "graph_replace",
    "keep_t_if_possible_handler",
    "replace_t_with_placeholder_handler",
    "transform_op_if_inside_handler",
]
