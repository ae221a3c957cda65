"""Input and output (tf.io): files, records and examples; gfile, files and folders under the names of Python's os."""

from __future__ import annotations

from graphflow.io import gfile as gfile
from graphflow.namespaces import exports, missing
from graphflow.ops.strings import decode_raw as decode_raw
from graphflow.python_io import TFRecordCompressionType as TFRecordCompressionType
from graphflow.python_io import TFRecordOptions as TFRecordOptions
from graphflow.python_io import TFRecordWriter as TFRecordWriter
from graphflow.python_io import tf_record_iterator as tf_record_iterator

globals().update(exports("image.files", "ops.image_files", names="IO_EXPORTS"))
globals().update(exports("ops.parsing", "ops.sequence_parsing", "ops.csv", "ops.files", "ops.queues"))

__getattr__ = missing("gf.io", globals())
