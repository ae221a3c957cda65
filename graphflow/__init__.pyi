"""graphflow: dataflow graphs with TensorFlow 1's names, run in this process or on a cluster."""

from graphflow._core.ops.state.variable_scope import AUTO_REUSE as AUTO_REUSE
from graphflow._core.autodiff.gradients import AggregationMethod as AggregationMethod
from graphflow._core.ops.control_flow.checking import assert_ as _Assert
from graphflow.config import ConfigProto as ConfigProto
from graphflow._core.graph.dtypes import DType as DType
from graphflow._core.graph.devices import DeviceSpec as DeviceSpec
from graphflow._core.graph.shapes import Dimension as Dimension
from graphflow._core.ops.io.queues import FIFOQueue as FIFOQueue
from graphflow._core.ops.io.parsing import FixedLenFeature as FixedLenFeature
from graphflow._core.ops.io.parsing import FixedLenSequenceFeature as FixedLenSequenceFeature
from graphflow._core.ops.io.readers import FixedLengthRecordReader as FixedLengthRecordReader
from graphflow.config import GPUOptions as GPUOptions
from graphflow._core.graph.graph import Graph as Graph
from graphflow._core.graph.keys import GraphKeys as GraphKeys
from graphflow.config import GraphOptions as GraphOptions
from graphflow._core.ops.io.readers import IdentityReader as IdentityReader
from graphflow._core.graph.slices import IndexedSlices as IndexedSlices
from graphflow._core.graph.slices import IndexedSlicesValue as IndexedSlicesValue
from graphflow._core.session import InteractiveSession as InteractiveSession
from graphflow._core.graph.op_def import not_differentiable as _NoGradient
from graphflow._core.graph.op_def import not_differentiable as _NotDifferentiable
from graphflow.errors import OpError as OpError
from graphflow._core.graph.elements import Operation as Operation
from graphflow.config import OptimizerOptions as OptimizerOptions
from graphflow._core.ops.io.queues import PaddingFIFOQueue as PaddingFIFOQueue
from graphflow._core.ops.control_flow.checking import print_ as _Print
from graphflow._core.ops.io.queues import PriorityQueue as PriorityQueue
from graphflow._core.ops.io.queues import QueueBase as QueueBase
from graphflow._core.ops.io.queues import RandomShuffleQueue as RandomShuffleQueue
from graphflow._core.ops.io.readers import ReaderBase as ReaderBase
from graphflow._core.graph.op_def import RegisterGradient as RegisterGradient
from graphflow.config import RunMetadata as RunMetadata
from graphflow.config import RunOptions as RunOptions
from graphflow._core.session import Session as Session
from graphflow._core.graph.slices import SparseTensor as SparseTensor
from graphflow._core.graph.slices import SparseTensorValue as SparseTensorValue
from graphflow._core.ops.io.readers import TFRecordReader as TFRecordReader
from graphflow._core.graph.elements import Tensor as Tensor
from graphflow._core.ops.control_flow.tensor_array import TensorArray as TensorArray
from graphflow._core.graph.shapes import TensorShape as TensorShape
from graphflow._core.ops.io.readers import TextLineReader as TextLineReader
from graphflow._core.autodiff.gradients import UnconnectedGradients as UnconnectedGradients
from graphflow._core.ops.io.parsing import VarLenFeature as VarLenFeature
from graphflow._core.ops.state.variable import Variable as Variable
from graphflow._core.ops.state.variable import VariableAggregation as VariableAggregation
from graphflow._core.ops.state.variable_scope import VariableScope as VariableScope
from graphflow._core.ops.state.variable import VariableSynchronization as VariableSynchronization
from graphflow._core.ops.io.readers import WholeFileReader as WholeFileReader
from graphflow._core.ops.math.numeric import abs_ as _abs
from graphflow._core.ops.math.numeric import accumulate_n as accumulate_n
from graphflow._core.ops.math.transcendental import acos as acos
from graphflow._core.ops.math.transcendental import acosh as acosh
from graphflow._core.ops.math.arithmetic import add as add
from graphflow._core.ops.control_flow.checking import add_check_numerics_ops as add_check_numerics_ops
from graphflow._core.ops.math.numeric import add_n as add_n
from graphflow._core.ops.state.scopes import add_to_collection as add_to_collection
from graphflow._core.ops.state.scopes import add_to_collections as add_to_collections
from graphflow._core.ops.state.variable_collections import global_variables as _all_variables
from graphflow._core.ops.math.numeric import angle as angle
from . import app as app
from graphflow._core.ops.math.comparison import approximate_equal as approximate_equal
from graphflow._core.ops.math.scans import arg_max as arg_max
from graphflow._core.ops.math.scans import arg_min as arg_min
from graphflow._core.ops.math.scans import argmax as argmax
from graphflow._core.ops.math.scans import argmin as argmin
from graphflow._core.ops.math.sorting import argsort as argsort
from graphflow._core.graph.dtypes import as_dtype as as_dtype
from graphflow._core.ops.strings import as_string as as_string
from graphflow._core.ops.math.transcendental import asin as asin
from graphflow._core.ops.math.transcendental import asinh as asinh
from graphflow._core.ops.control_flow.assertions import assert_equal as assert_equal
from graphflow._core.ops.control_flow.assertions import assert_greater as assert_greater
from graphflow._core.ops.control_flow.assertions import assert_greater_equal as assert_greater_equal
from graphflow._core.ops.control_flow.assertions import assert_integer as assert_integer
from graphflow._core.ops.control_flow.assertions import assert_less as assert_less
from graphflow._core.ops.control_flow.assertions import assert_less_equal as assert_less_equal
from graphflow._core.ops.control_flow.assertions import assert_negative as assert_negative
from graphflow._core.ops.control_flow.assertions import assert_non_negative as assert_non_negative
from graphflow._core.ops.control_flow.assertions import assert_non_positive as assert_non_positive
from graphflow._core.ops.control_flow.assertions import assert_none_equal as assert_none_equal
from graphflow._core.ops.control_flow.assertions import assert_positive as assert_positive
from graphflow._core.ops.control_flow.assertions import assert_rank as assert_rank
from graphflow._core.ops.control_flow.assertions import assert_rank_at_least as assert_rank_at_least
from graphflow._core.ops.control_flow.assertions import assert_rank_in as assert_rank_in
from graphflow._core.ops.control_flow.assertions import assert_scalar as assert_scalar
from graphflow._core.ops.control_flow.assertions import assert_type as assert_type
from graphflow._core.ops.state.variable_collections import assert_variables_initialized as assert_variables_initialized
from graphflow._core.ops.state.state import assign as assign
from graphflow._core.ops.state.state import assign_add as assign_add
from graphflow._core.ops.state.state import assign_sub as assign_sub
from graphflow._core.ops.math.transcendental import atan as atan
from graphflow._core.ops.math.transcendental import atan2 as atan2
from graphflow._core.ops.math.transcendental import atanh as atanh
from graphflow._core.ops.array.indexing import batch_gather as batch_gather
from graphflow._core.ops.nn.spatial import batch_to_space as batch_to_space
from graphflow._core.ops.nn.spatial import batch_to_space_nd as batch_to_space_nd
from graphflow._core.ops.math.special import betainc as betainc
from graphflow._core.graph.dtypes import bfloat16 as bfloat16
from graphflow._core.ops.math.sorting import bincount as bincount
from graphflow._core.ops.array.shaping import bitcast as bitcast
from . import bitwise as bitwise
from graphflow._core.graph.dtypes import bool_ as _bool
from graphflow._core.ops.array.compositions import boolean_mask as boolean_mask
from graphflow._core.ops.array.layout import broadcast_dynamic_shape as broadcast_dynamic_shape
from graphflow._core.ops.array.layout import broadcast_static_shape as broadcast_static_shape
from graphflow._core.ops.array.layout import broadcast_to as broadcast_to
from graphflow._core.ops.control_flow.control_flow import case as case
from graphflow._core.ops.math.casting import cast as cast
from graphflow._core.ops.math.transcendental import ceil as ceil
from graphflow._core.ops.control_flow.checking import check_numerics as check_numerics
from graphflow._core.ops.math.decompositions import cholesky as cholesky
from graphflow._core.ops.math.decompositions import cholesky_solve as cholesky_solve
from graphflow._core.ops.math.clip import clip_by_average_norm as clip_by_average_norm
from graphflow._core.ops.math.clip import clip_by_global_norm as clip_by_global_norm
from graphflow._core.ops.math.clip import clip_by_norm as clip_by_norm
from graphflow._core.ops.math.clip import clip_by_value as clip_by_value
from graphflow._core.ops.state.scopes import colocate_with as colocate_with
from . import compat as compat
from graphflow._core.ops.math.numeric import complex_ as _complex
from graphflow._core.graph.dtypes import complex128 as complex128
from graphflow._core.graph.dtypes import complex64 as complex64
from graphflow._core.ops.array.joining import concat as concat
from graphflow._core.ops.control_flow.control_flow import cond as cond
from . import config as config
from graphflow._core.ops.math.sorting import confusion_matrix as confusion_matrix
from graphflow._core.ops.math.numeric import conj as conj
from graphflow._core.ops.core import constant as constant
from graphflow._core.ops.state.initializers import Constant as _constant_initializer
from graphflow._core.ops.state.scopes import container as container
from . import cluster as cluster
from . import contrib as contrib
from graphflow._core.ops.state.scopes import control_dependencies as control_dependencies
from graphflow._core.ops.core import convert_n_to_tensor as convert_n_to_tensor
from graphflow._core.ops.core import convert_to_tensor as convert_to_tensor
from graphflow._core.ops.math.transcendental import cos as cos
from graphflow._core.ops.math.transcendental import cosh as cosh
from graphflow._core.ops.math.reductions import count_nonzero as count_nonzero
from graphflow._core.ops.state.state import count_up_to as count_up_to
from graphflow._core.ops.state.get_variable import create_partitioned_variables as create_partitioned_variables
from graphflow._core.ops.math.linalg import cross as cross
from graphflow._core.ops.math.scans import cumprod as cumprod
from graphflow._core.ops.math.scans import cumsum as cumsum
from graphflow._core.ops.control_flow.custom_gradient import custom_gradient as custom_gradient
from . import data as data
from . import debugging as debugging
from graphflow._core.ops.strings import decode_base64 as decode_base64
from graphflow._core.ops.io.csv import decode_csv as decode_csv
from graphflow._core.ops.strings import decode_raw as decode_raw
from graphflow._core.ops.nn.spatial import depth_to_space as depth_to_space
from graphflow._core.ops.state.scopes import device as device
from graphflow._core.ops.math.linalg import tensor_diag as _diag
from graphflow._core.ops.math.linalg import tensor_diag_part as _diag_part
from graphflow._core.ops.math.special import digamma as digamma
from . import distribute as distribute
from . import distributions as distributions
from graphflow._core.ops.math.arithmetic import div as div
from graphflow._core.ops.math.arithmetic import div_no_nan as div_no_nan
from graphflow._core.ops.math.arithmetic import divide as divide
from graphflow._core.graph.dtypes import float64 as _double
from graphflow._core.graph import dtypes as dtypes
from graphflow._core.ops.math.segments import dynamic_partition as dynamic_partition
from graphflow._core.ops.math.segments import dynamic_stitch as dynamic_stitch
from graphflow._core.ops.array.edit_distance import edit_distance as edit_distance
from graphflow._core.ops.math.contraction import einsum as einsum
from graphflow._core.ops.strings import encode_base64 as encode_base64
from graphflow._core.ops.array.layout import ensure_shape as ensure_shape
from graphflow._core.ops.math.comparison import equal as equal
from graphflow._core.ops.math.special import erf as erf
from graphflow._core.ops.math.special import erfc as erfc
from . import errors as errors
from . import estimator as estimator
from . import examples as examples
from graphflow._core.ops.math.transcendental import exp as exp
from graphflow._core.ops.array.shaping import expand_dims as expand_dims
from graphflow._core.ops.math.transcendental import expm1 as expm1
from . import extend as extend
from graphflow._core.ops.array.patches import extract_image_patches as extract_image_patches
from graphflow._core.ops.array.compositions import eye as eye
from graphflow._core.ops.array.creation import fill as fill
from graphflow._core.ops.state.partitioning import fixed_size_partitioner as fixed_size_partitioner
from . import feature_column as feature_column
from . import flags as flags
from graphflow._core.graph.dtypes import float16 as float16
from graphflow._core.graph.dtypes import float32 as float32
from graphflow._core.graph.dtypes import float64 as float64
from graphflow._core.ops.math.transcendental import floor as floor
from graphflow._core.ops.math.arithmetic import floor_div as floor_div
from graphflow._core.ops.math.arithmetic import floordiv as floordiv
from graphflow._core.ops.math.arithmetic import floormod as floormod
from graphflow._core.ops.control_flow.functional import foldl as foldl
from graphflow._core.ops.control_flow.functional import foldr as foldr
from graphflow._core.ops.array.indexing import gather as gather
from graphflow._core.ops.array.indexing import gather_nd as gather_nd
from graphflow._core.ops.state.scopes import get_collection as get_collection
from graphflow._core.ops.state.scopes import get_collection_ref as get_collection_ref
from graphflow._core.graph.defaults import get_default_graph as get_default_graph
from graphflow._core.graph.defaults import get_default_session as get_default_session
from graphflow._core.ops.state.get_variable import get_local_variable as get_local_variable
from graphflow._core.graph.random_seed import get_seed as get_seed
from graphflow._core.ops.state.get_variable import get_variable as get_variable
from graphflow._core.ops.state.variable_scope import get_variable_scope as get_variable_scope
from . import gfile as gfile
from graphflow._core.ops.math.clip import global_norm as global_norm
from graphflow._core.ops.state.variable_collections import global_variables as global_variables
from graphflow._core.ops.state.variable_collections import global_variables_initializer as global_variables_initializer
from graphflow._core.ops.state.initializers import GlorotNormal as _glorot_normal_initializer
from graphflow._core.ops.state.initializers import GlorotUniform as _glorot_uniform_initializer
from graphflow._core.ops.control_flow.custom_gradient import grad_pass_through as grad_pass_through
from graphflow._core.autodiff.gradients import gradients as gradients
from . import graph_util as graph_util
from graphflow._core.ops.math.comparison import greater as greater
from graphflow._core.ops.math.comparison import greater_equal as greater_equal
from graphflow._core.ops.control_flow.flow_basics import group as group
from graphflow._core.ops.array.shaping import guarantee_const as guarantee_const
from graphflow._core.graph.dtypes import float16 as _half
from graphflow._core.autodiff.gradients import hessians as hessians
from graphflow._core.ops.math.sorting import histogram_fixed_width as histogram_fixed_width
from graphflow._core.ops.array.shaping import identity as identity
from graphflow._core.ops.array.shaping import identity_n as identity_n
from graphflow._core.ops.math.special import igamma as igamma
from graphflow._core.ops.math.special import igammac as igammac
from graphflow._core.ops.math.numeric import imag as imag
from . import image as image
from graphflow._core.interop.import_graph import import_graph_def as import_graph_def
from graphflow._core.ops.state.variable_collections import global_variables_initializer as _initialize_all_variables
from graphflow._core.ops.state.variable_collections import local_variables_initializer as _initialize_local_variables
from graphflow._core.ops.state.variable_collections import variables_initializer as _initialize_variables
from . import initializers as initializers
from graphflow._core.graph.dtypes import int16 as int16
from graphflow._core.graph.dtypes import int32 as int32
from graphflow._core.graph.dtypes import int64 as int64
from graphflow._core.graph.dtypes import int8 as int8
from graphflow._core.ops.array.transposing import invert_permutation as invert_permutation
from . import io as io
from . import keras as keras
from graphflow._core.ops.math.comparison import is_finite as is_finite
from graphflow._core.ops.math.comparison import is_inf as is_inf
from graphflow._core.ops.math.comparison import is_nan as is_nan
from graphflow._core.ops.control_flow.assertions import is_non_decreasing as is_non_decreasing
from graphflow._core.ops.control_flow.assertions import is_numeric_tensor as is_numeric_tensor
from graphflow._core.ops.control_flow.assertions import is_strictly_increasing as is_strictly_increasing
from graphflow._core.ops.control_flow.assertions import is_tensor as is_tensor
from graphflow._core.ops.state.state import is_variable_initialized as is_variable_initialized
from . import layers as layers
from graphflow._core.ops.math.special import lbeta as lbeta
from graphflow._core.ops.math.comparison import less as less
from graphflow._core.ops.math.comparison import less_equal as less_equal
from graphflow._core.ops.math.special import lgamma as lgamma
from graphflow._core.ops.array.creation import linspace as _lin_space
from . import linalg as linalg
from graphflow._core.ops.array.creation import linspace as linspace
from graphflow._core.ops.state.variable_collections import local_variables as local_variables
from graphflow._core.ops.state.variable_collections import local_variables_initializer as local_variables_initializer
from graphflow._core.ops.math.transcendental import log as log
from graphflow._core.ops.math.transcendental import log1p as log1p
from graphflow._core.ops.math.transcendental import log_sigmoid as log_sigmoid
from . import logging as logging
from graphflow._core.ops.math.comparison import logical_and as logical_and
from graphflow._core.ops.math.comparison import logical_not as logical_not
from graphflow._core.ops.math.comparison import logical_or as logical_or
from graphflow._core.ops.math.comparison import logical_xor as logical_xor
from . import lookup as lookup
from . import losses as losses
from graphflow._core.interop.tensor_protos import make_ndarray as make_ndarray
from graphflow._core.ops.state.template import make_template as make_template
from graphflow._core.interop.tensor_protos import make_tensor_proto as make_tensor_proto
from graphflow._core.ops.control_flow.functional import map_fn as map_fn
from graphflow._core.ops.io.files import matching_files as matching_files
from . import math as math
from graphflow._core.ops.math.linalg import matmul as matmul
from graphflow._core.ops.math.linalg import matrix_band_part as matrix_band_part
from graphflow._core.ops.math.decompositions import matrix_determinant as matrix_determinant
from graphflow._core.ops.math.linalg import matrix_diag as matrix_diag
from graphflow._core.ops.math.linalg import matrix_diag_part as matrix_diag_part
from graphflow._core.ops.math.decompositions import matrix_inverse as matrix_inverse
from graphflow._core.ops.math.linalg import matrix_set_diag as matrix_set_diag
from graphflow._core.ops.math.decompositions import matrix_solve as matrix_solve
from graphflow._core.ops.math.decompositions import matrix_solve_ls as matrix_solve_ls
from graphflow._core.ops.array.transposing import matrix_transpose as matrix_transpose
from graphflow._core.ops.math.decompositions import matrix_triangular_solve as matrix_triangular_solve
from graphflow._core.ops.math.arithmetic import maximum as maximum
from graphflow._core.ops.array.compositions import meshgrid as meshgrid
from . import metrics as metrics
from graphflow._core.ops.state.partitioning import min_max_variable_partitioner as min_max_variable_partitioner
from graphflow._core.ops.math.arithmetic import minimum as minimum
from graphflow._core.ops.math.arithmetic import floormod as _mod
from graphflow._core.ops.state.variable_collections import model_variables as model_variables
from graphflow._core.ops.state.variable_collections import moving_average_variables as moving_average_variables
from graphflow._core.ops.random import multinomial as multinomial
from graphflow._core.ops.math.arithmetic import multiply as multiply
from graphflow._core.ops.state.scopes import name_scope as name_scope
from graphflow._core.ops.math.numeric import negative as negative
from . import nest as nest
from . import nn as nn
from graphflow._core.ops.control_flow.flow_basics import no_op as no_op
from graphflow._core.ops.state.variable_scope import no_regularizer as no_regularizer
from graphflow._core.ops.math.norms import norm as norm
from graphflow._core.ops.math.comparison import not_equal as not_equal
from graphflow._core.ops.control_flow.checking import numpy_function as numpy_function
from graphflow._core.ops.array.creation import one_hot as one_hot
from graphflow._core.ops.array.creation import ones as ones
from graphflow._core.ops.state.initializers import Ones as _ones_initializer
from graphflow._core.ops.array.creation import ones_like as ones_like
from graphflow._core.ops.state.scopes import op_scope as op_scope
from graphflow._core.ops.state.initializers import Orthogonal as _orthogonal_initializer
from graphflow._core.ops.array.layout import pad as pad
from graphflow._core.ops.array.joining import parallel_stack as parallel_stack
from graphflow._core.ops.io.parsing import parse_example as parse_example
from graphflow._core.ops.io.parsing import parse_single_example as parse_single_example
from graphflow._core.ops.io.sequence_parsing import parse_single_sequence_example as parse_single_sequence_example
from graphflow._core.ops.array.shaping import placeholder as placeholder
from graphflow._core.ops.array.shaping import placeholder_with_default as placeholder_with_default
from graphflow._core.ops.math.special import polygamma as polygamma
from graphflow._core.ops.math.arithmetic import pow_ as _pow
from graphflow._core.ops.control_flow.printing import print_v2 as _print
from . import protos as protos
from graphflow.debugging.profiling import profile as profile
from graphflow._core.ops.control_flow.checking import py_func as py_func
from . import python_io as python_io
from graphflow._core.ops.math.decompositions import qr as qr
from . import random as random
from graphflow._core.ops.random import random_crop as random_crop
from graphflow._core.ops.random import random_gamma as random_gamma
from graphflow._core.ops.random import random_normal as random_normal
from graphflow._core.ops.state.initializers import RandomNormal as _random_normal_initializer
from graphflow._core.ops.random import random_poisson as random_poisson
from graphflow._core.ops.random import random_shuffle as random_shuffle
from graphflow._core.ops.random import random_uniform as random_uniform
from graphflow._core.ops.state.initializers import RandomUniform as _random_uniform_initializer
from graphflow._core.ops.array.creation import range_ as _range
from graphflow._core.ops.array.extents import rank as rank
from graphflow._core.ops.io.files import read_file as read_file
from graphflow._core.ops.math.numeric import real as real
from graphflow._core.ops.math.arithmetic import realdiv as realdiv
from graphflow._core.ops.math.transcendental import reciprocal as reciprocal
from graphflow._core.ops.math.reductions import reduce_all as reduce_all
from graphflow._core.ops.math.reductions import reduce_any as reduce_any
from graphflow._core.ops.strings import reduce_join as reduce_join
from graphflow._core.ops.math.reductions import reduce_logsumexp as reduce_logsumexp
from graphflow._core.ops.math.reductions import reduce_max as reduce_max
from graphflow._core.ops.math.reductions import reduce_mean as reduce_mean
from graphflow._core.ops.math.reductions import reduce_min as reduce_min
from graphflow._core.ops.math.reductions import reduce_prod as reduce_prod
from graphflow._core.ops.math.reductions import reduce_sum as reduce_sum
from graphflow._core.ops.strings import regex_replace as regex_replace
from graphflow._core.ops.core import register_tensor_conversion_function as register_tensor_conversion_function
from graphflow._core.ops.array.compositions import repeat as repeat
from graphflow._core.ops.state.variable_collections import report_uninitialized_variables as report_uninitialized_variables
from graphflow._core.graph.defaults import reset_default_graph as reset_default_graph
from graphflow._core.ops.array.shaping import reshape as reshape
from graphflow._core.graph.dtypes import resource as resource
from . import resource_loader as resource_loader
from graphflow._core.ops.array.layout import reverse as reverse
from graphflow._core.ops.array.layout import reverse_sequence as reverse_sequence
from graphflow._core.ops.array.layout import reverse as _reverse_v2
from graphflow._core.ops.math.transcendental import rint as rint
from graphflow._core.ops.array.layout import roll as roll
from graphflow._core.ops.math.transcendental import round_ as _round
from graphflow._core.ops.math.transcendental import rsqrt as rsqrt
from graphflow._core.ops.math.numeric import saturate_cast as saturate_cast
from . import saved_model as saved_model
from graphflow._core.ops.math.numeric import scalar_mul as scalar_mul
from graphflow._core.ops.control_flow.functional import scan as scan
from graphflow._core.ops.state.state import scatter_add as scatter_add
from graphflow._core.ops.state.state import scatter_div as scatter_div
from graphflow._core.ops.state.state import scatter_max as scatter_max
from graphflow._core.ops.state.state import scatter_min as scatter_min
from graphflow._core.ops.state.state import scatter_mul as scatter_mul
from graphflow._core.ops.array.indexing import scatter_nd as scatter_nd
from graphflow._core.ops.state.state import scatter_nd_add as scatter_nd_add
from graphflow._core.ops.state.state import scatter_nd_sub as scatter_nd_sub
from graphflow._core.ops.state.state import scatter_nd_update as scatter_nd_update
from graphflow._core.ops.state.state import scatter_sub as scatter_sub
from graphflow._core.ops.state.state import scatter_update as scatter_update
from graphflow._core.ops.math.sorting import searchsorted as searchsorted
from graphflow._core.ops.math.segments import segment_max as segment_max
from graphflow._core.ops.math.segments import segment_mean as segment_mean
from graphflow._core.ops.math.segments import segment_min as segment_min
from graphflow._core.ops.math.segments import segment_prod as segment_prod
from graphflow._core.ops.math.segments import segment_sum as segment_sum
from graphflow._core.ops.math.decompositions import self_adjoint_eig as self_adjoint_eig
from graphflow._core.ops.math.decompositions import self_adjoint_eigvals as self_adjoint_eigvals
from graphflow._core.ops.array.compositions import sequence_mask as sequence_mask
from graphflow._core.graph.random_seed import set_random_seed as set_random_seed
from graphflow._core.ops.math.sorting import setdiff1d as setdiff1d
from graphflow._core.ops.array.shaping import shape as shape
from graphflow._core.ops.array.shaping import shape_n as shape_n
from graphflow._core.ops.math.transcendental import sigmoid as sigmoid
from graphflow._core.ops.math.numeric import sign as sign
from graphflow._core.ops.math.transcendental import sin as sin
from graphflow._core.ops.math.transcendental import sinh as sinh
from graphflow._core.ops.array.extents import size as size
from graphflow._core.ops.array.slicing import slice_ as _slice
from graphflow._core.ops.math.sorting import sort as sort
from graphflow._core.ops.nn.spatial import space_to_batch as space_to_batch
from graphflow._core.ops.nn.spatial import space_to_batch_nd as space_to_batch_nd
from graphflow._core.ops.nn.spatial import space_to_depth as space_to_depth
from . import sparse as sparse
from graphflow._core.ops.sparse.sparse import sparse_add as sparse_add
from graphflow._core.ops.sparse.sparse import sparse_concat as sparse_concat
from graphflow._core.ops.sparse.sparse import sparse_fill_empty_rows as sparse_fill_empty_rows
from graphflow._core.ops.math.linalg import sparse_matmul as sparse_matmul
from graphflow._core.ops.sparse.sparse import sparse_placeholder as sparse_placeholder
from graphflow._core.ops.sparse.sparse import sparse_reduce_max as sparse_reduce_max
from graphflow._core.ops.sparse.sparse import sparse_reduce_sum as sparse_reduce_sum
from graphflow._core.ops.sparse.sparse import sparse_reorder as sparse_reorder
from graphflow._core.ops.sparse.sparse import sparse_reshape as sparse_reshape
from graphflow._core.ops.sparse.sparse import sparse_retain as sparse_retain
from graphflow._core.ops.math.segments import sparse_segment_mean as sparse_segment_mean
from graphflow._core.ops.math.segments import sparse_segment_sqrt_n as sparse_segment_sqrt_n
from graphflow._core.ops.math.segments import sparse_segment_sum as sparse_segment_sum
from graphflow._core.ops.sparse.sparse import sparse_slice as sparse_slice
from graphflow._core.ops.sparse.sparse import sparse_tensor_dense_matmul as sparse_tensor_dense_matmul
from graphflow._core.ops.sparse.sparse import sparse_tensor_to_dense as sparse_tensor_to_dense
from graphflow._core.ops.sparse.sparse import sparse_to_dense as sparse_to_dense
from graphflow._core.ops.sparse.sparse import sparse_transpose as sparse_transpose
from graphflow._core.ops.array.joining import split as split
from graphflow._core.ops.math.transcendental import sqrt as sqrt
from graphflow._core.ops.math.transcendental import square as square
from graphflow._core.ops.math.arithmetic import squared_difference as squared_difference
from graphflow._core.ops.array.shaping import squeeze as squeeze
from graphflow._core.ops.array.joining import stack as stack
from graphflow._core.ops.array.shaping import stop_gradient as stop_gradient
from graphflow._core.ops.array.slicing import strided_slice as strided_slice
from graphflow._core.graph.dtypes import string as string
from graphflow._core.ops.strings import string_join as string_join
from graphflow._core.ops.strings import string_split as string_split
from graphflow._core.ops.strings import string_strip as string_strip
from graphflow._core.ops.strings import string_to_hash_bucket_fast as string_to_hash_bucket_fast
from graphflow._core.ops.strings import string_to_number as string_to_number
from . import strings as strings
from graphflow._core.ops.strings import substr as substr
from graphflow._core.ops.math.arithmetic import subtract as subtract
from . import summary as summary
from graphflow._core.ops.math.decompositions import svd as svd
from graphflow._core.ops.state.initializers import tables_initializer as tables_initializer
from graphflow._core.ops.math.transcendental import tan as tan
from graphflow._core.ops.math.transcendental import tanh as tanh
from graphflow._core.ops.array.indexing import tensor_scatter_add as tensor_scatter_add
from graphflow._core.ops.array.indexing import tensor_scatter_add as _tensor_scatter_nd_add
from graphflow._core.ops.array.indexing import tensor_scatter_sub as _tensor_scatter_nd_sub
from graphflow._core.ops.array.indexing import tensor_scatter_update as _tensor_scatter_nd_update
from graphflow._core.ops.array.indexing import tensor_scatter_sub as tensor_scatter_sub
from graphflow._core.ops.array.indexing import tensor_scatter_update as tensor_scatter_update
from graphflow._core.ops.math.contraction import tensordot as tensordot
from . import test as test
from . import testing as testing
from graphflow._core.ops.array.layout import tile as tile
from graphflow._core.ops.math.casting import to_complex128 as to_complex128
from graphflow._core.ops.math.casting import to_complex64 as to_complex64
from graphflow._core.ops.math.casting import to_double as to_double
from graphflow._core.ops.math.casting import to_float as to_float
from graphflow._core.ops.math.casting import to_int32 as to_int32
from graphflow._core.ops.math.casting import to_int64 as to_int64
from graphflow._core.ops.math.linalg import trace as trace
from . import train as train
from graphflow._core.ops.state.variable_collections import trainable_variables as trainable_variables
from graphflow._core.ops.array.transposing import transpose as transpose
from graphflow._core.ops.math.arithmetic import truediv as truediv
from graphflow._core.ops.random import truncated_normal as truncated_normal
from graphflow._core.ops.state.initializers import TruncatedNormal as _truncated_normal_initializer
from graphflow._core.ops.math.arithmetic import truncatediv as truncatediv
from graphflow._core.ops.math.arithmetic import truncatemod as truncatemod
from graphflow._core.ops.control_flow.flow_basics import tuple_ as _tuple
from . import typing as typing
from graphflow._core.graph.dtypes import uint16 as uint16
from graphflow._core.graph.dtypes import uint32 as uint32
from graphflow._core.graph.dtypes import uint64 as uint64
from graphflow._core.graph.dtypes import uint8 as uint8
from graphflow._core.ops.state.initializers import UniformUnitScaling as _uniform_unit_scaling_initializer
from graphflow._core.ops.math.sorting import unique as unique
from graphflow._core.ops.math.sorting import unique_with_counts as unique_with_counts
from graphflow._core.ops.math.segments import unsorted_segment_max as unsorted_segment_max
from graphflow._core.ops.math.segments import unsorted_segment_mean as unsorted_segment_mean
from graphflow._core.ops.math.segments import unsorted_segment_min as unsorted_segment_min
from graphflow._core.ops.math.segments import unsorted_segment_prod as unsorted_segment_prod
from graphflow._core.ops.math.segments import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from graphflow._core.ops.math.segments import unsorted_segment_sum as unsorted_segment_sum
from graphflow._core.ops.array.joining import unstack as unstack
from graphflow._core.ops.state.partitioning import variable_axis_size_partitioner as variable_axis_size_partitioner
from graphflow._core.ops.state.variable_creators import variable_creator_scope as variable_creator_scope
from graphflow._core.ops.state.variable_scope import variable_op_scope as variable_op_scope
from graphflow._core.ops.state.variable_scope import variable_scope as variable_scope
from graphflow._core.ops.state.variable_collections import variables_initializer as variables_initializer
from graphflow._core.ops.state.initializers import VarianceScaling as _variance_scaling_initializer
from graphflow._core.graph.dtypes import variant as variant
from graphflow._core.ops.control_flow.checking import verify_tensor_all_finite as verify_tensor_all_finite
from graphflow._core.ops.array.indexing import where as where
from graphflow._core.ops.array.indexing import where_v2 as where_v2
from graphflow._core.ops.control_flow.control_flow import while_loop as while_loop
from graphflow._core.ops.io.files import write_file as write_file
from graphflow._core.ops.array.creation import zeros as zeros
from graphflow._core.ops.state.initializers import Zeros as _zeros_initializer
from graphflow._core.ops.array.creation import zeros_like as zeros_like
from graphflow._core.ops.math.special import zeta as zeta
from graphflow.protos import attr_value_pb2 as _attr_value_pb2
from graphflow.protos import event_pb2 as _event_pb2
from graphflow.protos import graph_pb2 as _graph_pb2
from graphflow.protos import histogram_pb2 as _histogram_pb2
from graphflow.protos import meta_graph_pb2 as _meta_graph_pb2
from graphflow.protos import node_def_pb2 as _node_def_pb2
from graphflow.protos import op_def_pb2 as _op_def_pb2
from graphflow.protos import summary_pb2 as _summary_pb2

__version__: str
newaxis: None
Assert = _Assert
AttrValue = _attr_value_pb2.AttrValue
Event = _event_pb2.Event
GraphDef = _graph_pb2.GraphDef
HistogramProto = _histogram_pb2.HistogramProto
LogMessage = _event_pb2.LogMessage
MetaGraphDef = _meta_graph_pb2.MetaGraphDef
NameAttrList = _attr_value_pb2.NameAttrList
NoGradient = _NoGradient
NodeDef = _node_def_pb2.NodeDef
NotDifferentiable = _NotDifferentiable
OpDef = _op_def_pb2.OpDef
Print = _Print
SessionLog = _event_pb2.SessionLog
Summary = _summary_pb2.Summary
SummaryMetadata = _summary_pb2.SummaryMetadata
abs = _abs
all_variables = _all_variables
bool = _bool
complex = _complex
constant_initializer = _constant_initializer
diag = _diag
diag_part = _diag_part
double = _double
glorot_normal_initializer = _glorot_normal_initializer
glorot_uniform_initializer = _glorot_uniform_initializer
half = _half
initialize_all_variables = _initialize_all_variables
initialize_local_variables = _initialize_local_variables
initialize_variables = _initialize_variables
lin_space = _lin_space
mod = _mod
ones_initializer = _ones_initializer
orthogonal_initializer = _orthogonal_initializer
pow = _pow
print = _print
random_normal_initializer = _random_normal_initializer
random_uniform_initializer = _random_uniform_initializer
range = _range
reverse_v2 = _reverse_v2
round = _round
slice = _slice
tensor_scatter_nd_add = _tensor_scatter_nd_add
tensor_scatter_nd_sub = _tensor_scatter_nd_sub
tensor_scatter_nd_update = _tensor_scatter_nd_update
truncated_normal_initializer = _truncated_normal_initializer
tuple = _tuple
uniform_unit_scaling_initializer = _uniform_unit_scaling_initializer
variance_scaling_initializer = _variance_scaling_initializer
zeros_initializer = _zeros_initializer
