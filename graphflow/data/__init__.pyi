"""Input pipelines (tf.data)."""

from graphflow.data.dataset import Dataset as Dataset
from graphflow.data.iterators import Iterator as Iterator
from graphflow.data.files import TFRecordDataset as TFRecordDataset
from graphflow.data.files import TextLineDataset as TextLineDataset
from . import dataset as dataset
from . import experimental as experimental
from . import files as files
from . import functions as functions
from . import iterators as iterators
from . import structure as structure
from . import transformations as transformations
