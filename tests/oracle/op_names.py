"""Prints the names of the op types that graphflow writes or reads, for op_table.py, which needs TensorFlow's Python."""

from __future__ import annotations

import importlib
import pkgutil

import graphflow
from graphflow._core.graph.op_def import registry
from graphflow._core.ops import load_all

READ = (
    "^Variable", "^VarHandleOp", "^VarIsInitializedOp", "^(Read|Destroy)VariableOp", "^Assign(|Add|Sub)VariableOp",
    "^Resource(Gather|GatherNd)", "^Resource(Scatter|Apply|SparseApply)[A-Z]\\w*", "^VariableShape",
    "^Ref(Switch|Merge|Enter|Exit|Identity|NextIteration)", "^Stack(|Push|Pop|Close)V2", "^(Save|Restore)(|V2)",
    "^MergeV2Checkpoints", "^Sharded\\w+", "^\\w*Summary", "^\\w*Queue\\w*V2", "^(Concat|Gather|TopK|PlaceholderV2)",
    "^(ControlTrigger|FusedBatchNorm(|V2)|FusedBatchNormGrad(|V2)|BatchMatMul|Inv|Snapshot|ReadFile|WriteFile)",
    "^(Stateful)?PartitionedCall", "^(Stateless)?(If|While)", "^\\w*Iterator\\w*",
    "^(Tensor|TensorSlice|Range|Zip|Concatenate|Map|ParallelMap|FlatMap|Interleave|Filter|Batch|PaddedBatch|Shuffle)"
    "(Dataset|DatasetV2)",
    "^(ParallelInterleave|Repeat|Take|Skip|Shard|Prefetch|Cache|Generator|Model|Optimize|Options)(Dataset|DatasetV2)",
)  # fmt: skip
"""What the reader knows besides, or what the graph of a training program holds."""

if __name__ == "__main__":
    load_all()
    for package in ("data", "layers", "metrics", "summary", "train"):
        for module in pkgutil.iter_modules([f"{graphflow.__path__[0]}/{package}"]):
            importlib.import_module(f"graphflow.{package}.{module.name}")
    print("\n".join([*sorted(registry()), *READ]))
