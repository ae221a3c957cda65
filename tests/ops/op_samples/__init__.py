"""Samples of every op type: inputs, attributes and references, drawn from a seed. An op that is added adds its own.

TABLE maps an op type to a function (random generator) -> samples. The first samples are float64 where the op takes it.
"""

from __future__ import annotations

import zlib

import numpy as np

import graphflow._core.ops.distributed.collectives
import graphflow._core.ops.distributed.staleness
import graphflow._core.ops.distributed.sync_rounds
import graphflow._core.ops.io.datasets
import graphflow._core.ops.io.more_datasets
import graphflow._core.ops.io.optionals
import graphflow._core.ops.io.whole_datasets
from graphflow._core.graph.op_def import OpDef
from graphflow._core.ops import load_all
from tests.ops.op_samples import (
    arrays,
    colours,
    distances,
    elementwise,
    examples,
    gradient_shapes,
    images,
    indexing,
    making,
    matrices,
    networks,
    normalisation,
    pictures,
    quantization,
    reductions,
    sequences,
    sounds,
    sparse,
    stateful,
    summaries,
    texts,
    trees,
)
from tests.ops.op_samples.sample import Draw
from tests.ops.op_samples.sample import Sample as Sample

TABLE: dict[str, Draw] = {
    **arrays.TABLE,
    **colours.TABLE,
    **distances.TABLE,
    **elementwise.TABLE,
    **examples.TABLE,
    **gradient_shapes.TABLE,
    **images.TABLE,
    **indexing.TABLE,
    **making.TABLE,
    **matrices.TABLE,
    **networks.TABLE,
    **normalisation.TABLE,
    **pictures.TABLE,
    **quantization.TABLE,
    **reductions.TABLE,
    **sequences.TABLE,
    **sounds.TABLE,
    **sparse.TABLE,
    **stateful.TABLE,
    **summaries.TABLE,
    **texts.TABLE,
    **trees.TABLE,
}

WITHOUT_KERNEL: dict[str, str] = {
    "Const": "its value is in the plan",
    "NoOp": "computes nothing",
    "VariableV2": "the variable itself; the ops that read and write it have samples",
    **dict.fromkeys(
        ("Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch"),
        "lifted into branches and loops before anything runs",
    ),
}
"""Op types without a kernel and hence without samples, and why."""

WITHOUT_SAMPLES: dict[str, str] = {
    "Placeholder": "is fed: every sample feeds some",
    **dict.fromkeys(("StackPushV2", "StackPopV2"), "work in pairs inside the gradient of a loop only"),
    **dict.fromkeys(
        [
            f"TensorArray{what}V3"
            for what in ("", "Grad", "Write", "Read", "Gather", "Scatter", "Concat", "Split", "Size", "Close")
        ],
        "work on one array that lives for a run, which a sample cannot hold",
    ),
    **dict.fromkeys(
        (
            "HashTableV2",
            "InitializeTableV2",
            "InitializeTableFromTextFileV2",
            "LookupTableFindV2",
            "LookupTableSizeV2",
            "LookupTableExportV2",
            "LookupTableImportV2",
            "LookupTableInsertV2",
            "LookupTableRemoveV2",
            "MutableDenseHashTableV2",
            "MutableHashTableOfTensorsV2",
            "MutableHashTableV2",
        ),
        "work on a table that lives in the session: tests/oracle/cases/lookup.py",
    ),
    **dict.fromkeys(
        (
            *(f"ResourceAccumulator{what}" for what in ("ApplyGradient", "TakeGradient", "NumAccumulated")),
            *("ResourceAccumulatorSetGlobalStep", "AccumulatorSetGlobalStep", "AccumulatorNumAccumulated"),
            *("ResourceConditionalAccumulator", "SparseConditionalAccumulator"),
            *("SparseAccumulatorApplyGradient", "SparseAccumulatorTakeGradient"),
        ),
        "work on gradients that the session holds: tests/oracle/cases/accumulators.py",
    ),
    **dict.fromkeys(
        (
            "SummaryWriter",
            "CreateSummaryFileWriter",
            "FlushSummaryWriter",
            "CloseSummaryWriter",
            "WriteRawProtoSummary",
            "WriteGraphSummary",
            "ImportEvent",
        ),
        "work on an event file of the session: tests/contrib/test_written_summaries.py",
    ),
    **dict.fromkeys(
        ("Forest", "GrowForest", "ForestProbabilities", "ForestSizes"),
        "work on trees that live in the session: tests/contrib/test_tensor_forest.py",
    ),
    **dict.fromkeys(
        ["IsBoostedTreesEnsembleInitialized"]
        + [
            f"BoostedTrees{what}"
            for what in (
                "CenterBias",
                "CreateEnsemble",
                "DeserializeEnsemble",
                "EnsembleResourceHandleOp",
                "ExampleDebugOutputs",
                "GetEnsembleStates",
                "Predict",
                "SerializeEnsemble",
                "TrainingPredict",
                "UpdateEnsemble",
            )
        ],
        "work on trees that live in the session: tests/estimator/test_trees.py",
    ),
    **dict.fromkeys(
        ("BytesInUse", "MaxBytesInUse", "BytesLimit"),
        "tell of the process, which is another each time: tests/contrib/test_written_summaries.py",
    ),
    **dict.fromkeys(
        ["Barrier"]
        + [f"Barrier{what}" for what in ("InsertMany", "TakeMany", "Close", "ReadySize", "IncompleteSize")],
        "work on a barrier of the session: tests/resources/test_barriers.py",
    ),
    **dict.fromkeys(
        ["Stage", "Unstage", "StagePeek", "StageSize", "StageClear"]
        + [
            f"{kind}Map{what}"
            for kind in ("", "Ordered")
            for what in ("Stage", "Peek", "Unstage", "UnstageNoKey", "Size", "IncompleteSize", "Clear")
        ],
        "work on a staging area of the session: tests/contrib/test_staging.py",
    ),
    **dict.fromkeys(
        [f"{kind}QueueV2" for kind in ("FIFO", "RandomShuffle", "PaddingFIFO", "Priority")]
        + [
            f"Queue{what}V2"
            for what in (
                "Enqueue",
                "EnqueueMany",
                "Dequeue",
                "DequeueMany",
                "DequeueUpTo",
                "Close",
                "IsClosed",
                "Size",
            )
        ],
        "work on a queue of the session, which a sample cannot hold; test_queues.py has them",
    ),
    **dict.fromkeys(
        [f"{kind}ReaderV2" for kind in ("WholeFile", "TextLine", "FixedLengthRecord", "TFRecord", "Identity")]
        + [
            f"Reader{what}V2"
            for what in ("Read", "ReadUpTo", "NumRecordsProduced", "NumWorkUnitsCompleted", "Reset")
        ],
        "work on files and a queue, which a sample cannot hold; test_readers.py has them",
    ),
    **dict.fromkeys(("WriteFile", "MatchingFiles", "RecordInput"), "work on files; test_readers.py has them"),
    **dict.fromkeys(
        [
            definition.name
            for module in (
                graphflow._core.ops.io.datasets,
                graphflow._core.ops.io.more_datasets,
                graphflow._core.ops.io.optionals,
                graphflow._core.ops.io.whole_datasets,
            )
            for definition in vars(module).values()
            if isinstance(definition, OpDef)
        ],
        "take or give datasets, iterators and optionals, which are no arrays; tests/data has them",
    ),
    **dict.fromkeys(
        ("SaveV2", "RestoreV2"), "write and read a file; tests/train/saving/test_saver.py has them"
    ),
    **dict.fromkeys(
        ("GetSessionHandle", "GetSessionTensor", "DeleteSessionTensor"),
        "work on values that the session holds; tests/test_session_handles.py has them",
    ),
    "MergeV2Checkpoints": "joins files; tests/saved_model/test_tensorflow.py has it",
    **dict.fromkeys(
        ("ReadResourceState", "WriteResourceState"),
        "take all state of the session; tests/train/saving/test_saver.py has them",
    ),
    **dict.fromkeys(
        [d.name for d in vars(graphflow._core.ops.distributed.collectives).values() if isinstance(d, OpDef)],
        "need a group of members; tests/collectives/test_collectives.py has them",
    ),
    **dict.fromkeys(
        [d.name for d in vars(graphflow._core.ops.distributed.sync_rounds).values() if isinstance(d, OpDef)],
        "take part in a round of several runs; tests/train/optimizers/test_sync_replicas.py has them",
    ),
    **dict.fromkeys(
        [d.name for d in vars(graphflow._core.ops.distributed.staleness).values() if isinstance(d, OpDef)],
        "belong to a step among others; tests/train/optimizers/test_bounded_staleness.py has them",
    ),
}
"""Op types with a kernel that no sample can hold, and why."""


# Modules of ops may be loaded at first use; the registry is whole when all are.
load_all()


def samples(op_type: str, count: int | None = None) -> list[Sample]:
    """The samples of an op type, always the same; with `count` the first and some of the others."""
    seed = zlib.crc32(op_type.encode())
    found = list(TABLE[op_type](np.random.default_rng(seed)))
    if count is None or len(found) <= count:
        return found
    chosen = np.random.default_rng(seed + 1).choice(len(found) - 1, count - 1, replace=False) + 1
    return [found[0], *(found[i] for i in sorted(chosen))]
