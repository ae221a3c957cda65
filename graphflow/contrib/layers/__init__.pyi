"""Layers, regularizers and initial values (tf.contrib.layers)."""

from graphflow.layers.optimize_loss import adaptive_clipping_fn as adaptive_clipping_fn
from graphflow.layers.optimize_loss import OPTIMIZER_CLS_NAMES as OPTIMIZER_CLS_NAMES
from graphflow.layers.optimize_loss import OPTIMIZER_SUMMARIES as OPTIMIZER_SUMMARIES
from graphflow.layers.regularizers import apply_regularization as apply_regularization
from graphflow.layers.contrib_pooling import avg_pool2d as avg_pool2d
from graphflow.layers.contrib_pooling import avg_pool3d as avg_pool3d
from graphflow.layers.contrib import batch_norm as batch_norm
from graphflow.layers.contrib_composed import bias_add as bias_add
from graphflow.layers.contrib import conv2d as conv2d
from graphflow.layers.contrib_channelwise import conv2d_transpose as conv2d_transpose
from graphflow.layers.contrib import conv2d as _convolution2d
from graphflow.layers.contrib_channelwise import conv2d_transpose as _convolution2d_transpose
from graphflow.layers.contrib import dropout as dropout
from graphflow.layers.contrib import elu_layer as _elu
from graphflow.layers.contrib_composed import embed_sequence as embed_sequence
from graphflow.layers.contrib import flatten as flatten
from graphflow.layers.contrib import fully_connected as fully_connected
from graphflow.layers.contrib_composed import group_norm as group_norm
from graphflow.layers.contrib_composed import instance_norm as instance_norm
from graphflow.contrib.layers.convolutions import conv1d as conv1d
from graphflow.contrib.layers.convolutions import conv3d as conv3d
from graphflow.contrib.layers.convolutions import conv3d_transpose as conv3d_transpose
from graphflow.contrib.layers.convolutions import convolution as convolution
from graphflow.contrib.layers.convolutions import conv1d as _convolution1d
from graphflow.contrib.layers.convolutions import conv3d as _convolution3d
from graphflow.contrib.layers.convolutions import conv3d_transpose as _convolution3d_transpose
from graphflow.contrib.layers.rearranging import dense_to_sparse as dense_to_sparse
from graphflow.contrib.layers.rearranging import images_to_sequence as images_to_sequence
from graphflow.contrib.layers.rearranging import maxout as maxout
from graphflow.contrib.layers.rearranging import poincare_normalize as poincare_normalize
from graphflow.contrib.layers.rearranging import scale_gradient as scale_gradient
from graphflow.contrib.layers.rearranging import sequence_to_images as sequence_to_images
from graphflow.contrib.layers.divisive import GDN as GDN
from graphflow.contrib.layers.divisive import gdn as gdn
from graphflow.contrib.layers.encoders import bow_encoder as bow_encoder
from graphflow.contrib.layers.recomputing import recompute_grad as recompute_grad
from graphflow.contrib.layers.reversible import RevBlock as RevBlock
from graphflow.contrib.layers.reversible import rev_block as rev_block
from graphflow.contrib.layers.legacy import legacy_fully_connected as legacy_fully_connected
from graphflow.contrib.layers.legacy import legacy_linear as _legacy_linear
from graphflow.contrib.layers.legacy import legacy_relu as _legacy_relu
from graphflow.layers.regularizers import l1_l2_regularizer as l1_l2_regularizer
from graphflow.layers.regularizers import l1_regularizer as l1_regularizer
from graphflow.layers.regularizers import l2_regularizer as l2_regularizer
from graphflow.layers.contrib import layer_norm as layer_norm
from graphflow.layers.contrib import linear as linear
from graphflow.layers.contrib_pooling import max_pool2d as max_pool2d
from graphflow.layers.contrib_pooling import max_pool3d as max_pool3d
from graphflow.layers.contrib_composed import one_hot_encoding as one_hot_encoding
from graphflow.layers.optimize_loss import optimize_loss as optimize_loss
from graphflow.layers.contrib import relu_layer as _relu
from graphflow.layers.contrib import relu6_layer as _relu6
from graphflow.layers.contrib_composed import repeat as repeat
from graphflow.layers.contrib_channelwise import conv2d_in_plane as conv2d_in_plane
from graphflow.layers.contrib_channelwise import conv2d_in_plane as _convolution2d_in_plane
from graphflow.layers.contrib_channelwise import separable_conv2d as separable_conv2d
from graphflow.layers.contrib_channelwise import separable_conv2d as _separable_convolution2d
from graphflow.layers.contrib_composed import softmax as softmax
from graphflow.layers.contrib_composed import spatial_softmax as spatial_softmax
from graphflow.layers.contrib_composed import stack as stack
from graphflow.layers.regularizers import sum_regularizer as sum_regularizer
from graphflow.layers.contrib_composed import unit_norm as unit_norm
from graphflow.contrib.layers.summaries import summarize_activation as summarize_activation
from graphflow.contrib.layers.summaries import summarize_activations as summarize_activations
from graphflow.contrib.layers.summaries import summarize_collection as summarize_collection
from graphflow.contrib.layers.summaries import summarize_tensor as summarize_tensor
from graphflow.contrib.layers.summaries import summarize_tensors as summarize_tensors
from graphflow._core.ops.state.initializers import ContribVarianceScaling as _variance_scaling_initializer
from graphflow._core.ops.state.initializers import xavier_initializer as xavier_initializer
from graphflow._core.ops.state.initializers import xavier_initializer as _xavier_initializer_conv2d
from graphflow.feature_column.contrib import bucketized_column as bucketized_column
from graphflow.feature_column.contrib import create_feature_spec_for_parsing as create_feature_spec_for_parsing
from graphflow.feature_column.contrib import crossed_column as crossed_column
from graphflow.feature_column.contrib import embedding_column as embedding_column
from graphflow.contrib.layers.embedding import embedding_lookup_unique as embedding_lookup_unique
from graphflow._core.ops.nn.embedding import safe_embedding_lookup_sparse as safe_embedding_lookup_sparse
from graphflow.feature_column.contrib import infer_real_valued_columns as infer_real_valued_columns
from graphflow.feature_column.contrib import input_from_feature_columns as input_from_feature_columns
from graphflow.feature_column.contrib import one_hot_column as one_hot_column
from graphflow.feature_column.contrib import real_valued_column as real_valued_column
from graphflow.feature_column.contrib import sparse_column_with_hash_bucket as sparse_column_with_hash_bucket
from graphflow.feature_column.contrib import sparse_column_with_integerized_feature as sparse_column_with_integerized_feature
from graphflow.feature_column.contrib import sparse_column_with_keys as sparse_column_with_keys
from graphflow.feature_column.contrib import sparse_column_with_vocabulary_file as sparse_column_with_vocabulary_file
from graphflow.feature_column.contrib import weighted_sparse_column as weighted_sparse_column
from graphflow.feature_column.contrib import weighted_sum_from_feature_columns as weighted_sum_from_feature_columns

convolution2d = _convolution2d
convolution2d_transpose = _convolution2d_transpose
elu = _elu
relu = _relu
relu6 = _relu6
convolution2d_in_plane = _convolution2d_in_plane
separable_convolution2d = _separable_convolution2d
variance_scaling_initializer = _variance_scaling_initializer
xavier_initializer_conv2d = _xavier_initializer_conv2d
convolution1d = _convolution1d
convolution3d = _convolution3d
convolution3d_transpose = _convolution3d_transpose
legacy_linear = _legacy_linear
legacy_relu = _legacy_relu
