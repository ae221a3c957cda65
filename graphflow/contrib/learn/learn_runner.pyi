"""Running an Experiment (tf.contrib.learn.learn_runner)."""

from graphflow.estimator.learn.experiment import run as run
