"""The ops of tables whose keys come and go while a program runs; graphflow/lookup has the classes."""

from __future__ import annotations

from graphflow._core.graph import dtypes, shapes
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.ops.rules import no_outputs, scalar_of

MUTABLE_TABLE = op_def(
    "MutableHashTableV2", (), infer=scalar_of(dtypes.resource), gradient=NOT_DIFFERENTIABLE, stateful=True,
    outputs=("table_handle",),
)  # fmt: skip
MUTABLE_TABLE_OF_TENSORS = op_def(
    "MutableHashTableOfTensorsV2", (), infer=scalar_of(dtypes.resource), gradient=NOT_DIFFERENTIABLE,
    stateful=True, outputs=("table_handle",),
)  # fmt: skip


def _dense_infer(op: Operation) -> Signature:
    empty, deleted = (tensor.dims for tensor in op.inputs)
    if not shapes.compatible(empty, deleted):
        raise ValueError(
            f"empty_key and deleted_key must have one shape, got {shapes.text(empty)} and {shapes.text(deleted)}."
        )
    return [(dtypes.resource, ())]


DENSE_TABLE = op_def(
    "MutableDenseHashTableV2", ("empty_key: T=any", "deleted_key: T"), infer=_dense_infer,
    gradient=NOT_DIFFERENTIABLE, stateful=True, outputs=("table_handle",),
)  # fmt: skip
INSERT = op_def(
    "LookupTableInsertV2", ("table_handle: resource", "keys: Tin=any", "values: Tout=any"), infer=no_outputs,
    gradient=NOT_DIFFERENTIABLE, stateful=True,
)  # fmt: skip
IMPORT = op_def(
    "LookupTableImportV2", ("table_handle: resource", "keys: Tin=any", "values: Tout=any"), infer=no_outputs,
    gradient=NOT_DIFFERENTIABLE, stateful=True,
)  # fmt: skip
REMOVE = op_def(
    "LookupTableRemoveV2", ("table_handle: resource", "keys: Tin=any"), infer=no_outputs,
    gradient=NOT_DIFFERENTIABLE, stateful=True,
)  # fmt: skip
