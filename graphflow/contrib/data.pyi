"""Transformations for Dataset.apply (tf.contrib.data)."""

from graphflow.data.transformations import counter as _Counter
from graphflow.data.dataset import Dataset as Dataset
from graphflow.data.transformations import batch_and_drop_remainder as batch_and_drop_remainder
from graphflow.data.transformations import enumerate_dataset as enumerate_dataset
from graphflow.data.transformations import map_and_batch as map_and_batch
from graphflow.data.transformations import padded_batch_and_drop_remainder as padded_batch_and_drop_remainder
from graphflow.data.transformations import parallel_interleave as parallel_interleave
from graphflow.data.transformations import prefetch_to_device as prefetch_to_device
from graphflow.data.transformations import shuffle_and_repeat as shuffle_and_repeat
from graphflow.data.transformations import unbatch as unbatch

AUTOTUNE: int
Counter = _Counter
