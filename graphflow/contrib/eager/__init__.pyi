"""What of tf.contrib.eager has a meaning in graphs: nothing is executed eagerly, and the functions say so."""

from graphflow.train.saving.checkpoint import Checkpoint as Checkpoint
from graphflow.data.specs import TensorSpec as TensorSpec
from graphflow._core.ops.state.variable import Variable as Variable
from graphflow._core.ops.control_flow.custom_gradient import custom_gradient as custom_gradient
from graphflow.contrib.eager.modes import executing_eagerly as _in_eager_mode
from graphflow.contrib.eager.modes import executing_eagerly as executing_eagerly
from graphflow._core.ops.state.template import make_template as make_template
from graphflow.python_functions import py_function as _py_func

in_eager_mode = _in_eager_mode
py_func = _py_func
