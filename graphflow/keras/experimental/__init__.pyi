"""What is called experimental (tf.keras.experimental)."""

from graphflow.keras.optimizers.cosines import CosineDecay as CosineDecay
from graphflow.keras.optimizers.cosines import CosineDecayRestarts as CosineDecayRestarts
from graphflow.keras.optimizers.cosines import LinearCosineDecay as LinearCosineDecay
from graphflow.keras.layers.recurrent.cells import PeepholeLSTMCell as PeepholeLSTMCell
from graphflow.keras.layers.features import SequenceFeatures as SequenceFeatures
from graphflow.keras.saving.saved_models import export_saved_model as export_saved_model
from graphflow.keras.saving.saved_models import load_from_saved_model as load_from_saved_model
