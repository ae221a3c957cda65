"""Operations of a graph that others need, or that need others (tf.contrib.graph_editor)."""

from graphflow.contrib.graph_editor.walks import filter_ops_from_regex as filter_ops_from_regex
from graphflow.contrib.graph_editor.walks import filter_ts_from_regex as filter_ts_from_regex
from graphflow.contrib.graph_editor.walks import get_backward_walk_ops as get_backward_walk_ops
from graphflow.contrib.graph_editor.walks import get_forward_walk_ops as get_forward_walk_ops
from graphflow.contrib.graph_editor.walks import get_walks_intersection_ops as get_walks_intersection_ops
