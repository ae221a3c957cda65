"""Functions that give a model's predictions for arrays (tf.contrib.predictor)."""

from graphflow.contrib.predictor.predicting import from_estimator as from_estimator
from graphflow.contrib.predictor.predicting import from_saved_model as from_saved_model
