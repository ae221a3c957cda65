"""Optimizers (tf.keras.optimizers)."""

from graphflow.keras.optimizers.base import Optimizer as Optimizer
from graphflow.keras.optimizers.rules import Adadelta as Adadelta
from graphflow.keras.optimizers.rules import Adagrad as Adagrad
from graphflow.keras.optimizers.rules import Adam as Adam
from graphflow.keras.optimizers.rules import Adamax as Adamax
from graphflow.keras.optimizers.rules import Ftrl as Ftrl
from graphflow.keras.optimizers.rules import Nadam as Nadam
from graphflow.keras.optimizers.rules import RMSprop as RMSprop
from graphflow.keras.optimizers.rules import SGD as SGD
from graphflow.keras.optimizers.choosing import deserialize as deserialize
from graphflow.keras.optimizers.choosing import get as get
from graphflow.keras.optimizers.choosing import serialize as serialize
from . import schedules as schedules
