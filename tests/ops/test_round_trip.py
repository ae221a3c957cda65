"""Protects every op type on its way through a GraphDef: it comes back with the same inputs, attributes and results.

CI takes one sample of each op type and runs some of them, `--everything` all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import graphflow as gf
from graphflow._core.graph.op_def import lookup, registry
from graphflow._core.interop.expansions import EXPANSIONS
from graphflow._core.interop.import_nodes import parse
from graphflow._core.interop.op_table import tensorflow_op
from graphflow._core.ops.core import apply
from tests.ops import op_samples
from tests.ops.op_samples import Sample, samples

OP_TYPES = sorted(set(registry()) & set(op_samples.TABLE))
RUN = 6
"""One op type in so many is run on CI."""
ROUNDED = {"FusedBatchNormV3", "FusedBatchNormGradV3"}
"""With float64, an attribute that a message holds as a float32 changes the last bits."""


def built(op_type: str, taken: list[Sample]) -> tuple[list[str], list[str], list[str]]:
    """Adds the samples to the graph; the names of their results, their operations and their initializers."""
    definition = lookup(op_type)
    results, operations, initializers = [], [], []
    for sample in taken:
        values: list[Any] = []
        for spec, value in zip(definition.inputs, sample.inputs, strict=True):
            if spec.ref or spec.written:
                variable = gf.Variable(value, trainable=False, dtype=gf.as_dtype(value.dtype))
                initializers.append(variable.initializer.name)
                values.append(variable._ref())
            else:
                values.append([_constant(v) for v in value] if spec.variadic else _constant(value))
        op = apply(definition, values, dict(sample.attrs))
        results += [t.name for t in op.outputs]
        operations.append(op.name)
    return results, operations, initializers


def _constant(value: Any) -> Any:
    return gf.constant(value, gf.string if value.dtype == object else gf.as_dtype(value.dtype))


def assert_declared(proto: Any, node: Any) -> None:
    """Checks that a written node has all inputs and attributes that TensorFlow declares for it, and no other."""
    declared = tensorflow_op(node.op)
    if declared is not None:
        assert sum(node.input_lengths()) == len(node.inputs), node.describe()
        assert {name for name in proto.attr if name[:1] != "_"} == set(declared.attributes), node.describe()


def values(graph: gf.Graph, names: tuple[list[str], list[str], list[str]]) -> list[Any]:
    with gf.Session(graph=graph) as session:
        session.run(names[2])
        found, _ = session.run([names[0], names[1]])
        return list(found)


@pytest.mark.parametrize("op_type", OP_TYPES)
def test_comes_back_as_it_was(op_type: str, request: pytest.FixtureRequest) -> None:
    everything = request.config.getoption("--everything")
    taken = samples(op_type, None if everything else 1)
    with gf.Graph().as_default() as graph:
        names = built(op_type, taken)
    graph_def = graph.as_graph_def(add_shapes=True)
    graph_def = gf.GraphDef.FromString(graph_def.SerializeToString())
    nodes = parse(graph_def, lambda op: True)
    for proto in graph_def.node:
        if proto.name in nodes and nodes[proto.name].op == proto.op:
            assert_declared(proto, nodes[proto.name])
    with gf.Graph().as_default() as copy:
        gf.import_graph_def(graph_def, name="")
    assert [op.name for op in copy.get_operations()] == [op.name for op in graph.get_operations()]
    assert [op.type for op in copy.get_operations()] == [op.type for op in graph.get_operations()]
    if op_type.startswith("PyFunc"):
        return  # Its function stays behind.
    assert copy.as_graph_def(add_shapes=True) == graph_def
    if (everything or OP_TYPES.index(op_type) % RUN == 0) and op_type not in ROUNDED:
        for first, second in zip(values(graph, names), values(copy, names), strict=True):
            np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("op_type", sorted(EXPANSIONS))
def test_without_their_marks_they_are_tensorflows_ops_and_give_the_same(op_type: str) -> None:
    taken = samples(op_type, 8)
    with gf.Graph().as_default() as graph:
        names = built(op_type, taken)
        variables = [v.name for v in gf.global_variables()]
    graph_def = graph.as_graph_def()
    for node in graph_def.node:
        assert node.op not in EXPANSIONS
        for name in [name for name in node.attr if name.startswith("_graphflow")]:
            del node.attr[name]
    with gf.Graph().as_default() as copy:
        gf.import_graph_def(graph_def, name="")
    assert not any(op.type in EXPANSIONS for op in copy.get_operations())
    results = []
    for each in (graph, copy):
        with gf.Session(graph=each) as session:
            session.run(names[2])
            found, _ = session.run([names[0], names[1]])
            results.append([*found, *session.run(variables)])
    for first, second in zip(*results, strict=True):
        np.testing.assert_allclose(first, second, 1e-6, 1e-6)
