"""One op a case, at three sizes: what `ops.py` measures, written once for every module with TensorFlow 1's Python API.

Runs under Python 3.7 too, for TensorFlow 1.15: no newer syntax here. The ops are those that public TensorFlow 1
programs call most. A case takes its operands from variables: nothing is fed or folded. Its results are fetched, since
TensorFlow leaves out what nobody takes. Its gradient is that of the results with respect to each floating operand, and
the gradients of the results are variables as well.
"""

import collections

import numpy as np

SIZES = {"small": 1000, "middle": 60000, "large": 2000000}
"""Elements of the first operand, about."""

Case = collections.namedtuple("Case", "build dtypes gradient")
# build:    (module, operands, elements) -> the op's result, a tensor or several. `operands` makes variables.
# dtypes:   the dtypes of the operands that the case is measured with; the first one has a gradient.
# gradient: whether its gradient is measured.

CASES = collections.OrderedDict()
FLOATS = ("float32", "float64")
NUMBERS = ("float32", "float64", "int32")


class Operands:
    """Makes the variables of a case, the same numbers for every module."""

    def __init__(self, module, dtype):
        self.module, self.dtype = module, dtype
        self.source = np.random.RandomState(0)
        self.made = []

    def numbers(self, *shape, low=-2.0, high=2.0, dtype=None):
        """A variable of the case's dtype with numbers of a range; integers are whole numbers of 1 to 40."""
        dtype = dtype or self.dtype
        drawn = (
            self.source.uniform(low, high, shape) if "float" in dtype else self.source.randint(1, 41, shape)
        )
        variable = self.module.Variable(drawn.astype(dtype), trainable=False)
        self.made.append(variable)
        return variable

    def positive(self, *shape):
        """A variable with numbers over a half."""
        return self.numbers(*shape, low=0.5, high=2.0)

    def indices(self, count, *shape):
        """An int32 variable with numbers below `count`."""
        return self.module.Variable(self.source.randint(0, count, shape).astype(np.int32), trainable=False)

    def booleans(self, *shape):
        """A bool variable, half of it true."""
        return self.module.Variable(self.source.uniform(size=shape) < 0.5, trainable=False)


def case(dtypes=("float32",), gradient=True):
    """A decorator that puts a case into CASES under its function's name."""

    def register(build):
        CASES[build.__name__.rstrip("_")] = Case(build, dtypes, gradient)
        return build

    return register


def square_of(elements):
    """Rows and columns of about so many elements, a third more columns than rows."""
    rows = max(int((elements / 1.3) ** 0.5), 1)
    return rows, max(elements // rows, 1)


def images_of(elements, channels):
    """The shape of images of so many channels: eight of them, or one where that is too many."""
    count = 8 if elements >= 8 * 16 * channels else 1
    side = max(int((elements / channels / count) ** 0.5), 4)
    return count, side, side, channels


# ---- elementwise ---------------------------------------------------------------------------------------------------


def unary(name, dtypes=FLOATS, gradient=True, positive=False, find=None):
    """A case of one operand, flat."""

    def build(tf, operands, elements):
        make = operands.positive if positive else operands.numbers
        return (find(tf) if find else getattr(tf, name))(make(elements))

    CASES[name] = Case(build, dtypes, gradient)


def binary(name, dtypes=FLOATS, gradient=True, positive=False):
    """A case of two operands: a matrix and one of the same shape."""

    def build(tf, operands, elements):
        make = operands.positive if positive else operands.numbers
        shape = square_of(elements)
        return getattr(tf, name)(make(*shape), make(*shape))

    CASES[name] = Case(build, dtypes, gradient)


for _name in ("square", "abs", "negative", "sign"):
    unary(_name, NUMBERS)
for _name in ("exp", "sigmoid", "tanh", "sin", "cos"):
    unary(_name)
for _name in ("log", "sqrt", "rsqrt", "reciprocal", "log1p"):
    unary(_name, positive=True)
for _name in ("floor", "ceil", "round", "is_finite"):
    unary(_name, gradient=False)
for _name in ("relu", "relu6", "elu", "selu", "softplus", "softsign", "leaky_relu"):
    unary(_name, find=lambda tf, _name=_name: getattr(tf.nn, _name))
unary("identity", NUMBERS)
unary("zeros_like", gradient=False)
unary("ones_like", gradient=False)
unary("erf")
for _name in ("add", "subtract", "multiply", "maximum", "minimum", "squared_difference"):
    binary(_name, NUMBERS)
for _name in ("div", "pow", "divide"):
    binary(_name, positive=True)
for _name in ("floordiv", "mod"):
    binary(_name, ("float32", "int32"), _name == "mod", positive=True)
for _name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"):
    binary(_name, NUMBERS, gradient=False)


@case(gradient=False)
def logical_and(tf, operands, elements):
    return tf.logical_and(operands.booleans(elements), operands.booleans(elements))


@case(gradient=False)
def logical_not(tf, operands, elements):
    return tf.logical_not(operands.booleans(elements))


@case(FLOATS)
def add_row(tf, operands, elements):
    rows, columns = square_of(elements)
    return tf.add(operands.numbers(rows, columns), operands.numbers(columns))


@case(FLOATS)
def multiply_column(tf, operands, elements):
    rows, columns = square_of(elements)
    return tf.multiply(operands.numbers(rows, columns), operands.numbers(rows, 1))


@case(FLOATS)
def add_n(tf, operands, elements):
    return tf.add_n([operands.numbers(elements) for _ in range(4)])


@case(FLOATS)
def clip_by_value(tf, operands, elements):
    return tf.clip_by_value(operands.numbers(elements), -1.0, 1.0)


@case(FLOATS)
def where_(tf, operands, elements):
    return tf.where(operands.booleans(elements), operands.numbers(elements), operands.numbers(elements))


@case(NUMBERS, gradient=False)
def cast(tf, operands, elements):
    return tf.cast(operands.numbers(elements), tf.float64 if operands.dtype == "float32" else tf.float32)


@case()
def dropout(tf, operands, elements):
    return tf.nn.dropout(operands.numbers(elements), 0.5)


@case(FLOATS)
def bias_add(tf, operands, elements):
    shape = images_of(elements, 32)
    return tf.nn.bias_add(operands.numbers(*shape), operands.numbers(32))


# ---- reductions ----------------------------------------------------------------------------------------------------


def reduction(name, axis, label, dtypes=FLOATS, gradient=True, booleans=False):
    """A reduction of a matrix over one axis, or all."""

    def build(tf, operands, elements):
        shape = square_of(elements)
        value = operands.booleans(*shape) if booleans else operands.numbers(*shape)
        return getattr(tf, name)(value, axis)

    CASES[name + label] = Case(build, dtypes, gradient)


for _name in ("reduce_sum", "reduce_mean"):
    for _axis, _label in ((None, ""), (0, "_columns"), (1, "_rows")):
        reduction(_name, _axis, _label, NUMBERS if _name == "reduce_sum" else FLOATS)
for _name in ("reduce_max", "reduce_min", "reduce_prod", "reduce_logsumexp"):
    reduction(_name, 1, "_rows")
reduction("reduce_max", 0, "_columns")
reduction("reduce_all", None, "", ("bool",), False, True)
reduction("reduce_any", 1, "_rows", ("bool",), False, True)
reduction("argmax", 1, "_rows", NUMBERS, False)
reduction("argmax", 0, "_columns", ("float32",), False)
reduction("argmin", 1, "_rows", ("float32",), False)
reduction("count_nonzero", None, "", ("float32",), False)


@case(FLOATS)
def l2_loss(tf, operands, elements):
    return tf.nn.l2_loss(operands.numbers(elements))


@case()
def moments(tf, operands, elements):
    return tf.nn.moments(operands.numbers(*images_of(elements, 32)), [0, 1, 2])


@case()
def norm(tf, operands, elements):
    return tf.norm(operands.numbers(*square_of(elements)), axis=1)


@case()
def l2_normalize(tf, operands, elements):
    return tf.nn.l2_normalize(operands.numbers(*square_of(elements)), 1)


@case(FLOATS)
def cumsum(tf, operands, elements):
    return tf.cumsum(operands.numbers(*square_of(elements)), 1)


@case()
def clip_by_global_norm(tf, operands, elements):
    return tf.clip_by_global_norm([operands.numbers(elements // 4) for _ in range(4)], 1.0)[0]


# ---- products ------------------------------------------------------------------------------------------------------


@case(FLOATS)
def matmul(tf, operands, elements):
    rows, columns = square_of(min(elements, 500000))
    return tf.matmul(operands.numbers(rows, columns), operands.numbers(columns, rows))


@case()
def matmul_transposed(tf, operands, elements):
    rows, columns = square_of(min(elements, 500000))
    return tf.matmul(operands.numbers(rows, columns), operands.numbers(rows, columns), transpose_b=True)


@case()
def matmul_batched(tf, operands, elements):
    count = max(min(elements, 500000) // 1024, 1)
    return tf.matmul(operands.numbers(count, 32, 32), operands.numbers(count, 32, 32))


@case()
def matmul_small_batched(tf, operands, elements):
    count = max(elements // 12, 1)
    return tf.matmul(operands.numbers(count, 3, 4), operands.numbers(count, 4, 2))


@case()
def dense(tf, operands, elements):
    rows = max(min(elements, 500000) // 256, 1)
    return tf.nn.xw_plus_b(operands.numbers(rows, 256), operands.numbers(256, 128), operands.numbers(128))


@case()
def tensordot(tf, operands, elements):
    rows = max(min(elements, 500000) // 512, 1)
    return tf.tensordot(operands.numbers(rows, 8, 64), operands.numbers(64, 32), [[2], [0]])


@case()
def einsum(tf, operands, elements):
    count = max(min(elements, 500000) // 2048, 1)
    return tf.einsum("bqd,bkd->bqk", operands.numbers(count, 32, 64), operands.numbers(count, 32, 64))


@case(gradient=False)
def matrix_inverse(tf, operands, elements):
    return tf.matrix_inverse(operands.numbers(max(elements // 1024, 1), 32, 32) + 40.0 * tf.eye(32))


@case()
def cholesky(tf, operands, elements):
    value = operands.numbers(max(min(elements, 500000) // 1024, 1), 32, 32)
    return tf.cholesky(tf.matmul(value, value, transpose_b=True) + 10.0 * tf.eye(32))


@case()
def matrix_triangular_solve(tf, operands, elements):
    count = max(min(elements, 500000) // 1024, 1)
    lower = tf.matrix_band_part(operands.numbers(count, 32, 32), -1, 0) + 40.0 * tf.eye(32)
    return tf.matrix_triangular_solve(lower, operands.numbers(count, 32, 8))


# ---- convolutions and pooling --------------------------------------------------------------------------------------


def convolution(name, channels, filters, size, stride=1, **keywords):
    """A convolution of images of so many channels."""

    def build(tf, operands, elements):
        images = operands.numbers(*images_of(min(elements, 500000), channels))
        weights = operands.numbers(size, size, channels, filters)
        return tf.nn.conv2d(images, weights, [1, stride, stride, 1], "SAME", **keywords)

    CASES[name] = Case(build, ("float32",), True)


convolution("conv2d_3x3", 32, 32, 3)
convolution("conv2d_1x1", 64, 32, 1)
convolution("conv2d_5x5", 16, 32, 5)
convolution("conv2d_7x7_stride_2", 3, 32, 7, 2)
convolution("conv2d_dilated", 32, 32, 3, dilations=[1, 2, 2, 1])


@case()
def conv1d(tf, operands, elements):
    length = max(min(elements, 500000) // (8 * 32), 4)
    return tf.nn.conv1d(operands.numbers(8, length, 32), operands.numbers(3, 32, 32), 1, "SAME")


@case()
def conv3d(tf, operands, elements):
    side = max(int((min(elements, 250000) / 16) ** (1 / 3)), 4)
    images = operands.numbers(1, side, side, side, 16)
    return tf.nn.conv3d(images, operands.numbers(3, 3, 3, 16, 16), [1, 1, 1, 1, 1], "SAME")


@case()
def conv2d_transpose(tf, operands, elements):
    count, side, _, channels = images_of(min(elements, 250000), 16)
    weights = operands.numbers(3, 3, 16, channels)
    output = [count, 2 * side, 2 * side, 16]
    return tf.nn.conv2d_transpose(
        operands.numbers(count, side, side, channels), weights, output, [1, 2, 2, 1]
    )


@case()
def depthwise_conv2d(tf, operands, elements):
    images = operands.numbers(*images_of(min(elements, 500000), 32))
    return tf.nn.depthwise_conv2d(images, operands.numbers(3, 3, 32, 1), [1, 1, 1, 1], "SAME")


@case()
def separable_conv2d(tf, operands, elements):
    images = operands.numbers(*images_of(min(elements, 500000), 32))
    depthwise, pointwise = operands.numbers(3, 3, 32, 1), operands.numbers(1, 1, 32, 64)
    return tf.nn.separable_conv2d(images, depthwise, pointwise, [1, 1, 1, 1], "SAME")


@case()
def max_pool(tf, operands, elements):
    return tf.nn.max_pool(operands.numbers(*images_of(elements, 32)), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")


@case()
def max_pool_3x3(tf, operands, elements):
    return tf.nn.max_pool(operands.numbers(*images_of(elements, 32)), [1, 3, 3, 1], [1, 2, 2, 1], "SAME")


@case()
def avg_pool(tf, operands, elements):
    return tf.nn.avg_pool(operands.numbers(*images_of(elements, 32)), [1, 2, 2, 1], [1, 2, 2, 1], "SAME")


@case()
def lrn(tf, operands, elements):
    return tf.nn.lrn(operands.numbers(*images_of(elements, 32)))


@case()
def fused_batch_norm(tf, operands, elements):
    images = operands.numbers(*images_of(elements, 32))
    return tf.nn.fused_batch_norm(images, operands.positive(32), operands.numbers(32))[0]


@case()
def batch_normalization(tf, operands, elements):
    images = operands.numbers(*images_of(elements, 32))
    mean, variance = operands.numbers(32), operands.positive(32)
    return tf.nn.batch_normalization(
        images, mean, variance, operands.numbers(32), operands.positive(32), 1e-3
    )


# ---- softmax and losses --------------------------------------------------------------------------------------------


@case(FLOATS)
def softmax(tf, operands, elements):
    return tf.nn.softmax(operands.numbers(max(elements // 50, 1), 50))


@case()
def softmax_long_rows(tf, operands, elements):
    return tf.nn.softmax(operands.numbers(max(elements // 10000, 1), min(elements, 10000)))


@case()
def softmax_first_axis(tf, operands, elements):
    return tf.nn.softmax(operands.numbers(*square_of(elements)), 0)


@case()
def log_softmax(tf, operands, elements):
    return tf.nn.log_softmax(operands.numbers(max(elements // 50, 1), 50))


@case()
def softmax_cross_entropy(tf, operands, elements):
    rows = max(elements // 50, 1)
    labels = tf.nn.softmax(operands.numbers(rows, 50))
    function = tf.nn.softmax_cross_entropy_with_logits_v2
    return function(labels=tf.stop_gradient(labels), logits=operands.numbers(rows, 50))


@case()
def sparse_softmax_cross_entropy(tf, operands, elements):
    rows = max(elements // 50, 1)
    function = tf.nn.sparse_softmax_cross_entropy_with_logits
    return function(labels=operands.indices(50, rows), logits=operands.numbers(rows, 50))


@case()
def sigmoid_cross_entropy(tf, operands, elements):
    function = tf.nn.sigmoid_cross_entropy_with_logits
    return function(labels=operands.positive(elements), logits=operands.numbers(elements))


@case(gradient=False)
def in_top_k(tf, operands, elements):
    rows = max(elements // 50, 1)
    return tf.nn.in_top_k(operands.numbers(rows, 50), operands.indices(50, rows), 5)


@case()
def top_k(tf, operands, elements):
    return tf.nn.top_k(operands.numbers(max(elements // 1000, 1), 1000), 5)[0]


@case(gradient=False)
def sort(tf, operands, elements):
    return tf.contrib.framework.sort(operands.numbers(max(elements // 1000, 1), 1000))


# ---- arrays --------------------------------------------------------------------------------------------------------


@case(NUMBERS)
def transpose(tf, operands, elements):
    return tf.transpose(operands.numbers(*square_of(elements)))


@case()
def transpose_nhwc_to_nchw(tf, operands, elements):
    return tf.transpose(operands.numbers(*images_of(elements, 32)), [0, 3, 1, 2])


@case()
def transpose_heads(tf, operands, elements):
    return tf.transpose(operands.numbers(max(elements // 8192, 1), 16, 8, 64), [0, 2, 1, 3])


@case()
def reshape(tf, operands, elements):
    return tf.reshape(operands.numbers(elements // 10 * 10), [10, -1])


@case(FLOATS)
def concat(tf, operands, elements):
    rows, columns = square_of(elements // 2)
    return tf.concat([operands.numbers(rows, columns), operands.numbers(rows, columns)], 1)


@case()
def concat_rows(tf, operands, elements):
    rows, columns = square_of(elements // 2)
    return tf.concat([operands.numbers(rows, columns), operands.numbers(rows, columns)], 0)


@case()
def stack(tf, operands, elements):
    return tf.stack([operands.numbers(elements // 4) for _ in range(4)], 1)


@case()
def unstack(tf, operands, elements):
    return tf.unstack(operands.numbers(elements // 4, 4), axis=1)


@case()
def split(tf, operands, elements):
    rows, columns = square_of(elements)
    return tf.split(operands.numbers(rows, columns // 4 * 4), 4, 1)


@case()
def slice_(tf, operands, elements):
    rows, columns = square_of(elements)
    return tf.slice(operands.numbers(rows, columns), [1, 1], [rows - 2, columns - 2])


@case()
def strided_slice(tf, operands, elements):
    return operands.numbers(*square_of(elements))[::2, 1:-1]


@case()
def pad(tf, operands, elements):
    return tf.pad(operands.numbers(*images_of(elements, 32)), [[0, 0], [1, 1], [1, 1], [0, 0]])


@case()
def pad_reflected(tf, operands, elements):
    return tf.pad(operands.numbers(*images_of(elements, 32)), [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")


@case(FLOATS)
def tile(tf, operands, elements):
    rows, columns = square_of(elements // 6)
    return tf.tile(operands.numbers(rows, columns), [2, 3])


@case()
def reverse(tf, operands, elements):
    return tf.reverse(operands.numbers(*square_of(elements)), [1])


@case(NUMBERS)
def gather(tf, operands, elements):
    rows = max(elements // 64, 1)
    return tf.gather(operands.numbers(rows, 64), operands.indices(rows, rows))


@case()
def gather_scalars(tf, operands, elements):
    return tf.gather(operands.numbers(elements), operands.indices(elements, elements))


@case()
def embedding_lookup(tf, operands, elements):
    return tf.nn.embedding_lookup(
        operands.numbers(max(elements // 32, 1), 32), operands.indices(max(elements // 32, 1), 128)
    )


@case()
def gather_nd(tf, operands, elements):
    rows, columns = square_of(elements)
    return tf.gather_nd(operands.numbers(rows, columns), operands.indices(rows, rows, 2))


@case(gradient=False)
def one_hot(tf, operands, elements):
    return tf.one_hot(operands.indices(50, max(elements // 50, 1)), 50)


@case()
def boolean_mask(tf, operands, elements):
    rows = max(elements // 16, 1)
    return tf.boolean_mask(operands.numbers(rows, 16), operands.booleans(rows))


@case(gradient=False)
def where_indices(tf, operands, elements):
    return tf.where(operands.booleans(elements))


@case(gradient=False)
def unique(tf, operands, elements):
    return tf.unique(operands.indices(max(elements // 8, 1), elements))


@case()
def scatter_nd(tf, operands, elements):
    rows = max(elements // 64, 1)
    return tf.scatter_nd(operands.indices(rows, rows, 1), operands.numbers(rows, 64), [rows, 64])


@case()
def segment_sum(tf, operands, elements):
    rows = max(elements // 64, 1)
    return tf.segment_sum(operands.numbers(rows, 64), np.arange(rows, dtype=np.int32) // 8)


@case()
def unsorted_segment_sum(tf, operands, elements):
    rows = max(elements // 64, 1)
    return tf.unsorted_segment_sum(
        operands.numbers(rows, 64), operands.indices(max(rows // 8, 1), rows), max(rows // 8, 1)
    )


@case(gradient=False)
def sequence_mask(tf, operands, elements):
    return tf.sequence_mask(operands.indices(100, max(elements // 100, 1)), 100)


@case()
def matrix_band_part(tf, operands, elements):
    return tf.matrix_band_part(operands.numbers(max(elements // 4096, 1), 64, 64), -1, 0)


@case()
def matrix_diag(tf, operands, elements):
    return tf.matrix_diag(operands.numbers(max(elements // 4096, 1), 64))


@case()
def matrix_diag_part(tf, operands, elements):
    return tf.matrix_diag_part(operands.numbers(max(elements // 4096, 1), 64, 64))


@case()
def depth_to_space(tf, operands, elements):
    return tf.depth_to_space(operands.numbers(*images_of(elements, 32)), 2)


@case()
def space_to_depth(tf, operands, elements):
    count, side, _, channels = images_of(elements, 16)
    return tf.space_to_depth(operands.numbers(count, side // 2 * 2, side // 2 * 2, channels), 2)


@case(gradient=False)
def range_(tf, operands, elements):
    return tf.range(
        operands.indices(
            1,
        )
        + elements
    )


@case(gradient=False)
def fill(tf, operands, elements):
    return tf.fill([elements], operands.numbers())


@case(gradient=False)
def shape(tf, operands, elements):
    return tf.shape(operands.numbers(*square_of(elements)))


@case()
def dynamic_stitch(tf, operands, elements):
    rows = max(elements // 64, 2) // 2
    halves = [np.arange(0, 2 * rows, 2, dtype=np.int32), np.arange(1, 2 * rows, 2, dtype=np.int32)]
    return tf.dynamic_stitch(halves, [operands.numbers(rows, 64), operands.numbers(rows, 64)])


# ---- drawing, images, state ----------------------------------------------------------------------------------------


@case(gradient=False)
def random_uniform(tf, operands, elements):
    return tf.random_uniform([elements])


@case(gradient=False)
def random_normal(tf, operands, elements):
    return tf.random_normal([elements])


@case(gradient=False)
def truncated_normal(tf, operands, elements):
    return tf.truncated_normal([elements])


@case(gradient=False)
def multinomial(tf, operands, elements):
    return tf.multinomial(operands.numbers(max(elements // 100, 1), 100), 1)


@case(gradient=False)
def random_shuffle(tf, operands, elements):
    return tf.random_shuffle(operands.numbers(max(elements // 16, 1), 16))


@case(gradient=False)
def candidate_sampler(tf, operands, elements):
    labels = operands.source.randint(0, elements, (64, 1)).astype(np.int64)
    return tf.nn.log_uniform_candidate_sampler(tf.constant(labels), 1, 64, True, elements)


@case()
def resize_bilinear(tf, operands, elements):
    count, side, _, channels = images_of(elements, 3)
    return tf.image.resize_bilinear(
        operands.numbers(count, side, side, channels), [side * 3 // 4, side * 3 // 4]
    )


@case()
def resize_nearest_neighbor(tf, operands, elements):
    count, side, _, channels = images_of(elements // 4, 8)
    return tf.image.resize_nearest_neighbor(
        operands.numbers(count, side, side, channels), [2 * side, 2 * side]
    )


@case(gradient=False)
def histogram_fixed_width(tf, operands, elements):
    return tf.histogram_fixed_width(operands.numbers(elements), [-2.0, 2.0], 100)


@case(FLOATS, gradient=False)
def assign(tf, operands, elements):
    return tf.assign(operands.numbers(elements), operands.numbers(elements)).op


@case(FLOATS, gradient=False)
def assign_add(tf, operands, elements):
    return tf.assign_add(operands.numbers(elements), operands.numbers(elements)).op


@case(gradient=False)
def scatter_add(tf, operands, elements):
    rows = max(elements // 64, 1)
    return tf.scatter_add(
        operands.numbers(rows, 64), operands.indices(rows, 128), operands.numbers(128, 64)
    ).op


def optimizer(name, make):
    """A step of an optimizer on a variable whose gradient is another one."""

    def build(tf, operands, elements):
        variable, gradient = operands.numbers(elements), operands.numbers(elements)
        return make(tf).apply_gradients([(tf.identity(gradient), variable)])

    CASES[name] = Case(build, ("float32",), False)


def sparse_optimizer(name, make):
    """A step of an optimizer on 128 rows of a table."""

    def build(tf, operands, elements):
        rows = max(elements // 64, 1)
        table, gradient = operands.numbers(rows, 64), operands.numbers(128, 64)
        slices = tf.IndexedSlices(tf.identity(gradient), operands.indices(rows, 128), tf.constant([rows, 64]))
        return make(tf).apply_gradients([(slices, table)])

    CASES[name] = Case(build, ("float32",), False)


for _name, _make in (
    ("gradient_descent", lambda tf: tf.train.GradientDescentOptimizer(1e-4)),
    ("momentum", lambda tf: tf.train.MomentumOptimizer(1e-4, 0.9)),
    ("adam", lambda tf: tf.train.AdamOptimizer(1e-4)),
    ("adagrad", lambda tf: tf.train.AdagradOptimizer(1e-4)),
    ("rmsprop", lambda tf: tf.train.RMSPropOptimizer(1e-4)),
    ("ftrl", lambda tf: tf.train.FtrlOptimizer(1e-4)),
):
    optimizer(_name, _make)
    sparse_optimizer("sparse_" + _name, _make)


def results(tf, name, elements, dtype, gradient):
    """The tensors or operations that a case computes: its results, or their gradients, if there are any."""
    operands = Operands(tf, dtype)
    made = CASES[name].build(tf, operands, elements)
    made = list(made) if isinstance(made, (list, tuple)) else [made]
    if not gradient:
        return made
    floating = [v for v in operands.made if v.dtype.base_dtype.is_floating]
    above = [operands.numbers(*r.shape.as_list()) if r.shape.is_fully_defined() else None for r in made]
    return [tf.convert_to_tensor(g) for g in tf.gradients(made, floating, above) if g is not None]


def built(tf, name, size, dtype, gradient):
    """A function that runs a case, and its session; None if this module cannot express it."""
    tf.reset_default_graph()
    fetches = results(tf, name, SIZES[size], dtype, gradient)
    if not fetches:
        return None
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    return session.make_callable(fetches), session
