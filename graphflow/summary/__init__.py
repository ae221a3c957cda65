"""Curves, histograms, images and graphs for TensorBoard (tf.summary)."""

from __future__ import annotations

from typing import Any, Final

from graphflow import protos
from graphflow._core.common.namespaces import exports, missing

_MESSAGES: Final = {
    "Event": "event_pb2",
    "SessionLog": "event_pb2",
    "Summary": "summary_pb2",
    "SummaryDescription": "summary_pb2",
    "TaggedRunMetadata": "event_pb2",
}
"""Protobuf messages, by name, and the modules of graphflow.protos that have them; imported at first use."""

globals().update(exports("_core.ops.io.summaries", "summary.writer"))
_missing = missing("gf.summary", globals())


def __getattr__(name: str) -> Any:
    if name in _MESSAGES:
        return getattr(getattr(protos, _MESSAGES[name]), name)
    return _missing(name)
