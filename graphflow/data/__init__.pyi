"""Input pipelines (tf.data)."""

from graphflow.data.dataset import Dataset as Dataset
from graphflow.data.iterators import Iterator as Iterator
from graphflow.data.files import TFRecordDataset as TFRecordDataset
from graphflow.data.files import TextLineDataset as TextLineDataset
from . import experimental as experimental
