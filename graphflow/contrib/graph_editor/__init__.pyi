"""Operations of a graph that others need, or that need others (tf.contrib.graph_editor)."""

from graphflow.contrib.graph_editor.walks import filter_ops_from_regex as filter_ops_from_regex
from graphflow.contrib.graph_editor.walks import filter_ts_from_regex as filter_ts_from_regex
from graphflow.contrib.graph_editor.walks import get_backward_walk_ops as get_backward_walk_ops
from graphflow.contrib.graph_editor.walks import get_forward_walk_ops as get_forward_walk_ops
from graphflow.contrib.graph_editor.walks import get_walks_intersection_ops as get_walks_intersection_ops
from graphflow.contrib.graph_editor.select import select_ops as select_ops
from graphflow.contrib.graph_editor.select import select_ops_and_ts as select_ops_and_ts
from graphflow.contrib.graph_editor.select import select_ts as select_ts
from graphflow.contrib.graph_editor.reroute import add_control_inputs as add_control_inputs
from graphflow.contrib.graph_editor.reroute import remove_control_inputs as remove_control_inputs
from graphflow.contrib.graph_editor.reroute import reroute_inputs as reroute_inputs
from graphflow.contrib.graph_editor.reroute import reroute_ios as reroute_ios
from graphflow.contrib.graph_editor.reroute import reroute_outputs as reroute_outputs
from graphflow.contrib.graph_editor.reroute import reroute_ts as reroute_ts
from graphflow.contrib.graph_editor.reroute import swap_inputs as swap_inputs
from graphflow.contrib.graph_editor.reroute import swap_ios as swap_ios
from graphflow.contrib.graph_editor.reroute import swap_outputs as swap_outputs
from graphflow.contrib.graph_editor.reroute import swap_ts as swap_ts
from graphflow.contrib.graph_editor.edit import bypass as bypass
from graphflow.contrib.graph_editor.edit import connect as connect
from graphflow.contrib.graph_editor.edit import detach as detach
from graphflow.contrib.graph_editor.edit import detach_control_inputs as detach_control_inputs
from graphflow.contrib.graph_editor.edit import detach_control_outputs as detach_control_outputs
from graphflow.contrib.graph_editor.edit import detach_inputs as detach_inputs
from graphflow.contrib.graph_editor.edit import detach_outputs as detach_outputs
from graphflow.contrib.graph_editor.transform import Transformer as Transformer
from graphflow.contrib.graph_editor.transform import TransformerInfo as TransformerInfo
from graphflow.contrib.graph_editor.transform import assign_renamed_collections_handler as assign_renamed_collections_handler
from graphflow.contrib.graph_editor.transform import copy as copy
from graphflow.contrib.graph_editor.transform import copy_op_handler as copy_op_handler
from graphflow.contrib.graph_editor.transform import copy_with_input_replacements as copy_with_input_replacements
from graphflow.contrib.graph_editor.transform import graph_replace as graph_replace
from graphflow.contrib.graph_editor.transform import keep_t_if_possible_handler as keep_t_if_possible_handler
from graphflow.contrib.graph_editor.transform import replace_t_with_placeholder_handler as replace_t_with_placeholder_handler
from graphflow.contrib.graph_editor.transform import transform_op_if_inside_handler as transform_op_if_inside_handler
from graphflow.contrib.graph_editor.subgraph import SubGraphView as SubGraphView
from graphflow.contrib.graph_editor.subgraph import make_view as make_view
from graphflow.contrib.graph_editor.subgraph import make_view_from_scope as make_view_from_scope
from graphflow.contrib.graph_editor.util import ControlOutputs as ControlOutputs
from graphflow.contrib.graph_editor.subgraph import make_view as _sgv
from graphflow.contrib.graph_editor.subgraph import make_view_from_scope as _sgv_scope
from . import edit as edit
from . import select as select
from . import reroute as reroute
from . import transform as transform
from . import subgraph as subgraph
from . import util as util

sgv = _sgv
sgv_scope = _sgv_scope
