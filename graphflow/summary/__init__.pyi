"""Curves, histograms, images and graphs for TensorBoard (tf.summary)."""

from graphflow.summary.writer import FileWriter as FileWriter
from graphflow.summary.writer import FileWriterCache as FileWriterCache
from graphflow._core.ops.io.summaries import audio as audio
from . import event_file as event_file
from graphflow._core.ops.io.summaries import histogram as histogram
from graphflow._core.ops.io.summaries import image as image
from graphflow._core.ops.io.summaries import merge as merge
from graphflow._core.ops.io.summaries import merge_all as merge_all
from graphflow import protos as protos
from . import run_metadata as run_metadata
from graphflow._core.ops.io.summaries import scalar as scalar
from graphflow._core.ops.io.summaries import tensor_summary as tensor_summary
from graphflow._core.ops.io.summaries import text as text
from . import writer as writer
