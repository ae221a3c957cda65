"""Which dtype each function gives for a NumPy array of each dtype, or that it is refused.

An array has a dtype of its own: exp of float64 is float64, and exp of int32 is refused. `a(2, 3)` is an array of that
shape of the dtype under test, `a()` a NumPy scalar, `v(2, 3)` a variable. A case's result says for each dtype those of
the tensors that the function returns. Nothing is run, so what a device has no kernel for counts as well.
Where graphflow means to differ, numpy_dtypes_differences.txt says how and why.
"""

import os

import numpy as np
from harness import Family

FAMILY = Family("numpy_dtypes")

DTYPES = ("float16", "float32", "float64", "int32", "int64", "uint8", "bool", "complex64")


def _differences():
    """graphflow's own results, {expression: {dtype: result}}, from lines "EXPRESSION | DTYPE:RESULT ..."."""
    found = {}
    with open(
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "numpy_dtypes_differences.txt")
    ) as file:
        for line in file:
            if " | " in line:
                expression, _, results = line.rstrip("\n").rpartition(" | ")
                found[expression] = dict(word.split(":", 1) for word in results.split())
    return found


DIFFERENCES = _differences()


def _names(text):
    return text.split()


ONE = _names(
    """
abs acos acosh angle asin asinh atan atanh bitwise.invert ceil conj cos cosh diag digamma erf erfc exp expm1 floor
guarantee_const identity imag is_finite is_inf is_nan is_non_decreasing is_numeric_tensor is_strictly_increasing
lbeta lgamma log log1p log_sigmoid logical_not math.bessel_i0 math.bessel_i0e math.bessel_i1 math.bessel_i1e
negative nn.elu nn.l2_loss nn.leaky_relu nn.log_softmax nn.relu nn.relu6 nn.selu nn.sigmoid nn.softmax nn.softplus
nn.softsign nn.swish nn.tanh nn.zero_fraction nn.crelu ones_like rank real reciprocal rint round rsqrt shape sigmoid
sign sin sinh size sqrt square squeeze stop_gradient tan tanh to_bfloat16 to_complex128 to_complex64 to_double to_float
to_int32 to_int64
transpose zeros_like where argmax argmin global_norm convert_to_tensor constant as_string count_nonzero
random.shuffle sort argsort linalg.transpose linalg.adjoint reduce_all reduce_any reduce_logsumexp reduce_max
reduce_mean reduce_min reduce_prod reduce_sum math.reduce_euclidean_norm math.reduce_std math.reduce_variance cumsum
cumprod math.cumulative_logsumexp nn.top_k norm linalg.norm sparse.from_dense debugging.assert_integer
assert_negative assert_non_negative assert_non_positive assert_positive debugging.is_numeric_tensor
image.flip_left_right math.acos
"""
)

SQUARE = _names(
    """
cholesky linalg.det linalg.diag_part linalg.eigh linalg.eigvalsh linalg.inv linalg.logdet qr linalg.slogdet svd
trace diag_part linalg.cholesky matrix_inverse matrix_determinant self_adjoint_eig
"""
)

TWO = _names(
    """
add approximate_equal assert_equal assert_greater assert_greater_equal assert_less assert_less_equal
assert_none_equal atan2 bitwise.bitwise_and bitwise.bitwise_or bitwise.bitwise_xor bitwise.left_shift
bitwise.right_shift complex div div_no_nan divide equal floor_div floordiv greater greater_equal igamma igammac less
less_equal logical_and logical_or logical_xor math.nextafter maximum minimum mod multiply not_equal pow polygamma
realdiv squared_difference subtract truediv truncatediv truncatemod math.xdivy math.xlogy zeta debugging.assert_near
"""
)

IMAGE = _names(
    """
image.flip_left_right image.flip_up_down image.grayscale_to_rgb image.hsv_to_rgb image.image_gradients
image.per_image_standardization image.random_flip_left_right image.random_flip_up_down image.rgb_to_grayscale
image.rgb_to_hsv image.rgb_to_yiq image.rgb_to_yuv image.rot90 image.sobel_edges image.total_variation
image.transpose image.yiq_to_rgb image.yuv_to_rgb image.adjust_gamma
"""
)


def dtypes_of(tf, built):
    """The dtypes of a structure's tensors, in order, as text."""
    if isinstance(built, dict):
        return ",".join(dtypes_of(tf, built[key]) for key in sorted(built))
    if isinstance(built, (tf.SparseTensor, tf.IndexedSlices)):
        return type(built).__name__ + "/" + built.dtype.base_dtype.name
    if isinstance(built, (list, tuple)):
        return ",".join(dtypes_of(tf, part) for part in built)
    return built.dtype.base_dtype.name if hasattr(built, "dtype") else type(built).__name__


def _array(dtype, shape):
    values = (np.arange(int(np.prod(shape, dtype=np.int64))) % 3 + 1).reshape(shape)
    return (values % 2 if dtype == "bool" else values).astype(dtype)[()]


def outcome(tf, code, dtype):
    """What an expression gives for arrays of a dtype, "-" where it raises."""
    with tf.Graph().as_default():
        names = {
            "tf": tf,
            "np": np,
            "dtype": dtype,
            "gru": lambda: tf.nn.rnn_cell.GRUCell(2),
            "a": lambda *shape: _array(dtype, shape),
            "v": lambda *shape: tf.Variable(_array(dtype, shape)),
            "sp": lambda: tf.SparseTensor([[0, 1], [1, 0]], _array(dtype, (2,)), [2, 3]),
        }
        try:
            return dtypes_of(tf, eval(code, names))
        except Exception:
            return "-"


def outcomes(tf, code):
    """What an expression gives, dtype by dtype, as one line of text."""
    return " ".join("%s:%s" % (d, outcome(tf, code, d)) for d in DTYPES)


def table(block):
    """A case for each expression: what it gives for each dtype."""
    for line in [line.strip() for line in block.splitlines() if line.strip()]:
        code = compile(line, "<case>", "eval")
        FAMILY.generated(
            line, lambda tf, t, code=code: outcomes(tf, code), line, names="none",
            differs=DIFFERENCES.get(line, {}),
        )  # fmt: skip


for _name in ONE:
    table("tf.%s(a(2, 3))" % _name)
for _name in ("exp", "sqrt", "abs", "square", "floor", "negative", "nn.relu", "sigmoid", "is_nan"):
    table("tf.%s(a())" % _name)
    table("tf.%s([a(), a()])" % _name)
    table("tf.%s([a(3), a(3)])" % _name)
    table("tf.%s(v(3))" % _name)
for _name in SQUARE:
    table("tf.%s(a(2, 2))" % _name)
for _name in TWO:
    table("tf.%s(a(2, 3), a(3))" % _name)
    table("tf.%s(a(2, 3), 2)" % _name)
    table("tf.%s(2, a(2, 3))" % _name)
for _name in (
    "add",
    "multiply",
    "maximum",
    "pow",
    "equal",
    "truediv",
    "floordiv",
    "atan2",
    "squared_difference",
):
    table("tf.%s(a(2, 3), 2.5)" % _name)
    table("tf.%s(2.5, a(2, 3))" % _name)
    table("tf.%s(a(3), [1.0, 2.0, 3.0])" % _name)
    table("tf.%s([1, 2, 3], a(3))" % _name)
    table("tf.%s(a(3), True)" % _name)
    table("tf.%s(a(), a(3))" % _name)
    table("tf.%s(a(), 2)" % _name)
    table("tf.%s(v(3), a(3))" % _name)
    table("tf.%s(a(3), v(3))" % _name)
    table("tf.%s(v(3), 2)" % _name)
    table("tf.%s(tf.constant([1.0, 2.0]), a(2))" % _name)
    table("tf.%s(a(2), tf.constant([1.0, 2.0]))" % _name)
    table("tf.%s(tf.constant([1, 2]), a(2))" % _name)
for _symbol in ("+", "-", "*", "/", "//", "%", "**", "<", ">=", "&", "|", "^", "@"):
    table("tf.identity(a(2, 2)) %s a(2, 2)" % _symbol)
    table("a(2, 2) %s tf.identity(a(2, 2))" % _symbol)
    table("v(2, 2) %s a(2, 2)" % _symbol)
    table("tf.ones([2, 2]) %s a(2, 2)" % _symbol)
    if _symbol != "@":
        table("tf.identity(a(3)) %s 2" % _symbol)
        table("2 %s tf.identity(a(3))" % _symbol)
        table("tf.identity(a(3)) %s 2.5" % _symbol)
for _name in IMAGE:
    table(
        "tf.%s(a(4, 4, 1))" % _name
        if _name.endswith("to_rgb") and "gray" in _name
        else "tf.%s(a(4, 4, 3))" % _name
    )
    table("tf.%s(a(2, 4, 4, %d))" % (_name, 1 if "gray" in _name and _name.endswith("rgb") else 3))
for _name in ("absolute_difference", "hinge_loss", "huber_loss", "log_loss", "mean_pairwise_squared_error",
              "mean_squared_error", "sigmoid_cross_entropy", "softmax_cross_entropy"):  # fmt: skip
    table("tf.losses.%s(a(2, 3), a(2, 3))" % _name)
    table("tf.losses.%s(a(2, 3), a(2, 3), weights=a(2, 3))" % _name)
    table("tf.losses.%s(a(2, 3), np.ones([2, 3], np.float32))" % _name)
for _name in ("segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum"):
    table("tf.%s(a(3, 2), [0, 0, 1])" % _name)
    table("tf.%s(np.ones([3]), a(3))" % _name)
    table("tf.unsorted_%s(a(3, 2), [0, 0, 1], 2)" % _name)
    table("tf.unsorted_%s([1.0, 2.0, 3.0], a(3), 4)" % _name)
for _name in ("mean", "sqrt_n", "sum"):
    table("tf.sparse_segment_%s(a(3, 2), [0, 1], [0, 1])" % _name)
    table("tf.sparse_segment_%s(np.ones([4, 2]), a(3), [0, 0, 1])" % _name)
for _name in ("accuracy", "mean_absolute_error", "mean_squared_error", "root_mean_squared_error", "auc", "precision",
              "recall", "true_positives", "false_negatives", "false_positives", "true_negatives"):  # fmt: skip
    table("tf.metrics.%s(a(3), a(3))" % _name)
for _name in ("max", "min", "add", "sub", "mul", "div", "update"):
    table("tf.scatter_%s(v(3), [0, 1], a(2))" % _name)
    table("tf.scatter_%s(tf.Variable([1.0, 2.0, 3.0, 4.0]), a(2), [1.0, 2.0])" % _name)
for _name in ("add", "sub", "update"):
    table("tf.scatter_nd_%s(v(3), [[0], [1]], a(2))" % _name)
    table("tf.tensor_scatter_%s(a(3), [[0], [1]], a(2))" % _name)
    table("tf.tensor_scatter_%s(a(3), [[0], [1]], [1, 2])" % _name)
for _name in ("max_pool", "avg_pool"):
    table("tf.nn.%s(a(1, 4, 4, 2), [1, 2, 2, 1], [1, 2, 2, 1], 'SAME')" % _name)
    table("tf.nn.%s3d(a(1, 4, 4, 4, 2), [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], 'SAME')" % _name)
for _name in ("max_pooling", "average_pooling"):
    table("tf.layers.%s1d(a(1, 4, 2), 2, 2)" % _name)
    table("tf.layers.%s2d(a(1, 4, 4, 2), 2, 2)" % _name)
    table("tf.layers.%s3d(a(1, 4, 4, 4, 2), 2, 2)" % _name)
for _name in ("area", "bicubic", "bilinear", "nearest_neighbor"):
    table("tf.image.resize_%s(a(1, 4, 4, 3), [2, 2])" % _name)

table("""
tf.accumulate_n([a(3), a(3)])
tf.add_n([a(3), a(3)])
tf.add_n([a(3), 1])
tf.arg_max(a(2, 3), 1)
tf.arg_min(a(2, 3), 1)
tf.argmax(a(2, 3), 1)
tf.argmax(a(2, 3), a())
tf.argmin(a(2, 3), 1, output_type=tf.int32)
tf.assert_rank(a(2, 3), 2)
tf.assert_rank_at_least(a(2, 3), 1)
tf.assert_rank_in(a(2, 3), [1, 2])
tf.debugging.assert_shapes([(a(2, 3), (2, 3))])
tf.assert_scalar(a())
tf.assert_type(a(2), tf.float32)
tf.assign(v(3), a(3))
tf.assign(v(3), 2)
tf.assign(v(), 2.5)
tf.assign_add(v(3), a(3))
tf.assign_sub(v(3), a(3))
tf.assign(tf.Variable(1.0), a())
tf.Assert(True, [a(2)])
tf.grad_pass_through(tf.abs)(a(2))
tf.nn.avg_pool2d(a(1, 4, 4, 2), 2, 2, "SAME")
tf.nn.avg_pool1d(a(1, 4, 2), 2, 2, "SAME")
tf.fft(a(4))
tf.fft2d(a(3, 4))
tf.fft3d(a(2, 3, 4))
tf.ifft(a(4))
tf.ifft2d(a(3, 4))
tf.ifft3d(a(2, 3, 4))
tf.histogram_fixed_width_bins(a(3), a(2))
tf.math.multiply_no_nan(a(3), a(3))
tf.math.reciprocal_no_nan(a(3))
tf.nn.max_pool1d(a(1, 4, 2), 2, 2, "SAME")
tf.nn.avg_pool_v2(a(1, 4, 4, 2), 2, 2, "SAME")
tf.nn.max_pool_v2(a(1, 4, 4, 2), 2, 2, "SAME")
tf.nn.conv1d_transpose(a(1, 4, 2), a(2, 3, 2), [1, 4, 3], 1)
tf.nn.conv_transpose(a(1, 4, 2), a(2, 3, 2), [1, 4, 3], 1)
tf.nn.collapse_repeated(a(2, 3), [1, 2])
tf.nn.ctc_unique_labels(a(2, 3))
tf.nn.ctc_loss_v2(np.ones([2, 1], np.int32), a(3, 2, 4), [1, 1], [3, 3])
tf.nn.ctc_beam_search_decoder_v2(a(3, 2, 4), [3, 2])
tf.nn.all_candidate_sampler(a(2, 1), 1, 2, True)
tf.nn.compute_accidental_hits(a(2, 1), [1, 2], 1)
tf.nn.max_pool2d(a(1, 4, 4, 2), 2, 2, "SAME")
tf.unsorted_segment_sqrt_n(a(3, 2), [0, 0, 1], 2)
tf.Print(a(2), [a(2)])
tf.Variable(a(2))
tf.Variable(a(2), dtype=tf.float32)
tf.get_variable("x", initializer=a(2))
tf.get_variable("x", initializer=a(2), dtype=tf.float64)
tf.batch_gather(a(2, 3), [[0], [1]])
tf.batch_gather(np.ones([3, 4]), a(3, 1))
tf.batch_scatter_update(v(2, 2), [[0], [1]], a(2, 1))
tf.batch_scatter_update(tf.Variable([[1.0], [2.0]]), a(2, 1), [[1.0], [2.0]])
tf.batch_to_space(a(4, 1, 1, 1), [[0, 0], [0, 0]], 2)
tf.batch_to_space_nd(a(4, 1, 1, 1), [2, 2], [[0, 0], [0, 0]])
tf.betainc(a(3), a(3), a(3))
tf.betainc(a(3), 1.0, 0.5)
tf.bincount(a(3))
tf.bincount([1, 2, 1], weights=a(3))
tf.bitcast(a(2, 4), tf.uint8)
tf.boolean_mask(a(3), [True, False, True])
tf.boolean_mask([1, 2, 3], a(3))
tf.broadcast_dynamic_shape(a(2), a(2))
tf.broadcast_to(a(3), [2, 3])
tf.broadcast_to([1.0], a(1))
tf.case([(tf.constant(True), lambda: a(2))], default=lambda: a(2))
tf.cond(tf.constant(True), lambda: a(2), lambda: a(2))
tf.cond(tf.constant(True), lambda: a(2), lambda: tf.ones([2]))
tf.switch_case(tf.constant(0), [lambda: a(2), lambda: tf.ones([2])])
tf.while_loop(lambda x: tf.reduce_all(tf.equal(x, x)), lambda x: tf.identity(x), [a(2)])
tf.cast(a(3), tf.float32)
tf.cast(a(3), tf.int32)
tf.saturate_cast(a(3), tf.int32)
tf.check_numerics(a(3), "bad")
tf.verify_tensor_all_finite(a(3), "bad")
tf.cholesky_solve(a(2, 2), a(2, 1))
tf.clip_by_average_norm(a(3), 1.0)
tf.clip_by_global_norm([a(3), a(2)], 1.0)
tf.clip_by_norm(a(3), 1.0)
tf.clip_by_norm(a(3), a())
tf.clip_by_value(a(3), 1, 2)
tf.clip_by_value(a(3), 1.0, 2.0)
tf.clip_by_value(a(3), a(), a())
tf.clip_by_value([1.0, 2.0], a(), a())
tf.complex(a(3), [1.0, 2.0, 3.0])
tf.complex(1.0, a(3))
tf.concat([a(2), a(2)], 0)
tf.concat([a(2), [1, 2]], 0)
tf.concat([[1.0, 2.0], a(2)], 0)
tf.concat([tf.ones([2]), a(2)], 0)
tf.concat([[1], [2]], a())
tf.confusion_matrix(a(3), a(3))
tf.confusion_matrix([1, 2, 1], [1, 1, 1], weights=a(3), dtype=tf.float64)
tf.convert_to_tensor(a(3), dtype=tf.float32)
tf.convert_to_tensor(a(3), dtype=tf.int64)
tf.convert_to_tensor(a(3), preferred_dtype=tf.float32)
tf.convert_to_tensor(a(3), preferred_dtype=tf.int64)
tf.convert_to_tensor([a(), 1])
tf.convert_to_tensor([a(2), [1.0, 2.0]])
tf.convert_to_tensor([a(2), tf.ones([2])])
tf.convert_to_tensor([tf.identity(a(2)), [1, 2]])
tf.convert_n_to_tensor([a(2), a()])
tf.constant(a(3), dtype=tf.float32)
tf.constant(a(3), tf.int32)
tf.constant(a(3), tf.complex64)
tf.constant(a(3), tf.bool)
tf.constant(a(), shape=[2])
tf.constant([a(), a()])
tf.count_up_to(v(), 5)
tf.cross(a(3), a(3))
tf.cumsum(a(3), a())
tf.cumsum(a(3), exclusive=True)
tf.cumprod(a(3), reverse=True)
tf.custom_gradient(lambda x: (x, lambda g: g))(a(2))
tf.depth_to_space(a(1, 1, 1, 4), 2)
tf.diag(a(2))
tf.div(a(3), 2.0)
tf.dynamic_partition(a(3), [0, 1, 0], 2)
tf.dynamic_partition([1.0, 2.0, 3.0], a(3), 4)
tf.dynamic_stitch([[0, 1], [2]], [a(2), a(1)])
tf.dynamic_stitch([a(2), [1]], [[1.0, 2.0], [3.0]])
tf.edit_distance(sp(), sp())
tf.einsum("ij,jk->ik", a(2, 3), a(3, 2))
tf.einsum("ij->ji", a(2, 3))
tf.einsum("ij,ij->", a(2, 3), np.ones([2, 3], np.float32))
tf.ensure_shape(a(3), [3])
tf.expand_dims(a(3), 0)
tf.expand_dims([1.0], a())
tf.extract_image_patches(a(1, 4, 4, 1), [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
tf.extract_volume_patches(a(1, 2, 2, 2, 1), [1, 1, 1, 1, 1], [1, 1, 1, 1, 1], "VALID")
tf.eye(2, dtype=tf.float64)
tf.eye(a())
tf.fill([2], a())
tf.fill(a(2), 1.0)
tf.foldl(lambda total, x: total + x, a(3))
tf.foldr(lambda total, x: total + x, a(3))
tf.foldl(lambda total, x: total + x, a(3), initializer=a())
tf.map_fn(lambda x: x, a(3))
tf.scan(lambda total, x: total + x, a(3))
tf.gather(a(3), [0, 1])
tf.gather([1.0, 2.0, 3.0, 4.0], a(2))
tf.gather(v(3), [0, 1])
tf.gather_nd(a(3), [[0], [1]])
tf.gather_nd([1.0, 2.0, 3.0, 4.0], a(1, 1))
tf.gradients(tf.constant([1.0]), [a(2)])
tf.gradients(*(lambda x: (x * x, [x], [1.0, 2.0]))(tf.identity(a(2))))
tf.histogram_fixed_width(a(3), [0.0, 5.0])
tf.histogram_fixed_width(a(3), a(2))
tf.histogram_fixed_width([1.0, 2.0], a(2))
tf.identity_n([a(2), a(3)])
tf.group(tf.identity(a(2)))
tf.tuple([tf.identity(a(2))])
tf.invert_permutation(a(3))
tf.linspace(a(), 10.0, 3)
tf.linspace(1.0, a(), 3)
tf.linspace(1.0, 2.0, a())
tf.linspace(a(), a(), 3)
tf.linalg.band_part(a(2, 2), 1, 0)
tf.linalg.band_part(np.ones([2, 2]), a(), a())
tf.linalg.diag(a(2))
tf.random.stateless_multinomial(a(1, 2), 3, seed=[1, 2])
tf.random.stateless_categorical(a(1, 2), 3, seed=[1, 2])
tf.random.stateless_uniform([3], [1, 2], a(), 5)
tf.random.stateless_normal([3], [1, 2], a())
tf.random.stateless_truncated_normal([3], [1, 2], a())
tf.py_function(lambda x: x, [a(2)], tf.float32)
tf.linalg.expm(a(2, 2))
tf.linalg.logm(a(2, 2))
tf.linalg.sqrtm(a(2, 2))
tf.fake_quant_with_min_max_args(a(3))
tf.fake_quant_with_min_max_args_gradient(a(3), a(3))
tf.fake_quant_with_min_max_vars(a(3), -1.0, 1.0)
tf.fake_quant_with_min_max_vars_gradient(a(3), a(3), -1.0, 1.0)
tf.fake_quant_with_min_max_vars_per_channel(a(2, 1), [-1.0], [1.0])
tf.fake_quant_with_min_max_vars_per_channel_gradient(a(2, 1), a(2, 1), [-1.0], [1.0])
tf.nn.dilation2d(a(1, 4, 4, 1), a(2, 2, 1), [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
tf.nn.erosion2d(a(1, 4, 4, 1), a(2, 2, 1), [1, 1, 1, 1], [1, 1, 1, 1], "VALID")
tf.linalg.pinv(a(2, 2))
tf.linalg.normalize(a(2, 2))[0]
tf.linalg.tridiagonal_matmul(a(3, 2), a(2, 1))
tf.linalg.lstsq(a(2, 2), a(2, 1))
tf.linalg.matvec(a(2, 2), a(2))
tf.linalg.set_diag(a(2, 2), a(2))
tf.linalg.solve(a(2, 2), a(2, 1))
tf.linalg.solve(a(2, 2), np.ones([2, 1], np.float32))
tf.linalg.triangular_solve(a(2, 2), a(2, 1))
tf.matmul(a(2, 3), a(3, 2))
tf.matmul(a(2, 3), [[1.0], [2.0], [3.0]])
tf.matmul([[1.0, 2.0]], a(2, 2))
tf.matmul([[1, 2]], a(2, 2))
tf.matmul(a(2, 3), a(3, 2), a_is_sparse=True)
tf.matmul(a(1, 2, 3), a(1, 3, 2))
tf.matmul(tf.ones([2, 3]), a(3, 2))
tf.matmul(a(2, 3), a(2, 3), transpose_b=True)
tf.matmul(a(2, 3), a(2, 3), adjoint_b=True)
tf.tensordot(a(2, 3), a(3, 2), 1)
tf.tensordot(a(2, 3), [[1.0], [2.0], [3.0]], 1)
tf.sparse_matmul(a(2, 3), a(3, 2))
tf.meshgrid(a(2), a(3))
tf.meshgrid(a(2), [1.0, 2.0])
tf.multinomial(a(2, 3), 2)
tf.random.categorical(a(2, 3), 2)
tf.math.polyval([a(), a()], a(3))
tf.math.polyval([1.0, 2.0], a(3))
tf.nn.l2_normalize(a(2, 3), 1)
tf.nn.ctc_loss(tf.SparseTensor([[0, 0]], tf.constant([1]), [1, 1]), a(3, 1, 4), [3])
tf.nn.ctc_loss(tf.SparseTensor([[0, 0]], tf.constant([1]), [1, 1]), np.ones([3, 2, 4], np.float32), a(2))
tf.nn.ctc_greedy_decoder(a(3, 2, 4), [3, 2])
tf.nn.ctc_greedy_decoder(np.ones([3, 2, 4], np.float32), a(2))
tf.nn.ctc_beam_search_decoder(a(3, 2, 4), [3, 2])
tf.nn.ctc_beam_search_decoder(np.ones([3, 2, 4], np.float32), a(2))
tf.nn.in_top_k(a(2, 3), [0, 1], 1)
tf.nn.in_top_k(np.ones([3, 4], np.float32), a(3), 1)
tf.nn.top_k(a(2, 3), 2)
tf.nn.atrous_conv2d(a(1, 4, 4, 2), a(2, 2, 2, 3), 2, "VALID")
tf.nn.atrous_conv2d_transpose(a(1, 4, 4, 2), a(2, 2, 3, 2), [1, 6, 6, 3], 2, "VALID")
tf.nn.batch_norm_with_global_normalization(a(1, 2, 2, 3), a(3), a(3), a(3), a(3), 0.1, True)
tf.nn.batch_normalization(a(2, 3), a(3), a(3), a(3), a(3), 0.1)
tf.nn.batch_normalization(a(2, 3), a(3), a(3), None, None, 0.1)
tf.nn.batch_normalization(a(2, 3), 1.0, 1.0, 0.0, 1.0, 0.1)
tf.nn.bias_add(a(2, 3), a(3))
tf.nn.bias_add(a(2, 3), [1.0, 2.0, 3.0])
tf.nn.bias_add(a(2, 3), [1, 2, 3])
tf.nn.conv1d(a(1, 4, 2), a(2, 2, 3), 1, "SAME")
tf.nn.conv2d(a(1, 4, 4, 2), a(2, 2, 2, 3), [1, 1, 1, 1], "SAME")
tf.nn.conv2d(a(1, 4, 4, 2), np.ones([2, 2, 2, 3], np.float32), [1, 1, 1, 1], "SAME")
tf.nn.conv2d_backprop_filter(a(1, 4, 4, 2), [2, 2, 2, 3], a(1, 4, 4, 3), [1, 1, 1, 1], "SAME")
tf.nn.conv2d_backprop_input([1, 4, 4, 2], a(2, 2, 2, 3), a(1, 4, 4, 3), [1, 1, 1, 1], "SAME")
tf.nn.conv2d_transpose(a(1, 4, 4, 3), a(2, 2, 2, 3), [1, 4, 4, 2], [1, 1, 1, 1])
tf.nn.conv3d(a(1, 4, 4, 4, 2), a(2, 2, 2, 2, 3), [1, 1, 1, 1, 1], "SAME")
tf.nn.conv3d_transpose(a(1, 4, 4, 4, 3), a(2, 2, 2, 2, 3), [1, 4, 4, 4, 2], [1, 1, 1, 1, 1])
tf.nn.convolution(a(1, 4, 4, 2), a(2, 2, 2, 3), "SAME")
tf.nn.depthwise_conv2d(a(1, 4, 4, 2), a(2, 2, 2, 1), [1, 1, 1, 1], "SAME")
tf.nn.depthwise_conv2d_native(a(1, 4, 4, 2), a(2, 2, 2, 1), [1, 1, 1, 1], "SAME")
tf.nn.separable_conv2d(a(1, 4, 4, 2), a(2, 2, 2, 1), a(1, 1, 2, 3), [1, 1, 1, 1], "SAME")
tf.nn.dropout(a(3), 0.5)
tf.nn.dropout(a(3), rate=0.5)
tf.nn.dropout(a(3), rate=a())
tf.nn.embedding_lookup(a(3, 2), [0, 1])
tf.nn.embedding_lookup(np.ones([4, 2], np.float32), a(2))
tf.nn.embedding_lookup([a(3, 2), a(3, 2)], [0, 1])
tf.nn.safe_embedding_lookup_sparse(a(3, 2), tf.SparseTensor([[0, 0]], np.array([1], np.int64), [1, 1]))
tf.nn.embedding_lookup_sparse(a(3, 2), tf.SparseTensor([[0, 0]], np.array([1], np.int64), [1, 1]), None)
tf.nn.fused_batch_norm(a(1, 2, 2, 3), a(3), a(3))
tf.nn.fused_batch_norm(a(1, 2, 2, 3), np.ones([3], np.float32), np.ones([3], np.float32))
tf.nn.leaky_relu(a(3), alpha=0.1)
tf.nn.leaky_relu(a(3), a())
tf.nn.log_poisson_loss(a(3), a(3))
tf.nn.log_poisson_loss(a(3), a(3), compute_full_loss=True)
tf.nn.log_softmax(a(2, 3), axis=0)
tf.nn.softmax(a(2, 3), axis=0)
tf.nn.lrn(a(1, 2, 2, 3))
tf.nn.local_response_normalization(a(1, 2, 2, 3))
tf.nn.max_pool_with_argmax(a(1, 4, 4, 2), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
tf.nn.moments(a(2, 3), [0])
tf.nn.weighted_moments(a(2, 3), [0], a(2, 3))
tf.nn.weighted_moments(a(2, 3), [0], 1.0)
tf.nn.sufficient_statistics(a(2, 3), [0])
tf.nn.normalize_moments(a(), a(3), a(3), a(3))
tf.nn.normalize_moments(6.0, a(3), a(3), None)
tf.nn.pool(a(1, 4, 4, 2), [2, 2], "MAX", "SAME")
tf.nn.relu_layer(a(2, 3), a(3, 2), a(2))
tf.nn.xw_plus_b(a(2, 3), a(3, 2), a(2))
tf.nn.sigmoid_cross_entropy_with_logits(labels=a(3), logits=a(3))
tf.nn.sigmoid_cross_entropy_with_logits(labels=a(3), logits=np.ones([3], np.float32))
tf.nn.softmax_cross_entropy_with_logits(labels=a(2, 3), logits=a(2, 3))
tf.nn.softmax_cross_entropy_with_logits_v2(labels=a(2, 3), logits=a(2, 3))
tf.nn.softmax_cross_entropy_with_logits_v2(labels=a(2, 3), logits=np.ones([2, 3], np.float32))
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=a(2), logits=np.ones([2, 4], np.float32))
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1], logits=a(2, 3))
tf.nn.weighted_cross_entropy_with_logits(labels=a(3), logits=a(3), pos_weight=2.0)
tf.nn.weighted_cross_entropy_with_logits(labels=a(3), logits=a(3), pos_weight=a())
tf.nn.log_uniform_candidate_sampler(a(2, 1), 1, 2, True, 10)
tf.nn.uniform_candidate_sampler(a(2, 1), 1, 2, True, 10)
tf.nn.fixed_unigram_candidate_sampler(a(2, 1), 1, 2, True, 2, unigrams=[1.0, 2.0])
tf.nn.learned_unigram_candidate_sampler(a(2, 1), 1, 2, True, 10)
tf.nn.nce_loss(a(10, 3), a(10), np.ones([2, 1], np.int64), a(2, 3), 2, 10)
tf.nn.sampled_softmax_loss(a(10, 3), a(10), np.ones([2, 1], np.int64), a(2, 3), 2, 10)
tf.nn.static_rnn(tf.nn.rnn_cell.BasicRNNCell(2), [a(2, 3)], dtype=tf.float32)
tf.nn.static_rnn(tf.nn.rnn_cell.BasicRNNCell(2), [tf.identity(a(2, 3))], dtype=dtype)
tf.nn.static_bidirectional_rnn(gru(), gru(), [tf.identity(a(2, 3))], dtype=dtype)
tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(2), a(2, 3, 3), dtype=dtype)
tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(2), np.ones([2, 3, 3], np.float32), a(2), dtype=tf.float32)
tf.nn.bidirectional_dynamic_rnn(tf.nn.rnn_cell.GRUCell(2), tf.nn.rnn_cell.GRUCell(2), a(2, 3, 3), dtype=dtype)
tf.one_hot(a(3), 4)
tf.one_hot([0, 1], 4, on_value=a())
tf.one_hot([0, 1], 4, on_value=a(), off_value=0)
tf.one_hot([0, 1], a())
tf.ones_like(a(3), dtype=tf.float64)
tf.ones(a(2))
tf.zeros(a(2))
tf.zeros([2], dtype)
tf.pad(a(3), [[1, 1]])
tf.pad(a(3), [[1, 1]], constant_values=a())
tf.pad(a(3), [[1, 1]], constant_values=2)
tf.pad([1.0, 2.0], a(1, 2))
tf.pad(a(3), [[1, 1]], "REFLECT")
tf.parallel_stack([a(2), a(2)])
tf.placeholder_with_default(a(3), [3])
tf.py_func(lambda x: x, [a(3)], dtype)
tf.numpy_function(lambda x: x, [a(3)], dtype)
tf.random.gamma([2], a(3))
tf.random.gamma([2], a(3), dtype=tf.float64)
tf.random.gamma(a(2), 1.0)
tf.random.normal([2], a(), 1.0)
tf.random.normal([2], a(), a(), dtype=tf.float64)
tf.random.normal(a(2))
tf.random.poisson(a(3), [2])
tf.random.uniform([2], a(), 10.0)
tf.random.uniform([2], a(), a(), dtype=tf.int32)
tf.random.uniform(a(2))
tf.truncated_normal([2], a())
tf.random_crop(a(4, 4), [2, 2])
tf.range(a())
tf.range(a(), 10)
tf.range(0, a(), 2.0)
tf.range(0, 10, a())
tf.range(a(), 5, dtype=tf.float32)
tf.range(a(), 5.0)
tf.reduce_sum(a(2, 3), 0)
tf.reduce_sum(a(2, 3), a())
tf.reduce_sum([a(), a()])
tf.reduce_sum([a(2), a(2)])
tf.reduce_mean(a(2, 3), 1, keepdims=True)
tf.reduce_any(a(2), 0)
tf.reduce_join(tf.as_string(a(2)))
tf.repeat(a(3), 2)
tf.repeat([1.0, 2.0], a(2))
tf.reshape(a(4), [2, 2])
tf.reshape([1.0], a(1))
tf.reverse(a(3), [0])
tf.reverse([[1.0]], a(1))
tf.reverse_sequence(a(2, 3), [1, 2], 1, 0)
tf.reverse_sequence(np.ones([3, 4]), a(3), 1, 0)
tf.roll(a(3), 1, 0)
tf.roll([1.0], a(), 0)
tf.scalar_mul(a(), a(3))
tf.scalar_mul(2.0, a(3))
tf.scalar_mul(2, a(3))
tf.scalar_mul(a(), tf.ones([2]))
tf.scatter_nd([[0], [1]], a(2), [3])
tf.scatter_nd(a(2, 1), [1.0, 2.0], [5])
tf.searchsorted(a(3), a(2))
tf.searchsorted([1.0, 2.0], a(2))
tf.sequence_mask(a(2))
tf.sequence_mask(a(2), 5)
tf.sequence_mask([1, 2], a())
tf.sequence_mask([1, 2], dtype=dtype)
tf.setdiff1d(a(3), a(2))
tf.shape(a(3), out_type=tf.int64)
tf.shape_n([a(3), a(2)])
tf.slice(a(3), [0], [2])
tf.slice([1.0, 2.0, 3.0], a(1), [1])
tf.required_space_to_batch_paddings(a(2), [2, 2])
tf.space_to_batch(a(1, 2, 2, 1), [[0, 0], [0, 0]], 2)
tf.space_to_batch_nd(a(1, 2, 2, 1), [2, 2], [[0, 0], [0, 0]])
tf.space_to_depth(a(1, 2, 2, 1), 2)
tf.SparseTensor([[0, 1]], a(1), [2, 2])
tf.SparseTensor(a(1, 2), [1.0], [5, 5])
tf.sparse.add(sp(), sp())
tf.sparse.add(sp(), a(2, 3))
tf.sparse.add(sp(), sp(), threshold=1)
tf.sparse.concat(0, [sp(), sp()])
tf.sparse.fill_empty_rows(sp(), a())
tf.sparse.fill_empty_rows(sp(), 0)
tf.sparse.reduce_max(sp())
tf.sparse.reduce_sum(sp())
tf.sparse.reorder(sp())
tf.sparse.reshape(sp(), [6])
tf.sparse.cross([sp(), sp()])
tf.sparse.cross_hashed([sp(), sp()], 5)
tf.sparse.retain(sp(), [True, False])
tf.sparse.slice(sp(), [0, 0], [1, 1])
tf.sparse.sparse_dense_matmul(sp(), a(3, 2))
tf.sparse.sparse_dense_matmul(sp(), np.ones([3, 2], np.float32))
tf.sparse.to_dense(sp())
tf.sparse.to_dense(sp(), default_value=0)
tf.sparse.to_dense(sp(), default_value=a())
tf.sparse.transpose(sp())
tf.sparse_to_dense([0, 1], [3], a(2))
tf.sparse_to_dense([0, 1], [3], a(2), a())
tf.sparse_to_dense(a(1), [5], [1.0])
tf.sqrt(sp())
tf.abs(sp())
tf.negative(sp())
tf.square(sp())
tf.tanh(sp())
tf.erf(sp())
tf.sign(sp())
tf.cast(sp(), tf.float32)
tf.split(a(4), 2)
tf.split([1.0, 2.0, 3.0], a(2))
tf.squeeze(a(1, 3), [0])
tf.stack([a(2), a(2)])
tf.stack([a(2), [1, 2]])
tf.stack([[1.0, 2.0], a(2)])
tf.stack([a(2), tf.ones([2])])
tf.strided_slice(a(3), [0], [2], [1])
tf.strings.format("{}", [a(2)])
tf.string_to_hash_bucket_fast(["1"], 3)
tf.string_to_number(["1"], dtype)
tf.tile(a(3), [2])
tf.tile([1.0], a(1))
tf.transpose(a(2, 3), [1, 0])
tf.transpose(a(2, 3), conjugate=True)
tf.transpose([[1.0], [2.0]], a(2))
tf.unique(a(3))
tf.unique_with_counts(a(3))
tf.unravel_index(a(2), [3, 3])
tf.unravel_index([1, 2], a(2))
tf.unstack(a(3))
tf.where([True, False], a(2), a(2))
tf.where([True, False], a(2), [1.0, 2.0])
tf.where([True, False], [1, 2], a(2))
tf.where(a(2), [1.0, 2.0], [3.0, 4.0])
tf.where_v2([True, False], a(2), 0)
tf.zeros_like(a(3), dtype=tf.float64)
tf.expand_dims(a(3), axis=-1)[0]
tf.identity(a(3))[a()]
tf.distributions.Bernoulli(logits=a(3)).probs
tf.distributions.Bernoulli(probs=a(3)).mean()
tf.distributions.Bernoulli(probs=[0.5]).log_prob(a(1))
tf.distributions.Beta(a(3), a(3)).mean()
tf.distributions.DirichletMultinomial(a(3), [[0.5]]).mean()
tf.distributions.Beta(a(3), 2.0).sample()
tf.distributions.Categorical(logits=a(3)).entropy()
tf.distributions.Categorical(probs=a(3)).logits
tf.distributions.Categorical(logits=[0.1, 0.2, 0.3, 0.4]).log_prob(a(1))
tf.distributions.Dirichlet(a(3)).mean()
tf.distributions.Exponential(a(3)).mean()
tf.distributions.Exponential(1.0).log_prob(a(3))
tf.distributions.Gamma(a(3), a(3)).mean()
tf.distributions.Laplace(a(3), a(3)).mean()
tf.distributions.Laplace(0.0, 1.0).prob(a(3))
tf.distributions.Multinomial(a(), logits=a(3)).mean()
tf.distributions.Multinomial(4.0, probs=a(3)).mean()
tf.distributions.Normal(a(3), a(3)).mean()
tf.distributions.Normal(a(3), 1.0).sample()
tf.distributions.Normal(0.0, 1.0).log_prob(a(3))
tf.distributions.Normal(0.0, 1.0).cdf(a(3))
tf.distributions.StudentT(a(3), a(3), a(3)).mean()
tf.distributions.Uniform(a(3), a(3)).mean()
tf.distributions.Uniform().prob(a(3))
tf.distributions.kl_divergence(tf.distributions.Normal(a(2), a(2)), tf.distributions.Normal(a(2), a(2)))
tf.image.adjust_brightness(a(4, 4, 3), 0.1)
tf.image.adjust_contrast(a(4, 4, 3), 2.0)
tf.image.adjust_gamma(a(4, 4, 3), 2.0, 2.0)
tf.image.adjust_hue(a(4, 4, 3), 0.1)
tf.image.adjust_saturation(a(4, 4, 3), 0.5)
tf.image.adjust_jpeg_quality(a(4, 4, 3), 50)
tf.image.central_crop(a(4, 4, 3), 0.5)
tf.image.combined_non_max_suppression(a(1, 3, 1, 4), a(1, 3, 1), 2, 2)
tf.image.convert_image_dtype(a(4, 4, 3), tf.float32)
tf.image.convert_image_dtype(a(4, 4, 3), tf.uint8)
tf.image.convert_image_dtype(a(4, 4, 3), tf.int32, saturate=True)
tf.image.crop_and_resize(a(1, 4, 4, 3), [[0.0, 0.0, 1.0, 1.0]], [0], [2, 2])
tf.image.crop_and_resize(np.ones([1, 4, 4, 3], np.float32), a(1, 4), [0], [2, 2])
tf.image.crop_to_bounding_box(a(4, 4, 3), 0, 0, 2, 2)
tf.image.draw_bounding_boxes(a(1, 4, 4, 3), [[[0.0, 0.0, 1.0, 1.0]]])
tf.image.draw_bounding_boxes(np.ones([1, 4, 4, 3], np.float32), a(1, 1, 4))
tf.image.encode_png(a(4, 4, 3))
tf.image.encode_jpeg(a(4, 4, 3))
tf.image.extract_glimpse(a(1, 4, 4, 3), [2, 2], [[0.0, 0.0]])
tf.image.extract_patches(a(1, 4, 4, 1), [1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], "VALID")
tf.image.non_max_suppression(a(3, 4), a(3), 2)
tf.image.non_max_suppression(a(3, 4), [0.1, 0.2, 0.3], 2)
tf.image.non_max_suppression_overlaps(a(3, 3), a(3), 2)
tf.image.non_max_suppression_padded(a(3, 4), a(3), 2)
tf.image.non_max_suppression_with_scores(a(3, 4), a(3), 2)
tf.image.pad_to_bounding_box(a(4, 4, 3), 0, 0, 6, 6)
tf.image.psnr(a(4, 4, 3), a(4, 4, 3), 1.0)
tf.image.random_brightness(a(4, 4, 3), 0.1)
tf.image.random_contrast(a(4, 4, 3), 0.5, 1.5)
tf.image.random_hue(a(4, 4, 3), 0.1)
tf.image.random_saturation(a(4, 4, 3), 0.5, 1.5)
tf.image.random_jpeg_quality(a(4, 4, 3), 40, 60)
tf.image.resize_images(a(4, 4, 3), [2, 2])
tf.image.resize_images(a(4, 4, 3), [2, 2], tf.image.ResizeMethod.NEAREST_NEIGHBOR)
tf.image.resize_images(np.ones([4, 4, 3]), a(2))
tf.image.resize_image_with_pad(a(4, 4, 3), 6, 6)
tf.image.resize_with_crop_or_pad(a(4, 4, 3), 2, 6)
tf.image.sample_distorted_bounding_box(a(3), [[[0.0, 0.0, 1.0, 1.0]]])
tf.image.sample_distorted_bounding_box([4, 4, 3], a(1, 1, 4))
tf.image.ssim(a(12, 12, 3), a(12, 12, 3), 1.0)
tf.image.ssim_multiscale(a(192, 192, 1), a(192, 192, 1), 1.0)
tf.layers.batch_normalization(a(2, 3))
tf.layers.batch_normalization(a(2, 4, 4, 3), training=True)
tf.layers.conv1d(a(1, 4, 2), 3, 2)
tf.layers.conv2d(a(1, 4, 4, 2), 3, 2)
tf.layers.conv2d_transpose(a(1, 4, 4, 2), 3, 2)
tf.layers.conv3d(a(1, 4, 4, 4, 2), 3, 2)
tf.layers.conv3d_transpose(a(1, 4, 4, 4, 2), 3, 2)
tf.layers.dense(a(2, 3), 2)
tf.layers.dense(a(2, 2, 3), 2, activation=tf.nn.relu)
tf.layers.dropout(a(2, 3), training=True)
tf.layers.flatten(a(2, 3, 4))
tf.layers.separable_conv1d(a(1, 4, 2), 3, 2)
tf.layers.separable_conv2d(a(1, 4, 4, 2), 3, 2)
tf.losses.add_loss(tf.reduce_sum(tf.identity(a(2))))
tf.losses.compute_weighted_loss(a(3))
tf.losses.compute_weighted_loss(a(3), a(3))
tf.losses.compute_weighted_loss([1.0, 2.0, 3.0], a(3))
tf.losses.cosine_distance(a(2, 3), a(2, 3), 1)
tf.losses.sparse_softmax_cross_entropy(a(2), np.ones([2, 4], np.float32))
tf.losses.sparse_softmax_cross_entropy([0, 1], a(2, 3))
tf.metrics.accuracy(a(3), a(3), weights=a(3))
tf.metrics.mean(a(3))
tf.metrics.mean(a(3), weights=a(3))
tf.metrics.mean([1.0, 2.0, 3.0], weights=a(3))
tf.metrics.mean_tensor(a(3))
tf.metrics.mean_cosine_distance(a(2, 3), a(2, 3), 1)
tf.metrics.mean_iou(a(3), a(3), 4)
tf.metrics.mean_per_class_accuracy(a(3), a(3), 4)
tf.metrics.mean_relative_error(a(3), a(3), a(3))
tf.metrics.percentage_below(a(3), 2.0)
tf.metrics.precision_at_k(np.ones([2, 1], np.int64), a(2, 3), 2)
tf.metrics.average_precision_at_k(np.ones([2, 1], np.int64), a(2, 3), 2)
tf.metrics.precision_at_k(a(2, 1), np.ones([2, 3], np.float32), 2)
tf.metrics.recall_at_k(np.ones([2, 1], np.int64), a(2, 3), 2)
tf.metrics.precision_at_top_k(np.ones([2, 1], np.int64), a(2, 3), 2)
tf.metrics.recall_at_top_k(np.ones([2, 1], np.int64), a(2, 3), 2)
tf.metrics.precision_at_thresholds(a(3), a(3), [0.5])
tf.metrics.recall_at_thresholds(a(3), a(3), [0.5])
tf.metrics.false_negatives_at_thresholds(a(3), a(3), [0.5])
tf.metrics.false_positives_at_thresholds(a(3), a(3), [0.5])
tf.metrics.true_negatives_at_thresholds(a(3), a(3), [0.5])
tf.metrics.true_positives_at_thresholds(a(3), a(3), [0.5])
tf.metrics.sensitivity_at_specificity(a(3), a(3), 0.5)
tf.metrics.specificity_at_sensitivity(a(3), a(3), 0.5)
tf.train.exponential_decay(a(), 1, 2, 0.5)
tf.train.exponential_decay(0.1, a(), 2, 0.5)
tf.train.cosine_decay(a(), 1, 2)
tf.train.cosine_decay_restarts(a(), 1, 2)
tf.train.linear_cosine_decay(a(), 1, 2)
tf.train.inverse_time_decay(a(), 1, 2, 0.5)
tf.train.natural_exp_decay(a(), 1, 2, 0.5)
tf.train.piecewise_constant(a(), [1, 2], [0.1, 0.2, 0.3])
tf.train.piecewise_constant(1, [1, 2], [a(), a(), a()])
tf.train.polynomial_decay(a(), 1, 2)
tf.train.limit_epochs(a(2), 1)
tf.summary.scalar("s", a())
tf.summary.histogram("s", a(3))
tf.summary.image("s", a(1, 4, 4, 3))
tf.summary.audio("s", a(1, 4), 100.0)
tf.data.Dataset.from_tensors(a(2)).make_one_shot_iterator().get_next()
tf.data.Dataset.from_tensor_slices((a(2), [1.0, 2.0])).map(lambda x, y: x).make_one_shot_iterator().get_next()
tf.train.batch([a(3)], 2)
tf.FIFOQueue(2, [dtype], shapes=[[]]).enqueue(a())
tf.FIFOQueue(2, [tf.float32], shapes=[[]]).enqueue(a())
tf.FIFOQueue(2, [dtype], shapes=[[]]).enqueue_many([a(2)])
tf.TensorArray(dtype, 2).unstack(a(2)).stack()
tf.TensorArray(tf.float32, 2).write(0, a()).stack()
tf.nn.rnn_cell.BasicLSTMCell(2)(tf.identity(a(2, 3)), tf.nn.rnn_cell.BasicLSTMCell(2).zero_state(2, dtype))[0]
""")
