"""Neural-network ops, as tf.nn: activations, convolutions, normalisations, losses an element, embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphflow._core.common.namespaces import missing as _missing
from graphflow._core.ops.math.math import log_sigmoid, sigmoid, tanh
from graphflow._core.ops.math.sorting import in_top_k, top_k
from graphflow._core.ops.math.transcendental import softplus
from graphflow._core.ops.nn.convolution import (
    conv2d,
    conv2d_backprop_filter,
    conv2d_backprop_input,
    depthwise_conv2d_native,
)
from graphflow._core.ops.nn.embedding import embedding_lookup, embedding_lookup_sparse
from graphflow._core.ops.nn.nn import (
    bias_add,
    crelu,
    elu,
    l2_loss,
    leaky_relu,
    relu,
    relu6,
    selu,
    softsign,
    swish,
)
from graphflow._core.ops.nn.normalization import fused_batch_norm, local_response_normalization
from graphflow._core.ops.nn.pooling import avg_pool, avg_pool2d, max_pool, max_pool2d, max_pool_with_argmax
from graphflow._core.ops.nn.softmax import (
    log_softmax,
    softmax,
    softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from graphflow._core.ops.nn.volumes import avg_pool3d, conv3d, conv3d_transpose, max_pool3d
from graphflow.nn import rnn_cell
from graphflow.nn.convolution import (
    atrous_conv2d,
    atrous_conv2d_transpose,
    conv1d,
    conv2d_transpose,
    depthwise_conv2d,
    pool,
    separable_conv2d,
)
from graphflow.nn.convolution import convolution_nd as convolution
from graphflow.nn.cross_entropy import (
    log_poisson_loss,
    sigmoid_cross_entropy_with_logits,
    weighted_cross_entropy_with_logits,
)
from graphflow.nn.layers import dropout, relu_layer, xw_plus_b
from graphflow.nn.moments import (
    batch_norm_with_global_normalization,
    batch_normalization,
    l2_normalize,
    moments,
    normalize_moments,
    sufficient_statistics,
    weighted_moments,
    zero_fraction,
)
from graphflow.nn.rnn import bidirectional_dynamic_rnn, dynamic_rnn, static_bidirectional_rnn, static_rnn
from graphflow.nn.sampling import (
    log_uniform_candidate_sampler,
    nce_loss,
    sampled_softmax_loss,
    uniform_candidate_sampler,
)

lrn = local_response_normalization

__all__ = [
    "atrous_conv2d",
    "atrous_conv2d_transpose",
    "avg_pool",
    "avg_pool2d",
    "avg_pool3d",
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "bias_add",
    "bidirectional_dynamic_rnn",
    "conv1d",
    "conv2d",
    "conv2d_backprop_filter",
    "conv2d_backprop_input",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "convolution",
    "crelu",
    "depthwise_conv2d",
    "depthwise_conv2d_native",
    "dropout",
    "dynamic_rnn",
    "elu",
    "embedding_lookup",
    "embedding_lookup_sparse",
    "fused_batch_norm",
    "in_top_k",
    "l2_loss",
    "l2_normalize",
    "leaky_relu",
    "local_response_normalization",
    "log_poisson_loss",
    "log_sigmoid",
    "log_softmax",
    "log_uniform_candidate_sampler",
    "lrn",
    "max_pool",
    "max_pool2d",
    "max_pool3d",
    "max_pool_with_argmax",
    "moments",
    "nce_loss",
    "normalize_moments",
    "pool",
    "relu",
    "relu6",
    "relu_layer",
    "rnn_cell",
    "sampled_softmax_loss",
    "selu",
    "separable_conv2d",
    "sigmoid",
    "sigmoid_cross_entropy_with_logits",
    "softmax",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "softplus",
    "softsign",
    "sparse_softmax_cross_entropy_with_logits",
    "static_bidirectional_rnn",
    "static_rnn",
    "sufficient_statistics",
    "swish",
    "tanh",
    "top_k",
    "uniform_candidate_sampler",
    "weighted_cross_entropy_with_logits",
    "weighted_moments",
    "xw_plus_b",
    "zero_fraction",
]

if not TYPE_CHECKING:  # Type checkers know the names that there are.
    __getattr__ = _missing("gf.nn", globals())
