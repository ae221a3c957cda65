"""Random forests that learn batch by batch (tf.contrib.tensor_forest)."""

from graphflow.contrib.tensor_forest.graphs import ForestHParams as ForestHParams
from graphflow.contrib.tensor_forest.graphs import RandomForestGraphs as RandomForestGraphs
