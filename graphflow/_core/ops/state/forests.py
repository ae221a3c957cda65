"""Operations on a forest of decision trees, which lives in the session."""

from __future__ import annotations

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.ops.rules import no_outputs, scalar_of

_FOREST = "forest: resource"


def _probabilities_infer(op: Operation) -> Signature:
    dims = op.inputs[1].dims
    return [(dtypes.float32, (None if dims is None else dims[0], int(op.get_attr("classes"))))]


def _sizes_infer(op: Operation) -> Signature:
    return [(dtypes.int32, (int(op.get_attr("trees")),))]


FOREST = op_def(
    "Forest", (), infer=scalar_of(dtypes.resource), gradient=NOT_DIFFERENTIABLE, stateful=True, outputs=("forest",)
)  # fmt: skip
GROW = op_def(
    "GrowForest", (_FOREST, "features: float32", "labels: Tlabels=int32|int64|float"), infer=no_outputs,
    gradient=NOT_DIFFERENTIABLE, stateful=True,
)  # fmt: skip
PROBABILITIES = op_def(
    "ForestProbabilities", (_FOREST, "features: float32"), infer=_probabilities_infer,
    gradient=NOT_DIFFERENTIABLE, stateful=True, outputs=("probabilities",),
)  # fmt: skip
SIZES = op_def(
    "ForestSizes",
    (_FOREST,),
    infer=_sizes_infer,
    gradient=NOT_DIFFERENTIABLE,
    stateful=True,
    outputs=("sizes",),
)
