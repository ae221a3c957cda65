"""Cross entropies with their arguments the other way round, and elements by their place (tf.contrib.nn)."""

from graphflow.contrib.nn.flipped import deprecated_flipped_sigmoid_cross_entropy_with_logits as deprecated_flipped_sigmoid_cross_entropy_with_logits
from graphflow.contrib.nn.flipped import deprecated_flipped_softmax_cross_entropy_with_logits as deprecated_flipped_softmax_cross_entropy_with_logits
from graphflow.contrib.nn.flipped import deprecated_flipped_sparse_softmax_cross_entropy_with_logits as deprecated_flipped_sparse_softmax_cross_entropy_with_logits
from graphflow._core.ops.nn.order_statistics import nth_element as nth_element
from graphflow.contrib.nn.activations import alpha_dropout as alpha_dropout
from graphflow.contrib.nn.activations import scaled_softplus as scaled_softplus
