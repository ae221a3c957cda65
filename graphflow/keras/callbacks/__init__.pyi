"""Callbacks (tf.keras.callbacks)."""

from graphflow.keras.callbacks.base import BaseLogger as BaseLogger
from graphflow.keras.callbacks.base import Callback as Callback
from graphflow.keras.callbacks.base import CallbackList as CallbackList
from graphflow.keras.callbacks.base import History as History
from graphflow.keras.callbacks.base import LambdaCallback as LambdaCallback
from graphflow.keras.callbacks.base import ProgbarLogger as ProgbarLogger
from graphflow.keras.callbacks.base import TerminateOnNaN as TerminateOnNaN
from graphflow.keras.callbacks.saving import CSVLogger as CSVLogger
from graphflow.keras.callbacks.saving import ModelCheckpoint as ModelCheckpoint
from graphflow.keras.callbacks.saving import RemoteMonitor as RemoteMonitor
from graphflow.keras.callbacks.saving import TensorBoard as TensorBoard
from graphflow.keras.callbacks.adjusting import EarlyStopping as EarlyStopping
from graphflow.keras.callbacks.adjusting import LearningRateScheduler as LearningRateScheduler
from graphflow.keras.callbacks.adjusting import ReduceLROnPlateau as ReduceLROnPlateau
