"""Ops that write and read checkpoints, so that saving works wherever a graph runs.

The tensors are inputs of one op, which writes one file where it is placed: on a cluster they travel to that task, and
no disk needs to be shared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from graphflow._core.checkpoint.regions import parse_spec
from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation, Tensor
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.ops.core import apply, constant_value
from graphflow._core.ops.rules import no_outputs

SAVE_V2 = op_def(
    "SaveV2",
    ("prefix: string", "tensor_names: string", "shape_and_slices: string", "tensors*: any"),
    infer=no_outputs,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
)


def _restore_infer(op: Operation) -> Signature:
    wanted = op.attrs["dtypes"]
    known = op.attrs.get("_expected_shapes") or [None] * len(wanted)
    specs = constant_value(op.inputs[2])
    texts = [b""] * len(wanted) if specs is None else specs.reshape(-1).tolist()
    if len(texts) != len(wanted) or len(known) != len(wanted):
        raise ValueError(f"{len(wanted)} dtypes are given for {len(texts)} slices and {len(known)} shapes.")
    return [
        (dtypes.as_dtype(dtype), parse_spec(text.decode())[1].lengths if text else shapes.as_dims(dims))
        for dtype, text, dims in zip(wanted, texts, known, strict=True)
    ]


RESTORE_V2 = op_def(
    "RestoreV2",
    ("prefix: string", "tensor_names: string", "shape_and_slices: string"),
    infer=_restore_infer,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
    dynamic_shape=True,
)
# The savers of TensorFlow's graphs write one file a device and join them; these two ops are for such graphs.
op_def(
    "ShardedFilename",
    ("basename: string", "shard: int32", "num_shards: int32"),
    infer=lambda op: [(dtypes.string, ())],
    gradient=NOT_DIFFERENTIABLE,
)
op_def(
    "MergeV2Checkpoints",
    ("checkpoint_prefixes: string", "destination_prefix: string"),
    infer=no_outputs,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
)
READ_RESOURCE_STATE = op_def(
    "ReadResourceState",
    (),
    infer=lambda op: [(dtypes.uint8, (None,))],
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
    dynamic_shape=True,
)
WRITE_RESOURCE_STATE = op_def(
    "WriteResourceState",
    ("state: uint8",),
    infer=no_outputs,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
)


def save_v2(
    prefix: Any,
    tensor_names: Any,
    shape_and_slices: Any,
    tensors: Sequence[Any],
    name: str | None = None,
    form: str = "",
) -> Operation:
    """An operation that writes tensors to a checkpoint (tf.io's SaveV2).

    tensor_names: a vector of strings; shape_and_slices: one text a tensor, "" for a whole one, otherwise its full shape
    and which part it is, such as "4 10 0,2:0,10". form: the format of the files, see checkpoint/formats.py; "" for the
    default of the process that writes. Variables are read when it runs. Errors when it runs: see docs/checkpoints.md.
    """
    attrs = {"_format": form} if form else {}
    return apply(SAVE_V2, (prefix, tensor_names, shape_and_slices, list(tensors)), attrs, name)


def restore_v2(
    prefix: Any,
    tensor_names: Any,
    shape_and_slices: Any,
    wanted: Sequence[dtypes.DType],
    name: str | None = None,
    expected_shapes: Sequence[shapes.Dims] | None = None,
) -> list[Tensor]:
    """The tensors of a checkpoint by their names (tf.io's RestoreV2), all checked before any is given.

    wanted: their dtypes; expected_shapes: their shapes, None for those of any shape. When it runs: NotFoundError for
    names that are not there, DataLossError for damaged ones, InvalidArgumentError for other dtypes or shapes.
    """
    attrs: dict[str, Any] = {"dtypes": list(wanted)}
    if expected_shapes is not None:
        attrs["_expected_shapes"] = [shapes.as_shape(dims) for dims in expected_shapes]
    return list(apply(RESTORE_V2, (prefix, tensor_names, shape_and_slices), attrs, name).outputs)


def read_resource_state(program: str, name: str | None = None) -> Tensor:
    """The state of all resources of the task it runs on, but variables, as a vector of bytes.

    It also says which runs that may be repeated have changed the variables that go where it goes: these are read in its
    stage (plan/segments.py), so that both are of one moment.

    program: the identity of the program whose state it is, see graph/identity.py; "" for what it says of runs alone.
    """
    return apply(READ_RESOURCE_STATE, (), {"program": program}, name).outputs[0]


def write_resource_state(
    state: Any, program: str, variables: Sequence[str] = (), name: str | None = None
) -> Operation:
    """Sets the state of resources to what read_resource_state gave.

    An empty vector changes nothing, nor does the state of another program than `program`. variables: those, by the
    names that their task has for them, that are set next, to the values that were read with the state.
    """
    return apply(WRITE_RESOURCE_STATE, (state,), {"program": program, "variables": list(variables)}, name)
