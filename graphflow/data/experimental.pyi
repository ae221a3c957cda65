"""Transformations for Dataset.apply (tf.data.experimental)."""

from graphflow.data.transformations import counter as _Counter
from graphflow.data.optionals import OptionalSpec as _OptionalSpec
from graphflow.data.dataset import AUTOTUNE as AUTOTUNE
from graphflow.data.grouping import bucket_by_sequence_length as bucket_by_sequence_length
from graphflow.data.reading import cardinality as cardinality
from graphflow.data.choices import choose_from_datasets as choose_from_datasets
from graphflow.data.transformations import copy_to_device as copy_to_device
from graphflow.data.csv_files import CsvDataset as CsvDataset
from graphflow.data.examples import dense_to_sparse_batch as dense_to_sparse_batch
from graphflow.data.options import DistributeOptions as DistributeOptions
from graphflow.data.transformations import enumerate_dataset as enumerate_dataset
from graphflow.data.reading import from_variant as from_variant
from graphflow.data.optionals import get_next_as_optional as get_next_as_optional
from graphflow.data.reading import get_single_element as get_single_element
from graphflow.data.reading import get_structure as get_structure
from graphflow.data.grouping import group_by_reducer as group_by_reducer
from graphflow.data.grouping import group_by_window as group_by_window
from graphflow.data.stateful import ignore_errors as ignore_errors
from graphflow.data.reading import INFINITE_CARDINALITY as INFINITE_CARDINALITY
from graphflow.data.examples import make_batched_features_dataset as make_batched_features_dataset
from graphflow.data.csv_files import make_csv_dataset as make_csv_dataset
from graphflow.data.transformations import map_and_batch as map_and_batch
from graphflow.data.options import MapVectorizationOptions as MapVectorizationOptions
from graphflow.data.options import OptimizationOptions as OptimizationOptions
from graphflow.data.optionals import Optional as Optional
from graphflow.data.transformations import parallel_interleave as parallel_interleave
from graphflow.data.examples import parse_example_dataset as parse_example_dataset
from graphflow.data.transformations import prefetch_to_device as prefetch_to_device
from graphflow.data.choices import RandomDataset as RandomDataset
from graphflow.data.grouping import Reducer as Reducer
from graphflow.data.choices import rejection_resample as rejection_resample
from graphflow.data.choices import sample_from_datasets as sample_from_datasets
from graphflow.data.stateful import scan as scan
from graphflow.data.transformations import shuffle_and_repeat as shuffle_and_repeat
from graphflow.data.options import StatsOptions as StatsOptions
from graphflow.data.stateful import take_while as take_while
from graphflow.data.reading import TFRecordWriter as TFRecordWriter
from graphflow.data.options import ThreadingOptions as ThreadingOptions
from graphflow.data.reading import to_variant as to_variant
from graphflow.data.transformations import unbatch as unbatch
from graphflow.data.stateful import unique as unique
from graphflow.data.reading import UNKNOWN_CARDINALITY as UNKNOWN_CARDINALITY

Counter = _Counter
OptionalStructure = _OptionalSpec
