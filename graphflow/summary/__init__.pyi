"""Curves, histograms, images and graphs for TensorBoard (tf.summary)."""

from graphflow.summary.writer import FileWriter as FileWriter
from graphflow.summary.writer import FileWriterCache as FileWriterCache
from graphflow._core.ops.io.summaries import audio as audio
from graphflow._core.ops.io.summaries import histogram as histogram
from graphflow._core.ops.io.summaries import image as image
from graphflow._core.ops.io.summaries import merge as merge
from graphflow._core.ops.io.summaries import merge_all as merge_all
from graphflow._core.ops.io.summaries import scalar as scalar
from graphflow._core.ops.io.summaries import tensor_summary as tensor_summary
from graphflow._core.ops.io.summaries import text as text
from graphflow.protos import event_pb2 as _event_pb2
from graphflow.protos import summary_pb2 as _summary_pb2

Event = _event_pb2.Event
SessionLog = _event_pb2.SessionLog
Summary = _summary_pb2.Summary
SummaryDescription = _summary_pb2.SummaryDescription
TaggedRunMetadata = _event_pb2.TaggedRunMetadata
