"""TreeEnsemble: how boosted trees are written into checkpoints (TensorFlow's module of that name)."""

from __future__ import annotations

from typing import Any

from graphflow.protos.fields import messages

_MADE = messages(
    "boosted_trees",
    {
        "Vector": ("repeated float value = 1",),
        "SparseVector": ("repeated int32 index = 1", "repeated float value = 2"),
        "Leaf": (
            "oneof leaf Vector vector = 1",
            "oneof leaf SparseVector sparse_vector = 2",
            "oneof leaf float scalar = 3",
        ),
        "BucketizedSplit": (
            "int32 feature_id = 1",
            "int32 threshold = 2",
            "int32 left_id = 3",
            "int32 right_id = 4",
            "int32 dimension_id = 5",
        ),
        "NodeMetadata": ("float gain = 1", "Leaf original_leaf = 2"),
        "Node": (
            "oneof node Leaf leaf = 1",
            "oneof node BucketizedSplit bucketized_split = 2",
            "NodeMetadata metadata = 777",
        ),
        "Tree": ("repeated Node nodes = 1",),
        "TreeMetadata": (
            "int32 num_layers_grown = 2",
            "bool is_finalized = 3",
            "repeated TreeMetadata.PostPruneNodeUpdate post_pruned_nodes_meta = 4",
        ),
        "TreeMetadata.PostPruneNodeUpdate": ("int32 new_node_id = 1", "repeated float logit_change = 2"),
        "GrowingMetadata": (
            "int64 num_trees_attempted = 1",
            "int64 num_layers_attempted = 2",
            "int32 last_layer_node_start = 3",
            "int32 last_layer_node_end = 4",
        ),
        "TreeEnsemble": (
            "repeated Tree trees = 1",
            "repeated float tree_weights = 2",
            "repeated TreeMetadata tree_metadata = 3",
            "GrowingMetadata growing_metadata = 4",
        ),
        "DebugOutput": ("repeated int32 feature_ids = 1", "repeated float logits_path = 2"),
    },
)
DESCRIPTOR: Any = _MADE["DESCRIPTOR"]
BucketizedSplit: Any = _MADE["BucketizedSplit"]
DebugOutput: Any = _MADE["DebugOutput"]
GrowingMetadata: Any = _MADE["GrowingMetadata"]
Leaf: Any = _MADE["Leaf"]
Node: Any = _MADE["Node"]
NodeMetadata: Any = _MADE["NodeMetadata"]
Tree: Any = _MADE["Tree"]
TreeEnsemble: Any = _MADE["TreeEnsemble"]
TreeMetadata: Any = _MADE["TreeMetadata"]
