"""The public names themselves: that each is there, of the right kind, and takes TensorFlow's arguments by name."""

import inspect

from harness import Family

FAMILY = Family("api")

# Aliases of functions that the other families test under their short names.
ALIASES = """
math: abs acos acosh add add_n argmax argmin asin asinh atan atan2 atanh ceil
    cos cosh count_nonzero cumprod cumsum digamma divide divide_no_nan equal erf exp expm1 floor
    floordiv floormod greater greater_equal in_top_k invert_permutation is_finite is_inf is_nan l2_normalize less
    less_equal lgamma log log1p log_sigmoid log_softmax logical_and logical_not logical_or logical_xor maximum minimum
    mod multiply negative not_equal pow reciprocal reduce_all reduce_any reduce_logsumexp reduce_max
    reduce_mean reduce_min reduce_prod reduce_sum rint round rsqrt scalar_mul segment_max
    segment_mean segment_min segment_prod segment_sum sigmoid sign sin sinh softmax softplus softsign sqrt square
    squared_difference subtract tan tanh top_k truediv unsorted_segment_max unsorted_segment_mean
    unsorted_segment_min unsorted_segment_prod unsorted_segment_sqrt_n unsorted_segment_sum zero_fraction
linalg: band_part cholesky cross det diag diag_part einsum eye inv l2_normalize matmul norm set_diag solve
    tensor_diag tensor_diag_part tensordot trace transpose
random: categorical get_seed multinomial normal set_random_seed shuffle truncated_normal uniform
nn: avg_pool batch_normalization bias_add conv1d conv2d conv2d_transpose convolution depthwise_conv2d
    dropout elu embedding_lookup fused_batch_norm in_top_k l2_loss l2_normalize leaky_relu
    local_response_normalization log_softmax lrn max_pool moments pool relu relu6 relu_layer
    selu sigmoid sigmoid_cross_entropy_with_logits softmax
    softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2 softplus softsign
    sparse_softmax_cross_entropy_with_logits tanh top_k weighted_cross_entropy_with_logits
    xw_plus_b zero_fraction
losses: absolute_difference add_loss compute_weighted_loss get_losses get_regularization_loss
    get_regularization_losses get_total_loss hinge_loss huber_loss log_loss mean_pairwise_squared_error
    mean_squared_error sigmoid_cross_entropy softmax_cross_entropy sparse_softmax_cross_entropy
initializers: constant global_variables he_normal he_uniform lecun_normal lecun_uniform local_variables ones
    random_normal random_uniform truncated_normal uniform_unit_scaling variables variance_scaling zeros
    glorot_normal glorot_uniform tables_initializer
train: cosine_decay create_global_step exponential_decay get_global_step
    get_or_create_global_step global_step inverse_time_decay natural_exp_decay piecewise_constant
    piecewise_constant_decay polynomial_decay replica_device_setter
debugging: Assert assert_equal assert_greater assert_less assert_non_negative assert_positive assert_rank
    check_numerics is_finite is_nan
errors: AbortedError AlreadyExistsError CancelledError DataLossError DeadlineExceededError FailedPreconditionError
    InternalError InvalidArgumentError NotFoundError OpError OutOfRangeError PermissionDeniedError
    ResourceExhaustedError UnauthenticatedError UnavailableError UnimplementedError UnknownError
"""

OPTIMIZERS = [
    "Adadelta",
    "Adagrad",
    "Adam",
    "Ftrl",
    "GradientDescent",
    "Momentum",
    "ProximalGradientDescent",
    "RMSProp",
]

_module = ""
for _line in ALIASES.split("\n"):
    if _line and not _line.startswith(" "):
        _module, _, _line = _line.partition(":")
    for _name in _line.split():
        FAMILY.expressions("callable(tf.%s.%s)" % (_module, _name))
for _name in OPTIMIZERS:
    FAMILY.expressions("issubclass(tf.train.%sOptimizer, tf.train.Optimizer)" % _name)

# Every keyword that programs pass by name, for the names that most of them use.
KEYWORDS = """
Variable: initial_value trainable collections validate_shape caching_device name variable_def dtype expected_shape
    import_scope constraint use_resource
get_variable: name shape dtype initializer regularizer trainable collections caching_device partitioner validate_shape
    use_resource custom_getter constraint
variable_scope: name_or_scope default_name values initializer regularizer caching_device partitioner custom_getter reuse
    dtype use_resource constraint auxiliary_name_scope
placeholder: dtype shape name
placeholder_with_default: input shape name
constant: value dtype shape name verify_shape
convert_to_tensor: value dtype name preferred_dtype dtype_hint
zeros: shape dtype name
ones: shape dtype name
zeros_like: tensor dtype name optimize
fill: dims value name
one_hot: indices depth on_value off_value axis dtype name
eye: num_rows num_columns batch_shape dtype name
random_normal: shape mean stddev dtype seed name
random_uniform: shape minval maxval dtype seed name
truncated_normal: shape mean stddev dtype seed name
random_shuffle: value seed name
multinomial: logits num_samples seed name output_dtype
reduce_sum: input_tensor axis keepdims name reduction_indices keep_dims
reduce_mean: input_tensor axis keepdims name reduction_indices keep_dims
reduce_max: input_tensor axis keepdims name reduction_indices keep_dims
reduce_all: input_tensor axis keepdims name reduction_indices keep_dims
argmax: input axis name dimension output_type
count_nonzero: input_tensor axis keepdims dtype name reduction_indices keep_dims
cumsum: x axis exclusive reverse name
norm: tensor ord axis keepdims name keep_dims
matmul: a b transpose_a transpose_b adjoint_a adjoint_b a_is_sparse b_is_sparse name
tensordot: a b axes name
transpose: a perm name conjugate
reshape: tensor shape name
expand_dims: input axis name dim
squeeze: input axis name squeeze_dims
concat: values axis name
stack: values axis name
unstack: value num axis name
split: value num_or_size_splits axis num name
slice: input_ begin size name
strided_slice: input_ begin end strides begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask var name
gather: params indices validate_indices name axis batch_dims
gather_nd: params indices name batch_dims
scatter_nd: indices updates shape name
boolean_mask: tensor mask name axis
where: condition x y name
tile: input multiples name
pad: tensor paddings mode name constant_values
sequence_mask: lengths maxlen dtype name
cast: x dtype name
clip_by_value: t clip_value_min clip_value_max name
clip_by_norm: t clip_norm axes name
clip_by_global_norm: t_list clip_norm use_norm name
cond: pred true_fn false_fn strict name fn1 fn2
case: pred_fn_pairs default exclusive strict name
while_loop: cond body loop_vars shape_invariants parallel_iterations back_prop swap_memory name maximum_iterations
    return_same_structure
map_fn: fn elems dtype parallel_iterations back_prop swap_memory infer_shape name
scan: fn elems initializer parallel_iterations back_prop swap_memory infer_shape reverse name
gradients: ys xs grad_ys name colocate_gradients_with_ops gate_gradients aggregation_method stop_gradients
    unconnected_gradients
assign: ref value validate_shape use_locking name
scatter_update: ref indices updates use_locking name
py_func: func inp Tout stateful name
Print: input_ data message first_n summarize name
Assert: condition data summarize name
group: inputs
tuple: tensors name control_inputs
nn.softmax: logits axis name dim
nn.dropout: x keep_prob noise_shape seed name rate
nn.moments: x axes shift name keep_dims keepdims
nn.batch_normalization: x mean variance offset scale variance_epsilon name
nn.l2_normalize: x axis epsilon name dim
nn.conv2d: input filter strides padding use_cudnn_on_gpu data_format dilations name filters
nn.max_pool: value ksize strides padding data_format name input
nn.bias_add: value bias data_format name
nn.embedding_lookup: params ids partition_strategy name validate_indices max_norm
nn.softmax_cross_entropy_with_logits_v2: labels logits axis name dim
nn.sparse_softmax_cross_entropy_with_logits: labels logits name
nn.sigmoid_cross_entropy_with_logits: labels logits name
nn.weighted_cross_entropy_with_logits: labels logits pos_weight name targets
nn.top_k: input k sorted name
nn.in_top_k: predictions targets k name
nn.ctc_loss: labels inputs sequence_length preprocess_collapse_repeated ctc_merge_repeated time_major logits
nn.ctc_greedy_decoder: inputs sequence_length merge_repeated
nn.ctc_beam_search_decoder: inputs sequence_length beam_width top_paths merge_repeated
losses.mean_squared_error: labels predictions weights scope loss_collection reduction
losses.huber_loss: labels predictions weights delta scope loss_collection reduction
losses.log_loss: labels predictions weights epsilon scope loss_collection reduction
losses.hinge_loss: labels logits weights scope loss_collection reduction
losses.sigmoid_cross_entropy: multi_class_labels logits weights label_smoothing scope loss_collection reduction
losses.softmax_cross_entropy: onehot_labels logits weights label_smoothing scope loss_collection reduction
losses.sparse_softmax_cross_entropy: labels logits weights scope loss_collection reduction
train.exponential_decay: learning_rate global_step decay_steps decay_rate staircase name
train.polynomial_decay: learning_rate global_step decay_steps end_learning_rate power cycle name
train.piecewise_constant: x boundaries values name
train.replica_device_setter: ps_tasks ps_device worker_device merge_devices cluster ps_ops ps_strategy
"""


def _takes(tf, path, keyword):
    found = tf
    for part in path.split("."):
        found = getattr(found, part)
    parameters = inspect.signature(found).parameters
    by_name = keyword in parameters and parameters[keyword].kind is not inspect.Parameter.POSITIONAL_ONLY
    return by_name or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())


_path = ""
for _line in KEYWORDS.split("\n"):
    if _line and not _line.startswith(" "):
        _path, _, _line = _line.partition(":")
    for _keyword in _line.split():
        FAMILY.generated(
            "tf.%s takes %s" % (_path, _keyword),
            lambda tf, t, path=_path, keyword=_keyword: _takes(tf, path, keyword),
            "tf.%s(..., %s=...)" % (_path, _keyword),
        )
