"""Input pipelines (tf.data)."""

from graphflow.data.dataset import Dataset as Dataset
from graphflow.data.nested import DatasetSpec as DatasetSpec
from graphflow.data.files import FixedLengthRecordDataset as FixedLengthRecordDataset
from graphflow.data.iterators import Iterator as Iterator
from graphflow.data.options import Options as Options
from graphflow.data.files import TFRecordDataset as TFRecordDataset
from graphflow.data.files import TextLineDataset as TextLineDataset
from . import experimental as experimental
from graphflow.data.iterators import get_output_classes as get_output_classes
from graphflow.data.iterators import get_output_shapes as get_output_shapes
from graphflow.data.iterators import get_output_types as get_output_types
from graphflow.data.iterators import make_initializable_iterator as make_initializable_iterator
from graphflow.data.iterators import make_one_shot_iterator as make_one_shot_iterator
