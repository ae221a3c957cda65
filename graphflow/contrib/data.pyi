"""Transformations for Dataset.apply (tf.contrib.data)."""

from graphflow.data.experimental import *
from graphflow.data.dataset import Dataset as Dataset
from graphflow.data.transformations import batch_and_drop_remainder as batch_and_drop_remainder
from graphflow.data.transformations import padded_batch_and_drop_remainder as padded_batch_and_drop_remainder
from graphflow.data.files import FixedLengthRecordDataset as FixedLengthRecordDataset
from graphflow.data.iterators import Iterator as Iterator
from graphflow.data.files import TFRecordDataset as TFRecordDataset
from graphflow.data.files import TextLineDataset as TextLineDataset
