"""Summaries that the graph itself writes, as a step of it runs (tf.contrib.summary)."""

from graphflow._core.ops.io.summary_writers import SummaryWriter as SummaryWriter
from graphflow._core.ops.io.summary_writers import all_summary_ops as all_summary_ops
from graphflow._core.ops.io.summary_writers import always_record_summaries as always_record_summaries
from graphflow.contrib.summary.writing import audio as audio
from graphflow._core.ops.io.summary_writers import create_file_writer as create_file_writer
from graphflow.contrib.summary.writing import create_summary_file_writer as create_summary_file_writer
from graphflow.contrib.summary.writing import eval_dir as eval_dir
from graphflow._core.ops.io.summary_writers import flush as flush
from graphflow.contrib.summary.writing import generic as generic
from graphflow.contrib.summary.writing import graph as graph
from graphflow.contrib.summary.writing import histogram as histogram
from graphflow.contrib.summary.writing import image as image
from graphflow._core.ops.io.summary_writers import import_event as import_event
from graphflow.contrib.summary.writing import initialize as initialize
from graphflow._core.ops.io.summary_writers import never_record_summaries as never_record_summaries
from graphflow._core.ops.io.summary_writers import record_if as record_if
from graphflow.contrib.summary.writing import record_summaries_every_n_global_steps as record_summaries_every_n_global_steps
from graphflow.contrib.summary.writing import scalar as scalar
from graphflow._core.ops.io.summary_writers import should_record_summaries as should_record_summaries
from graphflow._core.ops.io.summary_writers import summary_writer_initializer_op as summary_writer_initializer_op
