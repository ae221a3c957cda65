"""Python's control flow on tensors as a graph's (tf.autograph)."""

from . import experimental as experimental
from graphflow.autograph.converting import set_verbosity as set_verbosity
from graphflow.autograph.converting import to_code as to_code
from graphflow.autograph.converting import to_graph as to_graph
from graphflow.autograph.converting import trace as trace
