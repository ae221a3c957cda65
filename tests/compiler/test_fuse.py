"""Protects fusion: whatever is grouped, everything still runs after what it needs, and nothing is lost or doubled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import graphflow as gf
from graphflow._core.compiler.fuse import fuse
from graphflow._core.compiler.nodes import KernelNode, Node, Statements
from graphflow._core.compiler.values import whole
from graphflow._core.plan.ir import Instruction
from tests.runtime.compiled.tiers import check

_SPACES: list[tuple[int, ...]] = [(), (8,), (4, 8)]
_STEP = st.tuples(
    st.sampled_from(["map", "map", "map", "sum", "kernel", "update", "part"]),
    st.lists(st.integers(0, 40), max_size=3),
    st.integers(0, 2),
    st.integers(0, 2),
)


def _nodes(steps: list[tuple[str, list[int], int, int]]) -> list[Node]:
    """Nodes that read earlier results of their own space, with the edges that lowering makes."""
    nodes: list[Node] = []
    made: list[tuple[Any, int]] = []
    readers: dict[str, list[int]] = {}
    writers: dict[str, int] = {}
    for number, (kind, picks, place, variable) in enumerate(steps):
        space = _SPACES[place]
        instruction = Instruction(f"n{number}", kind, (), (), (), ())
        reads, after = [], set()
        for pick in picks:
            if made:
                value, maker = made[pick % len(made)]
                if value.shape in (space, ()):
                    reads.append(value)
                    after.add(maker)
        root = f"v{place}{variable}"
        variable_value = whole(root, "float32", space)
        reads.append(variable_value)
        after.update(n for n in [writers.get(root)] if n is not None)
        result = whole(f"r{number}", "float32", () if kind == "sum" else space)
        node: Node
        if kind == "kernel":
            node = KernelNode(instruction, reads, [result.root])
        else:
            lines = [("out", "float32", "{0} + 1")]
            node = Statements(
                instruction, reads, [result.root], space=space, lines=lines, results=[("out", result)]
            )
            if kind == "sum" and space:
                node.reduce = ("sum", tuple(range(len(space))))
            if kind == "update":
                node.variables, node.makes, node.forced = [root], [], True
                node.results = [("out", variable_value)]
                after.update(readers.pop(root, []))
                writers[root] = number
        if kind != "update":
            readers.setdefault(root, []).append(number)
            made.append((result, number))
        node.after = sorted(after)
        nodes.append(node)
    return nodes


@given(st.lists(_STEP, min_size=1, max_size=40))
def test_groups_run_in_an_order_that_every_node_agrees_with(
    steps: list[tuple[str, list[int], int, int]],
) -> None:
    nodes = _nodes(steps)
    order = [number for group in fuse(nodes) for number in group.numbers]
    assert sorted(order) == list(range(len(nodes)))
    position = {number: k for k, number in enumerate(order)}
    for number, node in enumerate(nodes):
        assert all(position[earlier] < position[number] for earlier in node.after)


@given(st.lists(_STEP, min_size=1, max_size=40))
def test_a_region_reads_no_variable_after_writing_it(steps: list[tuple[str, list[int], int, int]]) -> None:
    for group in fuse(_nodes(steps)):
        if group.scalar:
            continue  # the scalar machine runs line by line
        written: set[str] = set()
        for node in group.nodes:
            assert not written & {v.root for v in node.reads}
            assert not written & set(node.variables)
            written.update(node.variables)


@pytest.mark.parametrize("count", [15, 16, 17, 21, 25, 60])
def test_a_block_may_have_any_number_of_parts(count: int) -> None:
    """A concatenation is one block that each part is stored into; a kernel stores a limited number of them."""

    def model() -> Any:
        x = gf.placeholder(gf.float32, [count, 4])
        parts = [gf.tanh(part) * float(k + 1) for k, part in enumerate(gf.unstack(x))]
        whole = gf.concat([gf.expand_dims(p, 0) for p in parts], 0)
        return [whole, gf.gradients(gf.square(whole), x)[0]], {x: np.ones((count, 4), "f")}

    check(model)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "float32"])
def test_any_number_of_scalars_of_dtypes_that_the_scalar_machine_lacks(dtype: str) -> None:
    def model() -> Any:
        x = gf.placeholder(dtype, [])
        values = [x]
        for k in range(40):
            values.append(values[-1] + gf.cast(x * gf.constant(k % 3, dtype), dtype))
        return values, {x: 1}

    check(model)
