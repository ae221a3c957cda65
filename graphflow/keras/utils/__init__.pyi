"""Utilities (tf.keras.utils)."""

from graphflow.keras.utils.registry import CustomObjectScope as CustomObjectScope
from graphflow.keras.utils.registry import custom_object_scope as custom_object_scope
from graphflow.keras.utils.registry import deserialize_keras_object as deserialize_keras_object
from graphflow.keras.utils.registry import get_custom_objects as get_custom_objects
from graphflow.keras.utils.registry import serialize_keras_object as serialize_keras_object
from graphflow.keras.utils.progress import Progbar as Progbar
from graphflow.keras.utils.sequences import Sequence as Sequence
from graphflow.keras.utils.enqueuers import GeneratorEnqueuer as GeneratorEnqueuer
from graphflow.keras.utils.enqueuers import OrderedEnqueuer as OrderedEnqueuer
from graphflow.keras.utils.enqueuers import SequenceEnqueuer as SequenceEnqueuer
from graphflow.keras.utils.arrays import normalize as normalize
from graphflow.keras.utils.arrays import to_categorical as to_categorical
from graphflow.keras.utils.files import HDF5Matrix as HDF5Matrix
from graphflow.keras.utils.files import get_file as get_file
from graphflow.keras.utils.models import convert_all_kernels_in_model as convert_all_kernels_in_model
from graphflow.keras.utils.models import get_source_inputs as get_source_inputs
from graphflow.keras.utils.models import model_to_dot as model_to_dot
from graphflow.keras.utils.replicas import multi_gpu_model as multi_gpu_model
from graphflow.keras.utils.models import plot_model as plot_model
