"""The ops of values that may be missing; gf.data.experimental.Optional builds them."""

from __future__ import annotations

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, Signature, op_def
from graphflow._core.ops.io.datasets import elements


def _variant(op: Operation) -> Signature:
    return [(dtypes.variant, ())]


FROM_VALUE = op_def(
    "OptionalFromValue", ("components*: any",), infer=_variant, gradient=NOT_DIFFERENTIABLE, stateful=True,
    outputs=("optional",),
)  # fmt: skip
NONE = op_def(
    "OptionalNone", (), infer=_variant, gradient=NOT_DIFFERENTIABLE, stateful=True, outputs=("optional",)
)
HAS_VALUE = op_def(
    "OptionalHasValue", ("optional: variant",), infer=lambda op: [(dtypes.bool_, ())], gradient=NOT_DIFFERENTIABLE,
    stateful=True, outputs=("has_value",),
)  # fmt: skip
GET_VALUE = op_def(
    "OptionalGetValue", ("optional: variant",), infer=elements, gradient=NOT_DIFFERENTIABLE, stateful=True,
    dynamic_shape=True,
)  # fmt: skip
GET_NEXT = op_def(
    "IteratorGetNextAsOptional", ("iterator: resource",), infer=_variant, gradient=NOT_DIFFERENTIABLE, stateful=True,
    dynamic_shape=True, blocks=True, outputs=("optional",),
)  # fmt: skip
