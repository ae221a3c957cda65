"""Transformations for Dataset.apply (tf.data.experimental)."""

from graphflow.data.dataset import AUTOTUNE as AUTOTUNE
from graphflow.data.grouping import bucket_by_sequence_length as bucket_by_sequence_length
from graphflow.data.csv_files import CsvDataset as CsvDataset
from graphflow.data.transformations import counter as _Counter
from graphflow.data.options import DistributeOptions as DistributeOptions
from graphflow.data.transformations import enumerate_dataset as enumerate_dataset
from graphflow.data.grouping import group_by_window as group_by_window
from graphflow.data.options import MapVectorizationOptions as MapVectorizationOptions
from graphflow.data.csv_files import make_csv_dataset as make_csv_dataset
from graphflow.data.transformations import map_and_batch as map_and_batch
from graphflow.data.options import OptimizationOptions as OptimizationOptions
from graphflow.data.transformations import parallel_interleave as parallel_interleave
from graphflow.data.transformations import prefetch_to_device as prefetch_to_device
from graphflow.data.transformations import shuffle_and_repeat as shuffle_and_repeat
from graphflow.data.options import StatsOptions as StatsOptions
from graphflow.data.options import ThreadingOptions as ThreadingOptions
from graphflow.data.transformations import unbatch as unbatch

Counter = _Counter
