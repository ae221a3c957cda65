"""Profiles of a graph, and options of them (tf.contrib.tfprof.model_analyzer)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from graphflow._core.graph.graph import Graph
from graphflow.config import RunMetadata
from graphflow.profiler.analysis import ProfileNode, Profiler, profile
from graphflow.profiler.options import ProfileOptionBuilder

__all__ = [
    "FLOAT_OPS_OPTIONS", "PRINT_ALL_TIMING_MEMORY", "Profiler", "TRAINABLE_VARS_PARAMS_STAT_OPTIONS",
    "print_model_analysis",
]  # fmt: skip

TRAINABLE_VARS_PARAMS_STAT_OPTIONS: Final = ProfileOptionBuilder.trainable_variables_parameter()
"""Options that show the parameters of variables that are trained."""
FLOAT_OPS_OPTIONS: Final = ProfileOptionBuilder.float_operation()
"""Options that show floating-point operations."""
PRINT_ALL_TIMING_MEMORY: Final = ProfileOptionBuilder.time_and_memory() | {"order_by": "name"}
"""Options that show the times and the results' bytes of a traced run."""


def print_model_analysis(
    graph: Graph | None,
    run_meta: RunMetadata | None = None,
    op_log: None = None,
    tfprof_cmd: str = "scope",
    tfprof_options: Mapping[str, Any] | None = None,
) -> ProfileNode:
    """Counts, and prints, what a graph has (tf.contrib.tfprof.model_analyzer.print_model_analysis).

    Args:
        graph: The graph, by default the default one.
        run_meta: What a traced run has filled, for times and bytes.
        op_log: None.
        tfprof_cmd: "scope" or "op".
        tfprof_options: Such as TRAINABLE_VARS_PARAMS_STAT_OPTIONS, the default.

    Returns:
        The root of the tree, or of the list, of what is shown.
    """
    return profile(graph, run_meta, op_log, tfprof_cmd, tfprof_options)
