"""Input and output (tf.io): files, records and examples; gfile, files and folders under the names of Python's os."""

from __future__ import annotations

from graphflow._core.common.namespaces import exports, missing
from graphflow._core.ops.strings import decode_raw as decode_raw
from graphflow.io import gfile as gfile
from graphflow.python_io import TFRecordCompressionType as TFRecordCompressionType
from graphflow.python_io import TFRecordOptions as TFRecordOptions
from graphflow.python_io import TFRecordWriter as TFRecordWriter
from graphflow.python_io import tf_record_iterator as tf_record_iterator

globals().update(exports("image.files", "_core.ops.image.files", names="IO_EXPORTS"))
globals().update(
    exports(
        "_core.ops.io.parsing",
        "_core.ops.io.sequence_parsing",
        "_core.ops.io.csv",
        "_core.ops.io.files",
        "_core.ops.io.queues",
    )
)

__getattr__ = missing("gf.io", globals())
