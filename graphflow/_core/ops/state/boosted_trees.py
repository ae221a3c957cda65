"""Operations on an ensemble of boosted trees, which lives in the session, by the names that they have in TensorFlow."""

from __future__ import annotations

from typing import Any

from graphflow._core.graph import dtypes
from graphflow._core.graph.elements import Operation
from graphflow._core.graph.op_def import NOT_DIFFERENTIABLE, OpDef, Signature, op_def
from graphflow._core.graph.shapes import Dims
from graphflow._core.ops.rules import no_outputs, scalar_of

_ENSEMBLE = "tree_ensemble_handle: resource"
_FEATURES = "bucketized_features*: int32"


def _stateful(name: str, inputs: tuple[str, ...], infer: Any, outputs: tuple[str, ...]) -> OpDef:
    return op_def(
        name, inputs, infer=infer, gradient=NOT_DIFFERENTIABLE, stateful=True, outputs=outputs, module=globals()
    )  # fmt: skip


def _rows(op: Operation) -> int | None:
    dims = op.inputs[-1].dims
    return None if dims is None else dims[0]


def _states_infer(op: Operation) -> Signature:
    return [(dtypes.int64, ()), *[(dtypes.int32, ())] * 3, (dtypes.int32, (2,))]


def _serialized_infer(op: Operation) -> Signature:
    return [(dtypes.int64, ()), (dtypes.string, ())]


def _logits_infer(op: Operation) -> Signature:
    return [(dtypes.float32, (_rows(op), int(op.get_attr("logits_dimension"))))]


def _training_infer(op: Operation) -> Signature:
    return [*_logits_infer(op), (dtypes.int32, (_rows(op),)), (dtypes.int32, (_rows(op),))]


def _paths_infer(op: Operation) -> Signature:
    return [(dtypes.string, (_rows(op),))]


def _summary_infer(op: Operation) -> Signature:
    sizes = (len(op.inputs) - 3, int(op.get_attr("max_splits")), int(op.get_attr("num_buckets")))
    return [(dtypes.float32, (*sizes, 2))]


def _gains_infer(op: Operation) -> Signature:
    vector: Dims = (None,)
    column: Dims = (None, 1)
    kinds = (
        (dtypes.int32, vector), (dtypes.float32, vector), (dtypes.int32, vector), (dtypes.float32, column),
        (dtypes.float32, column),
    )  # fmt: skip
    features = len(op.inputs) - 5
    return [kind for kind in kinds for _ in range(features)]


HANDLE = _stateful("BoostedTreesEnsembleResourceHandleOp", (), scalar_of(dtypes.resource), ("resource",))
CREATE = _stateful(
    "BoostedTreesCreateEnsemble", (_ENSEMBLE, "stamp_token: int64", "tree_ensemble_serialized: string"), no_outputs,
    (),
)  # fmt: skip
IS_INITIALIZED = _stateful(
    "IsBoostedTreesEnsembleInitialized", (_ENSEMBLE,), scalar_of(dtypes.bool_), ("is_initialized",)
)
STATES = _stateful(
    "BoostedTreesGetEnsembleStates", (_ENSEMBLE,), _states_infer,
    ("stamp_token", "num_trees", "num_finalized_trees", "num_attempted_layers", "last_layer_nodes_range"),
)  # fmt: skip
SERIALIZE = _stateful(
    "BoostedTreesSerializeEnsemble", (_ENSEMBLE,), _serialized_infer, ("stamp_token", "tree_ensemble_serialized")
)  # fmt: skip
DESERIALIZE = _stateful(
    "BoostedTreesDeserializeEnsemble", (_ENSEMBLE, "stamp_token: int64", "tree_ensemble_serialized: string"),
    no_outputs, (),
)  # fmt: skip
TRAINING_PREDICT = _stateful(
    "BoostedTreesTrainingPredict", (_ENSEMBLE, "cached_tree_ids: int32", "cached_node_ids: int32", _FEATURES),
    _training_infer, ("partial_logits", "tree_ids", "node_ids"),
)  # fmt: skip
PREDICT = _stateful("BoostedTreesPredict", (_ENSEMBLE, _FEATURES), _logits_infer, ("logits",))
DEBUG_OUTPUTS = _stateful(
    "BoostedTreesExampleDebugOutputs", (_ENSEMBLE, _FEATURES), _paths_infer, ("examples_debug_outputs_serialized",)
)  # fmt: skip
MAKE_STATS_SUMMARY = op_def(
    "BoostedTreesMakeStatsSummary",
    ("node_ids: int32", "gradients: float32", "hessians: float32", "bucketized_features_list*: int32"),
    infer=_summary_infer, gradient=NOT_DIFFERENTIABLE, outputs=("stats_summary",),
)  # fmt: skip
BEST_GAINS = op_def(
    "BoostedTreesCalculateBestGainsPerFeature",
    ("node_id_range: int32", "stats_summary_list*: float32", "l1: float32", "l2: float32",
     "tree_complexity: float32", "min_node_weight: float32"),
    infer=_gains_infer, gradient=NOT_DIFFERENTIABLE, dynamic_shape=True,
)  # fmt: skip
UPDATE = _stateful(
    "BoostedTreesUpdateEnsemble",
    (_ENSEMBLE, "feature_ids: int32", "node_ids*: int32", "gains*: float32", "thresholds*: int32",
     "left_node_contribs*: float32", "right_node_contribs*: float32", "max_depth: int32", "learning_rate: float32"),
    no_outputs, (),
)  # fmt: skip
CENTER_BIAS = _stateful(
    "BoostedTreesCenterBias",
    (_ENSEMBLE, "mean_gradients: float32", "mean_hessians: float32", "l1: float32", "l2: float32"),
    scalar_of(dtypes.bool_), ("continue_centering",),
)  # fmt: skip
