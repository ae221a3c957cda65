"""The memory of this process, told in a run (tf.contrib.memory_stats)."""

from graphflow._core.ops.io.memory import BytesInUse as BytesInUse
from graphflow._core.ops.io.memory import BytesLimit as BytesLimit
from graphflow._core.ops.io.memory import MaxBytesInUse as MaxBytesInUse
