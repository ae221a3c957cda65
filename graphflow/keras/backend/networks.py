"""Functions of neural networks under Keras's names (tf.keras.backend)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphflow._core.graph.elements import Tensor
from graphflow._core.graph.types import IntTensorLike, NumberLike, TensorLike
from graphflow._core.ops.control_flow.smart_cond import smart_cond
from graphflow.keras import activations, ops
from graphflow.keras.backend.settings import epsilon, image_data_format
from graphflow.keras.backend.state import learning_phase
from graphflow.keras.typing import Phase

Pair = Sequence[int]


def relu(x: TensorLike, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Any:
    """See tf.keras.activations.relu (tf.keras.backend.relu).

    Args:
        x: A tensor, or what becomes one, of any shape.
        alpha: The slope below the threshold.
        max_value: The largest value of the result; None for no limit.
        threshold: The value up to which `x` counts as small.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return activations.relu(x, alpha, max_value, threshold)


def elu(x: TensorLike, alpha: float = 1.0) -> Any:
    """See tf.keras.activations.elu (tf.keras.backend.elu).

    Args:
        x: A tensor, or what becomes one, of any shape.
        alpha: What values below 0 tend to, with its sign turned.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return activations.elu(x, alpha)


def softmax(x: TensorLike, axis: int = -1) -> Any:
    """exp(x) / sum(exp(x)) (tf.keras.backend.softmax).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis whose elements add up to 1.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.softmax(x, axis=axis)


def softplus(x: TensorLike) -> Any:
    """log(exp(x) + 1) (tf.keras.backend.softplus).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.softplus(x)


def softsign(x: TensorLike) -> Any:
    """x / (|x| + 1) (tf.keras.backend.softsign).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.softsign(x)


def sigmoid(x: TensorLike) -> Any:
    """1 / (1 + exp(-x)) (tf.keras.backend.sigmoid).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.sigmoid(x)


def hard_sigmoid(x: TensorLike) -> Any:
    """0.2 * x + 0.5, between 0 and 1 (tf.keras.backend.hard_sigmoid).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return activations.hard_sigmoid(x)


def tanh(x: TensorLike) -> Any:
    """The hyperbolic tangent (tf.keras.backend.tanh).

    Args:
        x: A tensor, or what becomes one, of any shape.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.tanh(x)


def dropout(
    x: TensorLike, level: float, noise_shape: IntTensorLike | None = None, seed: int | None = None
) -> Any:
    """Zeros for a share of the elements, the others larger (tf.keras.backend.dropout).

    Args:
        x: A tensor, or what becomes one, of any shape.
        level: The share that becomes 0, from 0 to 1; the others are divided by 1 - level.
        noise_shape: The shape of the draws, which are broadcast to that of `x`; by default that of `x`.
        seed: An int from which the draws follow; by default the graph's seed.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.dropout(x, rate=level, noise_shape=noise_shape, seed=seed)


def l2_normalize(x: TensorLike, axis: int | None = None) -> Any:
    """x divided by its norm (tf.keras.backend.l2_normalize).

    Args:
        x: A tensor, or what becomes one, of any shape.
        axis: The axis along which the norm is taken; all if None.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.l2_normalize(x, axis=axis)


def in_top_k(predictions: TensorLike, targets: TensorLike, k: int) -> Any:
    """Whether the target is among the k largest (tf.keras.backend.in_top_k).

    Args:
        predictions: The scores, floats [batch, classes].
        targets: The numbers of the classes, ints [batch].
        k: How many of the largest count.

    Returns:
        A bool tensor [batch].
    """
    return ops.in_top_k(predictions, targets, k)


# ---- phases ---------------------------------------------------------------------------------------------------------


def _either(x: Any) -> Callable[[], Any]:
    return x if callable(x) else lambda: ops.identity(x)


def in_train_phase(x: Any, alt: Any, training: Phase = None) -> Any:
    """x in training, else alt (tf.keras.backend.in_train_phase).

    Args:
        x: What holds in training: a tensor, or a function without arguments that makes one.
        alt: What holds otherwise, of the same kind.
        training: Whether it is training, a bool or a scalar tensor; by default the learning phase.

    Returns:
        One of the two if the phase is known while the graph is built, else a tensor that chooses when it runs.
    """
    phase = learning_phase() if training is None else training
    if isinstance(phase, Tensor):
        return smart_cond(phase, _either(x), _either(alt))
    chosen = x if phase else alt
    return chosen() if callable(chosen) else chosen


def in_test_phase(x: Any, alt: Any, training: Phase = None) -> Any:
    """alt in training, else x (tf.keras.backend.in_test_phase).

    Args:
        x: What holds outside of training: a tensor, or a function without arguments that makes one.
        alt: What holds in training, of the same kind.
        training: Whether it is training, a bool or a scalar tensor; by default the learning phase.

    Returns:
        One of the two if the phase is known while the graph is built, else a tensor that chooses when it runs.
    """
    return in_train_phase(alt, x, training)


def switch(condition: TensorLike, then_expression: Any, else_expression: Any) -> Any:
    """One of two tensors, or for each element the one or the other (tf.keras.backend.switch).

    Args:
        condition: A scalar, or a tensor whose axes are the first ones of the expressions.
        then_expression: A tensor, or a function without arguments that makes one, for where the condition holds.
        else_expression: The same for where it does not hold.

    Returns:
        A tensor of the shape and dtype of the expressions.
    """
    chooses = ops.cast(condition, "bool")
    if chooses.shape.dims == []:
        return ops.cond(chooses, _either(then_expression), _either(else_expression))
    first, second = (
        e() if callable(e) else ops.convert_to_tensor(e) for e in (then_expression, else_expression)
    )
    for _ in range(len(first.shape.as_list()) - len(chooses.shape.as_list())):
        chooses = ops.expand_dims(chooses, -1)
    return ops.where(ops.logical_and(chooses, ops.ones_like(first, dtype="bool")), first, second)


# ---- convolutions ---------------------------------------------------------------------------------------------------


def _first(data_format: str | None) -> bool:
    return (data_format or image_data_format()) == "channels_first"


def bias_add(x: TensorLike, bias: TensorLike, data_format: str | None = None) -> Any:
    """A bias added to each channel (tf.keras.backend.bias_add).

    Args:
        x: A tensor of three axes or more.
        bias: A vector with an element for each channel.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.bias_add(x, bias, data_format="NCHW" if _first(data_format) else "NHWC")


def conv1d(
    x: TensorLike, kernel: TensorLike, strides: int = 1, padding: str = "valid", data_format: str | None = None,
    dilation_rate: int = 1,
) -> Any:  # fmt: skip
    """A convolution of sequences (tf.keras.backend.conv1d).

    Args:
        x: Sequences, floats [batch, steps, channels].
        kernel: Floats [width, channels, filters].
        strides: The steps from one window to the next.
        padding: "valid", "same", or "causal", where an output depends on no later input.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().
        dilation_rate: The distance of a window's elements, in steps.

    Returns:
        A tensor [batch, steps, filters].
    """
    tensor = ops.convert_to_tensor(x)
    if padding == "causal":
        before = dilation_rate * (ops.convert_to_tensor(kernel).shape.as_list()[0] - 1)
        around = [[0, 0], [0, 0], [before, 0]] if _first(data_format) else [[0, 0], [before, 0], [0, 0]]
        tensor, padding = ops.pad(tensor, around), "valid"
    layout = "NCW" if _first(data_format) else "NWC"
    return ops.conv1d(tensor, kernel, strides, padding.upper(), data_format=layout, dilations=dilation_rate)


def conv2d(
    x: TensorLike, kernel: TensorLike, strides: Pair = (1, 1), padding: str = "valid", data_format: str | None = None,
    dilation_rate: Pair = (1, 1),
) -> Any:  # fmt: skip
    """A convolution of images (tf.keras.backend.conv2d).

    Args:
        x: Images, floats [batch, rows, columns, channels].
        kernel: Floats [height, width, channels, filters].
        strides: The distance of windows, (rows, columns).
        padding: "valid" for windows within the input alone, "same" for as many as there are steps.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().
        dilation_rate: The distance of a window's elements, (rows, columns).

    Returns:
        A tensor [batch, rows, columns, filters].
    """
    layout = "NCHW" if _first(data_format) else "NHWC"
    return ops.conv2d(
        x, kernel, tuple(strides), padding.upper(), data_format=layout, dilations=tuple(dilation_rate)
    )


def conv2d_transpose(
    x: TensorLike, kernel: TensorLike, output_shape: IntTensorLike, strides: Pair = (1, 1), padding: str = "valid",
    data_format: str | None = None,
) -> Any:  # fmt: skip
    """Images enlarged by a transposed convolution (tf.keras.backend.conv2d_transpose).

    Args:
        x: Images, floats [batch, rows, columns, channels].
        kernel: Floats [height, width, filters, channels].
        output_shape: The shape of the result, four ints.
        strides: How much larger the result is, (rows, columns).
        padding: "valid" for windows within the input alone, "same" for as many as there are steps.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().

    Returns:
        A tensor of the output shape.
    """
    layout = "NCHW" if _first(data_format) else "NHWC"
    sizes = output_shape
    return ops.conv2d_transpose(x, kernel, sizes, tuple(strides), padding.upper(), data_format=layout)


def depthwise_conv2d(
    x: TensorLike, depthwise_kernel: TensorLike, strides: Pair = (1, 1), padding: str = "valid",
    data_format: str | None = None, dilation_rate: Pair = (1, 1),
) -> Any:  # fmt: skip
    """A convolution of images channel by channel (tf.keras.backend.depthwise_conv2d)."""
    first = _first(data_format)
    around = [1, 1, *strides] if first else [1, *strides, 1]
    layout = "NCHW" if first else "NHWC"
    return ops.depthwise_conv2d(
        x, depthwise_kernel, around, padding.upper(), rate=dilation_rate, data_format=layout
    )


def separable_conv2d(
    x: TensorLike, depthwise_kernel: TensorLike, pointwise_kernel: TensorLike, strides: Pair = (1, 1),
    padding: str = "valid", data_format: str | None = None, dilation_rate: Pair = (1, 1),
) -> Any:  # fmt: skip
    """A convolution channel by channel, then across channels (tf.keras.backend.separable_conv2d).

    Args:
        x: Images, floats [batch, rows, columns, channels].
        depthwise_kernel: Floats [height, width, channels, multiplier].
        pointwise_kernel: Floats [1, 1, channels * multiplier, filters].
        strides: The distance of windows, (rows, columns).
        padding: "valid" for windows within the input alone, "same" for as many as there are steps.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().
        dilation_rate: The distance of a window's elements, (rows, columns).

    Returns:
        A tensor [batch, rows, columns, filters].
    """
    first = _first(data_format)
    around = [1, 1, *strides] if first else [1, *strides, 1]
    return ops.separable_conv2d(
        x, depthwise_kernel, pointwise_kernel, around, padding.upper(), rate=dilation_rate,
        data_format="NCHW" if first else "NHWC",
    )  # fmt: skip


def conv3d(
    x: TensorLike, kernel: TensorLike, strides: Pair = (1, 1, 1), padding: str = "valid",
    data_format: str | None = None, dilation_rate: Pair = (1, 1, 1),
) -> Any:  # fmt: skip
    """A convolution of volumes (tf.keras.backend.conv3d).

    Args:
        x: Volumes, floats [batch, depth, rows, columns, channels].
        kernel: Floats [depth, height, width, channels, filters].
        strides: The distance of windows, (depth, rows, columns).
        padding: "valid" for windows within the input alone, "same" for as many as there are steps.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().
        dilation_rate: The distance of a window's elements, (depth, rows, columns).

    Returns:
        A tensor [batch, depth, rows, columns, filters].
    """
    layout = "NCDHW" if _first(data_format) else "NDHWC"
    return ops.conv3d(x, kernel, tuple(strides), padding.upper(), layout, tuple(dilation_rate))


def _pooled(function: Any, x: Any, pool: Pair, strides: Pair, padding: str, layout: str, first: bool) -> Any:
    around = [1, 1, *pool] if first else [1, *pool, 1]
    steps = [1, 1, *strides] if first else [1, *strides, 1]
    return function(x, around, steps, padding.upper(), data_format=layout)


def pool2d(
    x: TensorLike, pool_size: Pair, strides: Pair = (1, 1), padding: str = "valid", data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:  # fmt: skip
    """The largest, or with pool_mode "avg" the mean, of each window (tf.keras.backend.pool2d).

    Args:
        x: Images, floats [batch, rows, columns, channels].
        pool_size: The size of a window, (rows, columns).
        strides: The distance of windows, (rows, columns).
        padding: "valid" for windows within the input alone, "same" for as many as there are steps.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().
        pool_mode: "max" or "avg".

    Returns:
        A tensor [batch, rows, columns, channels].
    """
    first = _first(data_format)
    function = {"max": ops.max_pool, "avg": ops.avg_pool}[pool_mode]
    return _pooled(function, x, pool_size, strides, padding, "NCHW" if first else "NHWC", first)


def pool3d(
    x: TensorLike, pool_size: Pair, strides: Pair = (1, 1, 1), padding: str = "valid", data_format: str | None = None,
    pool_mode: str = "max",
) -> Any:  # fmt: skip
    """The largest, or with pool_mode "avg" the mean, of each window (tf.keras.backend.pool3d).

    Args:
        x: Volumes, floats [batch, depth, rows, columns, channels].
        pool_size: The size of a window, (depth, rows, columns).
        strides: The distance of windows, (depth, rows, columns).
        padding: "valid" for windows within the input alone, "same" for as many as there are steps.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().
        pool_mode: "max" or "avg".

    Returns:
        A tensor [batch, depth, rows, columns, channels].
    """
    first = _first(data_format)
    function = {"max": ops.max_pool3d, "avg": ops.avg_pool3d}[pool_mode]
    return _pooled(function, x, pool_size, strides, padding, "NCDHW" if first else "NDHWC", first)


def temporal_padding(x: TensorLike, padding: Pair = (1, 1)) -> Any:
    """Zeros around sequences (tf.keras.backend.temporal_padding).

    Args:
        x: Sequences [batch, steps, channels].
        padding: How many zeros come before and after, (before, after).

    Returns:
        A tensor of the dtype of `x`.
    """
    return ops.pad(x, [[0, 0], list(padding), [0, 0]])


def spatial_2d_padding(
    x: TensorLike, padding: Sequence[Pair] = ((1, 1), (1, 1)), data_format: str | None = None
) -> Any:
    """Zeros around images (tf.keras.backend.spatial_2d_padding).

    Args:
        x: Images [batch, rows, columns, channels].
        padding: A pair (before, after) for rows and one for columns.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().

    Returns:
        A tensor of the dtype of `x`.
    """
    inner = [list(p) for p in padding]
    return ops.pad(x, [[0, 0], [0, 0], *inner] if _first(data_format) else [[0, 0], *inner, [0, 0]])


def spatial_3d_padding(
    x: TensorLike, padding: Sequence[Pair] = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None
) -> Any:
    """Zeros around volumes (tf.keras.backend.spatial_3d_padding).

    Args:
        x: Volumes [batch, depth, rows, columns, channels].
        padding: A pair (before, after) for each of depth, rows and columns.
        data_format: "channels_last" for [batch, ..., channels] or "channels_first" for [batch, channels, ...]; by
            default that of K.image_data_format().

    Returns:
        A tensor of the dtype of `x`.
    """
    return spatial_2d_padding(x, padding, data_format)


def resize_images(
    x: TensorLike, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest"
) -> Any:
    """Images enlarged by whole numbers (tf.keras.backend.resize_images).

    Args:
        x: Images [batch, rows, columns, channels].
        height_factor: How many times as many rows there will be.
        width_factor: How many times as many columns there will be.
        data_format: "channels_last", or "channels_first" for [batch, channels, rows, columns].
        interpolation: "nearest" or "bilinear".

    Returns:
        The larger images.
    """
    image = ops.convert_to_tensor(x)
    first = _first(data_format)
    image = ops.transpose(image, [0, 2, 3, 1]) if first else image
    known = image.shape.as_list()[1:3]
    sizes = ops.shape(image)[1:3] * ops.constant([height_factor, width_factor])
    resize = {"nearest": ops.resize_nearest_neighbor, "bilinear": ops.resize_bilinear}[interpolation]
    image = resize(image, sizes, half_pixel_centers=True)
    image.set_shape(
        [
            None,
            *(
                None if n is None else n * f
                for n, f in zip(known, (height_factor, width_factor), strict=True)
            ),
            None,
        ]
    )
    return ops.transpose(image, [0, 3, 1, 2]) if first else image


def resize_volumes(
    x: TensorLike, depth_factor: int, height_factor: int, width_factor: int, data_format: str
) -> Any:
    """Volumes enlarged by whole numbers (tf.keras.backend.resize_volumes).

    Args:
        x: Volumes [batch, depth, rows, columns, channels].
        depth_factor: How many times each layer is repeated.
        height_factor: How many times each row is repeated.
        width_factor: How many times each column is repeated.
        data_format: "channels_last", or "channels_first" for [batch, channels, depth, rows, columns].

    Returns:
        The larger volumes.
    """
    start = 2 if _first(data_format) else 1
    found = ops.convert_to_tensor(x)
    for axis, times in enumerate((depth_factor, height_factor, width_factor)):
        found = ops.repeat(found, times, start + axis)
    return found


# ---- normalisation --------------------------------------------------------------------------------------------------


def batch_normalization(
    x: TensorLike, mean: NumberLike, var: NumberLike, beta: NumberLike | None, gamma: NumberLike | None,
    axis: int = -1, epsilon: float = 1e-3,
) -> Any:  # fmt: skip
    """x normalised by a mean and a variance (tf.keras.backend.batch_normalization).

    Args:
        x: Floats, of any shape.
        mean: The mean, of a shape that broadcasts to that of `x`.
        var: The variance, likewise.
        beta: What is added, likewise; None for nothing.
        gamma: What the result is multiplied by, likewise; None for 1.
        axis: Changes nothing: the shapes say which axis they are of.
        epsilon: What is added to the variance.

    Returns:
        A tensor of the shape and dtype of `x`.
    """
    return ops.batch_normalization(x, mean, var, beta, gamma, epsilon)


def normalize_batch_in_training(
    x: TensorLike, gamma: NumberLike | None, beta: NumberLike | None, reduction_axes: Sequence[int],
    epsilon: float = 1e-3,
) -> Any:  # fmt: skip
    """x normalised by its mean and variance, and these (tf.keras.backend.normalize_batch_in_training).

    Args:
        x: Floats, of any shape.
        gamma: What the result is multiplied by, of the shape of the axes that stay; None for 1.
        beta: What is added, likewise; None for nothing.
        reduction_axes: The axes over which mean and variance are taken.
        epsilon: What is added to the variance.

    Returns:
        The normalised tensor, the mean and the variance.
    """
    tensor = ops.convert_to_tensor(x)
    mean, variance = ops.moments(tensor, list(reduction_axes))
    spread = [
        1 if i in [a % len(tensor.shape) for a in reduction_axes] else n
        for i, n in enumerate(tensor.shape.as_list())
    ]

    def broadcast(v: Any) -> Any:
        return None if v is None else ops.reshape(v, spread)

    center, width, offset, scale = (broadcast(v) for v in (mean, variance, beta, gamma))
    return ops.batch_normalization(tensor, center, width, offset, scale, epsilon), mean, variance


# ---- sequences of labels --------------------------------------------------------------------------------------------


def ctc_label_dense_to_sparse(labels: TensorLike, label_lengths: TensorLike) -> Any:
    """Labels [batch, length] as a SparseTensor (tf.keras.backend.ctc_label_dense_to_sparse).

    Args:
        labels: Ints [batch, length].
        label_lengths: How many labels of each row count, ints [batch].

    Returns:
        A SparseTensor of the labels that count.
    """
    dense = ops.convert_to_tensor(labels)
    there = ops.sequence_mask(ops.reshape(label_lengths, [-1]), ops.shape(dense)[1])
    places = ops.where(there)
    return ops.SparseTensor(places, ops.gather_nd(dense, places), ops.cast(ops.shape(dense), "int64"))


def ctc_batch_cost(
    y_true: TensorLike, y_pred: TensorLike, input_length: TensorLike, label_length: TensorLike
) -> Any:
    """The CTC loss of each example [batch, 1] (tf.keras.backend.ctc_batch_cost).

    Args:
        y_true: The labels, ints [batch, most labels].
        y_pred: The probabilities of softmax, floats [batch, steps, classes]; the last class is the blank.
        input_length: How many steps each example has, ints [batch, 1].
        label_length: How many labels each example has, ints [batch, 1].

    Returns:
        A tensor [batch, 1] of floats.
    """
    lengths = ops.cast(ops.reshape(label_length, [-1]), "int32")
    steps = ops.cast(ops.reshape(input_length, [-1]), "int32")
    labels = ops.cast(ctc_label_dense_to_sparse(y_true, lengths), "int32")
    scores = ops.log(ops.transpose(y_pred, [1, 0, 2]) + epsilon())
    return ops.expand_dims(ops.ctc_loss(inputs=scores, labels=labels, sequence_length=steps), 1)


def ctc_decode(
    y_pred: TensorLike,
    input_length: TensorLike,
    greedy: bool = True,
    beam_width: int = 100,
    top_paths: int = 1,
) -> Any:
    """The likeliest labels, -1 where there are none, and their log-probabilities (tf.keras.backend.ctc_decode).

    Args:
        y_pred: The probabilities of softmax, floats [batch, steps, classes]; the last class is the blank.
        input_length: How many steps each example has, ints [batch].
        greedy: Whether the likeliest class of each step is taken, rather than a beam searched.
        beam_width: How many prefixes the search keeps.
        top_paths: How many of the likeliest the search gives.

    Returns:
        A list of int tensors [batch, labels], one for each path, and the log-probabilities [batch, paths].
    """
    scores = ops.log(ops.transpose(y_pred, [1, 0, 2]) + epsilon())
    steps = ops.cast(input_length, "int32")
    if greedy:
        decoded, probability = ops.ctc_greedy_decoder(inputs=scores, sequence_length=steps)
    else:
        decoded, probability = ops.ctc_beam_search_decoder(
            inputs=scores, sequence_length=steps, beam_width=beam_width, top_paths=top_paths
        )
    return [
        ops.sparse_to_dense(d.indices, d.dense_shape, d.values, default_value=-1) for d in decoded
    ], probability
