"""Running tensors of a graph several times (tf.contrib.learn.graph_actions)."""

from graphflow.estimator.learn.graph_actions import run_feeds as run_feeds
from graphflow.estimator.learn.graph_actions import run_n as run_n
