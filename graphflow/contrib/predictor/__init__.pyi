"""Functions that give a model's predictions for arrays (tf.contrib.predictor)."""

from graphflow.estimator.predictor import from_estimator as from_estimator
from graphflow.estimator.predictor import from_saved_model as from_saved_model
