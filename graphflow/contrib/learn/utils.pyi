"""What SavedModels are given, and when they are written (tf.contrib.learn.utils)."""

from graphflow.estimator.learn.exports import InputFnOps as InputFnOps
from graphflow.estimator.learn.exports import build_parsing_serving_input_fn as build_parsing_serving_input_fn
from graphflow.estimator.learn.exports import make_export_strategy as make_export_strategy
