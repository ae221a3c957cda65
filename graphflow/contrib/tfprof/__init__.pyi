"""Profiles of a graph by their former names (tf.contrib.tfprof); gf.profiler has them."""

from . import model_analyzer as model_analyzer
