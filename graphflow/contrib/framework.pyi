"""Structures, branches, default arguments, variables, checkpoints and the global step (tf.contrib.framework)."""

from graphflow.layers.arg_scope import add_arg_scope as add_arg_scope
from graphflow.layers.model_variables import add_model_variable as add_model_variable
from graphflow.layers.arg_scope import arg_scope as arg_scope
from graphflow.layers.arg_scope import arg_scope_func_key as arg_scope_func_key
from graphflow._core.ops.math.sorting import argsort as argsort
from graphflow.train.steps import assert_global_step as assert_global_step
from graphflow._core.ops.control_flow.value_assertions import assert_same_float_dtype as assert_same_float_dtype
from graphflow._core.ops.control_flow.assertions import assert_scalar as assert_scalar
from graphflow._core.ops.control_flow.assertions import is_non_decreasing as is_non_decreasing
from graphflow._core.ops.control_flow.assertions import is_numeric_tensor as is_numeric_tensor
from graphflow._core.ops.control_flow.assertions import is_strictly_increasing as is_strictly_increasing
from graphflow._core.ops.control_flow.assertions import is_tensor as is_tensor
from graphflow._core.ops.control_flow.checking import py_func as py_func
from graphflow.data.specs import TensorSpec as TensorSpec
from graphflow.contrib.variables import assign_from_checkpoint as assign_from_checkpoint
from graphflow.contrib.variables import assign_from_checkpoint_fn as assign_from_checkpoint_fn
from graphflow.contrib.variables import assign_from_values as assign_from_values
from graphflow.contrib.variables import assign_from_values_fn as assign_from_values_fn
from graphflow._core.ops.state.orthogonal import ConvolutionDeltaOrthogonal as _convolutional_delta_orthogonal
from graphflow._core.ops.state.orthogonal import ConvolutionOrthogonal1D as _convolutional_orthogonal_1d
from graphflow._core.ops.state.orthogonal import ConvolutionOrthogonal2D as _convolutional_orthogonal_2d
from graphflow._core.ops.state.orthogonal import ConvolutionOrthogonal3D as _convolutional_orthogonal_3d
from graphflow.train.steps import create_global_step as create_global_step
from graphflow.layers.arg_scope import current_arg_scope as current_arg_scope
from graphflow.contrib.variables import filter_variables as filter_variables
from graphflow.contrib.graph_names import assert_or_get_global_step as assert_or_get_global_step
from graphflow.contrib.graph_names import assert_scalar_int as assert_scalar_int
from graphflow.contrib.graph_names import convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor
from graphflow.contrib.graph_names import get_name_scope as get_name_scope
from graphflow.contrib.graph_names import get_placeholders as get_placeholders
from graphflow.contrib.graph_names import prepend_name_scope as prepend_name_scope
from graphflow.contrib.graph_names import reduce_sum_n as reduce_sum_n
from graphflow.contrib.graph_names import strip_name_scope as strip_name_scope
from graphflow.contrib.graph_names import zero_initializer as zero_initializer
from graphflow.train.steps import get_global_step as get_global_step
from graphflow.contrib.variables import get_local_variables as get_local_variables
from graphflow.contrib.variables import get_model_variables as get_model_variables
from graphflow.train.steps import get_or_create_global_step as get_or_create_global_step
from graphflow.contrib.variables import get_trainable_variables as get_trainable_variables
from graphflow.contrib.variables import get_unique_variable as get_unique_variable
from graphflow.contrib.variables import get_variable_full_name as get_variable_full_name
from graphflow.contrib.variables import get_variables as get_variables
from graphflow.contrib.variables import get_variables_by_name as get_variables_by_name
from graphflow.contrib.variables import get_variables_by_suffix as get_variables_by_suffix
from graphflow.contrib.variables import get_variables_to_restore as get_variables_to_restore
from graphflow.train.steps import global_step as global_step
from graphflow.layers.model_variables import global_variable as global_variable
from graphflow.layers.arg_scope import has_arg_scope as has_arg_scope
from graphflow.train.saving.checkpoint_utils import init_from_checkpoint as init_from_checkpoint
from graphflow.train.saving.checkpoint_utils import list_variables as list_variables
from graphflow.train.saving.checkpoint_utils import load_checkpoint as load_checkpoint
from graphflow.train.saving.checkpoint_utils import load_variable as load_variable
from graphflow.layers.model_variables import local_variable as local_variable
from graphflow.layers.model_variables import model_variable as model_variable
from graphflow import nest as nest
from graphflow._core.ops.control_flow.smart_cond import smart_case as smart_case
from graphflow._core.ops.control_flow.smart_cond import smart_cond as smart_cond
from graphflow._core.ops.control_flow.smart_cond import smart_constant_value as smart_constant_value
from graphflow._core.ops.math.sorting import sort as sort
from graphflow.layers.model_variables import variable as variable

convolutional_delta_orthogonal = _convolutional_delta_orthogonal
convolutional_orthogonal_1d = _convolutional_orthogonal_1d
convolutional_orthogonal_2d = _convolutional_orthogonal_2d
convolutional_orthogonal_3d = _convolutional_orthogonal_3d
