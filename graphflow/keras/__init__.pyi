"""Keras (tf.keras)."""

from graphflow.keras.engine.input_layer import Input as Input
from graphflow.keras.engine.training import Model as Model
from graphflow.keras.engine.sequential import Sequential as Sequential
from . import activations as activations
from . import applications as applications
from . import backend as backend
from . import callbacks as callbacks
from . import constraints as constraints
from . import datasets as datasets
from . import estimator as estimator
from . import experimental as experimental
from . import initializers as initializers
from . import layers as layers
from . import losses as losses
from . import metrics as metrics
from . import models as models
from . import optimizers as optimizers
from . import preprocessing as preprocessing
from . import regularizers as regularizers
from . import utils as utils
from . import wrappers as wrappers
