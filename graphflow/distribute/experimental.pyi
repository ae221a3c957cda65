"""Strategies by the names that they have in later versions of TensorFlow 1 (tf.distribute.experimental)."""

from graphflow.distribute.collective import CollectiveAllReduceStrategy as _CollectiveAllReduceStrategy
from graphflow.distribute.parameter_server import ParameterServerStrategy as ParameterServerStrategy
MultiWorkerMirroredStrategy = _CollectiveAllReduceStrategy
