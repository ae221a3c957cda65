"""Profiles of a graph: a tree of its name scopes, or a list of its types, with sums."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

import graphflow.gfile as gfile
from graphflow._core.common.records import dataclass
from graphflow._core.graph.defaults import get_default_graph
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.graph import Graph
from graphflow._core.graph.keys import GraphKeys
from graphflow.config import RunMetadata
from graphflow.errors import InvalidArgumentError, UnimplementedError
from graphflow.profiler.float_operations import float_operations
from graphflow.profiler.options import TRAINABLE_VARIABLES, ProfileOptionBuilder

ROOT: Final = "_TFProfRoot"
_SUMS: Final[Mapping[str, str]] = {
    "params": "parameters",
    "float_ops": "float_ops",
    "micros": "exec_micros",
    "bytes": "requested_bytes",
    "occurrence": "occurrence",
}
"""What may be selected, and the attribute that has it."""
_LEAST: Final[Mapping[str, str]] = {
    "min_params": "params",
    "min_float_ops": "float_ops",
    "min_micros": "micros",
    "min_bytes": "bytes",
    "min_occurrence": "occurrence",
}


@dataclass
class ProfileNode:
    """An operation, a name scope or a type of operations, with what it has itself and with all in it.

    Args:
        name: Its name.
        parameters: How many numbers the variable holds.
        float_ops: Floating-point operations of one run.
        exec_micros: Microseconds in the traced run.
        requested_bytes: Bytes of its results in the traced run.
        occurrence: How many operations there are of the type.
        total_parameters: The sum with all inside.
        total_float_ops: The sum with all inside.
        total_exec_micros: The sum with all inside.
        total_requested_bytes: The sum with all inside.
        total_occurrence: The sum with all inside.
        shape: That of the variable.
        children: What is inside.
    """

    name: str
    parameters: int = 0
    float_ops: int = 0
    exec_micros: int = 0
    requested_bytes: int = 0
    occurrence: int = 0
    total_parameters: int = 0
    total_float_ops: int = 0
    total_exec_micros: int = 0
    total_requested_bytes: int = 0
    total_occurrence: int = 0
    shape: tuple[int, ...] = ()
    children: list[ProfileNode] = field(default_factory=list)

    def add(self, other: ProfileNode) -> None:
        """Adds the sums of another to its own.

        Args:
            other: The other.
        """
        for name in _SUMS.values():
            total = f"total_{name}"
            setattr(self, total, getattr(self, total) + getattr(other, total))


def profile(
    graph: Graph | None = None,
    run_meta: RunMetadata | None = None,
    op_log: None = None,
    cmd: str = "scope",
    options: Mapping[str, Any] | None = None,
) -> ProfileNode:
    """Counts, and prints, what a graph has (tf.profiler.profile).

    Args:
        graph: The graph, by default the default one.
        run_meta: What a traced run has filled, for times and bytes.
        op_log: None: types of the user's own are not there.
        cmd: "scope" for a tree of name scopes, "op" for the types of operations.
        options: What ProfileOptionBuilder makes; by default the parameters of variables that are trained.

    Returns:
        The root of the tree, or of the list, of what is shown.

    Raises:
        UnimplementedError: For other views, "graph" and "code".
        InvalidArgumentError: For any other word.
    """
    if cmd in ("graph", "code"):
        raise UnimplementedError(None, None, f"cmd is 'scope' or 'op' here, got {cmd!r}.")
    if cmd not in ("scope", "op"):
        raise InvalidArgumentError(None, None, f"unknown cmd: {cmd}")
    chosen = ProfileOptionBuilder.trainable_variables_parameter() | dict(options or {})
    found = _records(graph or get_default_graph(), run_meta, chosen)
    root = _tree(found, chosen) if cmd == "scope" else _types(found, chosen)
    _write(root, run_meta, chosen, cmd)
    return root


class Profiler:
    """Profiles of the steps of one graph (tf.profiler.Profiler).

    Args:
        graph: The graph, by default the default one.
        op_log: None.
    """

    def __init__(self, graph: Graph | None = None, op_log: None = None) -> None:
        self._graph = graph or get_default_graph()
        self._steps: dict[int, RunMetadata] = {}

    def add_step(self, step: int, run_meta: RunMetadata) -> None:
        """Adds what a traced run has filled.

        Args:
            step: The number of the step.
            run_meta: What it filled.
        """
        self._steps[step] = run_meta

    def _of(self, options: Mapping[str, Any]) -> RunMetadata | None:
        step = options.get("step", -1)
        return self._steps.get(max(self._steps, default=-1) if step == -1 else step)

    def profile_name_scope(self, options: Mapping[str, Any]) -> ProfileNode:
        """The tree of name scopes.

        Args:
            options: What ProfileOptionBuilder makes.

        Returns:
            Its root.
        """
        return profile(self._graph, self._of(options), cmd="scope", options=options)

    def profile_operations(self, options: Mapping[str, Any]) -> ProfileNode:
        """The types of operations.

        Args:
            options: What ProfileOptionBuilder makes.

        Returns:
            The root, whose children they are.
        """
        return profile(self._graph, self._of(options), cmd="op", options=options)


def _matches(patterns: Sequence[str], *texts: str) -> bool:
    return any(re.fullmatch(pattern, text) for pattern in patterns for text in texts)


def _records(
    graph: Graph, run_meta: RunMetadata | None, options: Mapping[str, Any]
) -> list[tuple[Operation, ProfileNode]]:
    """The operations that count, each with what it has itself."""
    trained = {variable.op.name for variable in graph.get_collection(GraphKeys.TRAINABLE_VARIABLES)}
    times: dict[str, tuple[float, int]] = {}
    for stats in run_meta.step_stats.nodes() if run_meta is not None else ():
        micros, size = times.get(stats.node_name, (0.0, 0))
        size += sum(output.bytes for output in stats.outputs)
        times[stats.node_name] = (micros + stats.duration_us, size)
    found = []
    for op in graph.get_operations():
        kinds = (op.type, op.device, TRAINABLE_VARIABLES) if op.name in trained else (op.type, op.device)
        if not _matches(options["account_type_regexes"], *kinds):
            continue
        node = ProfileNode(op.name, occurrence=1, float_ops=float_operations(op))
        dims = op.outputs[0].dims if op.op_def.is_variable else None
        if dims is not None and None not in dims:
            node.shape = tuple(size or 0 for size in dims)
            node.parameters = math.prod(node.shape)
        micros, node.requested_bytes = times.get(op.name, (0.0, 0))
        node.exec_micros = round(micros)
        found.append((op, node))
    return found


def _total(node: ProfileNode) -> ProfileNode:
    for name in _SUMS.values():
        setattr(node, f"total_{name}", getattr(node, name))
    return node


def _is_shown(node: ProfileNode, options: Mapping[str, Any]) -> bool:
    """Whether a node itself is, by its name; a scope is shown if anything in it is."""
    return _matches(options["show_name_regexes"], node.name) and not _matches(
        options["hide_name_regexes"], node.name
    )


def _is_large(node: ProfileNode, options: Mapping[str, Any]) -> bool:
    return all(
        getattr(node, f"total_{_SUMS[what]}") >= options.get(least, 0) for least, what in _LEAST.items()
    )


def _tree(found: Sequence[tuple[Operation, ProfileNode]], options: Mapping[str, Any]) -> ProfileNode:
    nodes: dict[str, ProfileNode] = {"": ProfileNode(ROOT)}

    def at(name: str) -> ProfileNode:
        if name not in nodes:
            nodes[name] = ProfileNode(name)
            at(name.rpartition("/")[0]).children.append(nodes[name])
        return nodes[name]

    for _, record in found:
        node = at(record.name)
        for name in (*_SUMS.values(), "shape"):
            setattr(node, name, getattr(record, name))

    def finish(node: ProfileNode, depth: int) -> bool:
        """Sums up, and drops what is not shown; whether the node is."""
        _total(node)
        if _matches(options["trim_name_regexes"], node.name):
            node.children.clear()
        shown = [child for child in node.children if finish(child, depth + 1)]
        counted = shown if options["account_displayed_op_only"] else node.children
        own = _is_shown(node, options) and _matches(options["start_name_regexes"], node.name)
        if not own and options["account_displayed_op_only"]:
            for name in _SUMS.values():
                setattr(node, f"total_{name}", 0)
        for child in counted:
            node.add(child)
        node.children = _in_order(shown if depth < options["max_depth"] else [], options)
        return bool(shown) or (own and _is_large(node, options) and node.occurrence > 0)

    finish(nodes[""], 0)
    return nodes[""]


def _types(found: Sequence[tuple[Operation, ProfileNode]], options: Mapping[str, Any]) -> ProfileNode:
    root = ProfileNode(ROOT)
    kinds: dict[str, ProfileNode] = {}
    for op, record in found:
        node = kinds.setdefault(op.type, ProfileNode(op.type))
        for name in _SUMS.values():
            setattr(node, name, getattr(node, name) + getattr(record, name))
    for node in kinds.values():
        if _is_shown(_total(node), options) and _is_large(node, options):
            root.children.append(node)
            root.add(node)
    root.children = _in_order(root.children, options)
    return root


def _in_order(nodes: Sequence[ProfileNode], options: Mapping[str, Any]) -> list[ProfileNode]:
    what = _SUMS.get(options["order_by"])
    if what is None:
        return sorted(nodes, key=lambda node: node.name)
    return sorted(nodes, key=lambda node: -getattr(node, f"total_{what}"))


# ---- as text ------------------------------------------------------------------------------------------------------


def _scaled(number: int, units: str) -> str:
    """A number with three decimal units, as 7.84k."""
    for power, unit in ((3, units[2]), (2, units[1]), (1, units[0])):
        if number >= 1000**power:
            return f"{number / 1000**power:.2f}{unit}"
    return str(number)


_SHOWN: Final[Mapping[str, Callable[[int], str]]] = {
    "params": lambda number: _scaled(number, "kmb"),
    "float_ops": lambda number: _scaled(number, "kmb"),
    "micros": lambda number: f"{number / 1000:.2f}ms" if number >= 1000 else f"{number}us",
    "bytes": lambda number: f"{_scaled(number, 'KMG')}B",
    "occurrence": str,
}
_UNITS: Final = {"params": " params", "float_ops": " flops"}


def _line(node: ProfileNode, what: str) -> str:
    own, total = getattr(node, _SUMS[what]), getattr(node, f"total_{_SUMS[what]}")
    size = f"{'x'.join(map(str, node.shape))}, " if what == "params" and node.shape else ""
    return f"{size}{_SHOWN[what](own) if own else '--'}/{_SHOWN[what](total)}{_UNITS.get(what, '')}"


def _lines(node: ProfileNode, selected: Sequence[str], depth: int) -> list[str]:
    told = ", ".join(_line(node, what) for what in selected if what in _SUMS)
    below = [line for child in node.children for line in _lines(child, selected, depth + 1)]
    return [f"{'  ' * depth}{node.name} ({told})", *below]


def _write(root: ProfileNode, run_meta: RunMetadata | None, options: Mapping[str, Any], cmd: str) -> None:
    kind, _, place = str(options["output"]).partition(":outfile=")
    if kind == "none":
        return
    if kind == "timeline":
        with gfile.GFile(place, "w") as file:
            file.write((run_meta or RunMetadata()).chrome_trace())
        return
    head = "node name | " + " | ".join(options["select"])
    text = "\n".join(["Profile:", head, *_lines(root, options["select"], 0), ""])
    if kind == "file":
        with gfile.GFile(place, "w") as file:
            file.write(text)
    else:
        sys.stdout.write(text)
