"""A model's layers in few lines, its training and its evaluation (tf.contrib.slim)."""

from typing import Any

from graphflow.layers.arg_scope import add_arg_scope as add_arg_scope
from graphflow.layers.model_variables import add_model_variable as add_model_variable
from graphflow.layers.regularizers import apply_regularization as apply_regularization
from graphflow.layers.arg_scope import arg_scope as arg_scope
from graphflow.layers.arg_scope import arg_scope_func_key as arg_scope_func_key
from graphflow.train.steps import assert_global_step as assert_global_step
from graphflow.contrib.variables import assign_from_checkpoint as assign_from_checkpoint
from graphflow.contrib.variables import assign_from_checkpoint_fn as assign_from_checkpoint_fn
from graphflow.contrib.variables import assign_from_values as assign_from_values
from graphflow.contrib.variables import assign_from_values_fn as assign_from_values_fn
from graphflow.layers.contrib import avg_pool2d as avg_pool2d
from graphflow.layers.contrib import batch_norm as batch_norm
from graphflow.layers.contrib_composed import bias_add as bias_add
from graphflow.layers.contrib import conv2d as conv2d
from graphflow.layers.contrib_channelwise import conv2d_transpose as conv2d_transpose
from graphflow.layers.contrib import conv2d as _convolution2d
from graphflow.layers.contrib_channelwise import conv2d_transpose as _convolution2d_transpose
from graphflow.train.steps import create_global_step as create_global_step
from graphflow.layers.arg_scope import current_arg_scope as current_arg_scope
from graphflow.layers.contrib import dropout as dropout
from graphflow.layers.contrib_composed import embed_sequence as embed_sequence
from . import evaluation as evaluation
from graphflow.contrib.variables import filter_variables as filter_variables
from graphflow.layers.contrib import flatten as flatten
from graphflow.layers.contrib import fully_connected as fully_connected
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
from . import initializers as initializers
from graphflow.layers.contrib_composed import instance_norm as instance_norm
from graphflow.layers.regularizers import l1_l2_regularizer as l1_l2_regularizer
from graphflow.layers.regularizers import l1_regularizer as l1_regularizer
from graphflow.layers.regularizers import l2_regularizer as l2_regularizer
from graphflow.layers.contrib import layer_norm as layer_norm
from graphflow.contrib import layers as layers
from . import learning as learning
from graphflow.layers.model_variables import local_variable as local_variable
from graphflow.contrib import losses as losses
from graphflow.layers.contrib import max_pool2d as max_pool2d
from graphflow.contrib import metrics as metrics
from . import model_analyzer as model_analyzer
from graphflow.layers.model_variables import model_variable as model_variable
from graphflow.layers.contrib_composed import one_hot_encoding as one_hot_encoding
from graphflow.layers.optimize_loss import optimize_loss as optimize_loss
from . import queues as queues
from . import regularizers as regularizers
from graphflow.layers.contrib_composed import repeat as repeat
from graphflow.layers.contrib_channelwise import separable_conv2d as separable_conv2d
from graphflow.layers.contrib_channelwise import separable_conv2d as _separable_convolution2d
from graphflow.layers.contrib_composed import softmax as softmax
from graphflow.layers.contrib_composed import stack as stack
from graphflow.layers.regularizers import sum_regularizer as sum_regularizer
from . import summaries as summaries
from graphflow.layers.contrib_composed import unit_norm as unit_norm
from . import utils as utils
from graphflow.layers.model_variables import variable as variable
from graphflow._core.ops.state.initializers import ContribVarianceScaling as _variance_scaling_initializer
from graphflow._core.ops.state.initializers import xavier_initializer as xavier_initializer
from graphflow._core.ops.state.initializers import xavier_initializer as _xavier_initializer_conv2d

OPTIMIZER_CLS_NAMES: Any
OPTIMIZER_SUMMARIES: Any
convolution2d = _convolution2d
convolution2d_transpose = _convolution2d_transpose
def elu(inputs: Any, num_outputs: Any, *, activation_fn: Any = ..., normalizer_fn: Any = ..., normalizer_params: Any = ..., weights_initializer: Any = ..., weights_regularizer: Any = ..., biases_initializer: Any = ..., biases_regularizer: Any = ..., reuse: Any = ..., variables_collections: Any = ..., outputs_collections: Any = ..., trainable: Any = ..., scope: Any = ...) -> Any: ...
def linear(inputs: Any, num_outputs: Any, *, activation_fn: Any = ..., normalizer_fn: Any = ..., normalizer_params: Any = ..., weights_initializer: Any = ..., weights_regularizer: Any = ..., biases_initializer: Any = ..., biases_regularizer: Any = ..., reuse: Any = ..., variables_collections: Any = ..., outputs_collections: Any = ..., trainable: Any = ..., scope: Any = ...) -> Any: ...
def relu(inputs: Any, num_outputs: Any, *, activation_fn: Any = ..., normalizer_fn: Any = ..., normalizer_params: Any = ..., weights_initializer: Any = ..., weights_regularizer: Any = ..., biases_initializer: Any = ..., biases_regularizer: Any = ..., reuse: Any = ..., variables_collections: Any = ..., outputs_collections: Any = ..., trainable: Any = ..., scope: Any = ...) -> Any: ...
def relu6(inputs: Any, num_outputs: Any, *, activation_fn: Any = ..., normalizer_fn: Any = ..., normalizer_params: Any = ..., weights_initializer: Any = ..., weights_regularizer: Any = ..., biases_initializer: Any = ..., biases_regularizer: Any = ..., reuse: Any = ..., variables_collections: Any = ..., outputs_collections: Any = ..., trainable: Any = ..., scope: Any = ...) -> Any: ...
separable_convolution2d = _separable_convolution2d
variance_scaling_initializer = _variance_scaling_initializer
xavier_initializer_conv2d = _xavier_initializer_conv2d
