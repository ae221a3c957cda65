"""Layers with windows: convolutions of one to three dimensions, transposed, dilated, depthwise, and pools."""

from __future__ import annotations

from .drawing import Drawing, NoneFitsError
from .program import Value


def _after(n: int, window: int, stride: int, padding: str, dilation: int = 1) -> int:
    reach = (window - 1) * dilation + 1
    count = -(-n // stride) if padding == "SAME" else (n - reach) // stride + 1
    if count < 1:
        raise NoneFitsError
    return count


def _image(d: Drawing, rank: int) -> Value:
    """A batch of images of at most eight channels and three places a side."""
    return d.batched(rank, fits=lambda s: s[-1] <= 8 and min(s[1:-1]) >= 2)


def _convolved(d: Drawing, kind: str, text: str, x: Value, extent: list[int], filters: int) -> None:
    d.give(kind, d.activation(text), [x], (-1, *extent, filters))


def conv2d(d: Drawing) -> None:
    """tf.layers.conv2d with strides or dilations, with and without bias."""
    x = _image(d, 4)
    filters, padding = d.choose((2, 3, 4, 8)), d.choose(("SAME", "VALID"))
    window = [d.choose((1, 2, 3)), d.choose((1, 2, 3, 3))]
    dilation = d.choose((1, 1, 1, 2))
    stride = d.choose((1, 1, 2)) if dilation == 1 else 1
    extent = [_after(n, w, stride, padding, dilation) for n, w in zip(x.shape[1:], window)]
    fan = window[0] * window[1] * x.shape[-1]
    bias = d.choose((f"bias_initializer={d.start(4)}", "use_bias=False"))
    text = (
        f'tf.layers.conv2d({x}, {filters}, {window}, strides={stride}, padding="{padding}", dilation_rate={dilation}, '
        f'kernel_initializer={d.start(fan)}, {bias}, name="{d.name("conv")}")'
    )
    _convolved(d, "conv2d", text, x, extent, filters)


def conv2d_function(d: Drawing) -> None:
    """tf.nn.conv2d of a filter that other layers may take, with different strides for rows and columns."""
    x = _image(d, 4)
    filters, padding = d.choose((2, 3, 4)), d.choose(("SAME", "VALID"))
    strides = [1, d.choose((1, 2)), d.choose((1, 2)), 1]
    extent = [
        _after(n, 3 if padding == "SAME" else 2, s, padding) for n, s in zip(x.shape[1:3], strides[1:3])
    ]
    window = 3 if padding == "SAME" else 2
    w = d.variable((window, window, x.shape[-1], filters), window * window * x.shape[-1])
    text = f'tf.nn.conv2d({x}, {w}, {strides}, "{padding}")'
    d.give("conv2d_function", d.activation(text), [x, w], (-1, *extent, filters))


def conv1d(d: Drawing) -> None:
    """tf.layers.conv1d over a sequence, also dilated, also causal."""
    x = d.batched(3, fits=lambda s: s[-1] <= 8 and s[1] >= 2)
    filters, window, dilation = d.choose((2, 3, 4)), d.choose((2, 3)), d.choose((1, 1, 2))
    start = d.start(window * x.shape[-1])
    if d.often(0.3):
        source, padding = f"tf.pad({x}, [[0, 0], [{(window - 1) * dilation}, 0], [0, 0]])", "VALID"
        length = x.shape[1]
    else:
        source, padding = str(x), d.choose(("SAME", "VALID"))
        length = _after(x.shape[1], window, 1, padding, dilation)
    text = (
        f'tf.layers.conv1d({source}, {filters}, {window}, padding="{padding}", dilation_rate={dilation}, '
        f'kernel_initializer={start}, name="{d.name("conv")}")'
    )
    _convolved(d, "conv1d", text, x, [length], filters)


def conv3d(d: Drawing) -> None:
    """tf.layers.conv3d."""
    x = d.batched(5, fits=lambda s: s[-1] <= 4)
    padding = d.choose(("SAME", "VALID"))
    extent = [_after(n, min(2, n), 1, padding) for n in x.shape[1:4]]
    window = [min(2, n) for n in x.shape[1:4]]
    text = (
        f'tf.layers.conv3d({x}, 2, {window}, padding="{padding}", kernel_initializer={d.start(8 * x.shape[-1])}, '
        f'name="{d.name("conv")}")'
    )
    _convolved(d, "conv3d", text, x, extent, 2)


def depthwise(d: Drawing) -> None:
    """tf.nn.depthwise_conv2d, one or two filters a channel."""
    x = _image(d, 4)
    many, padding, stride = d.choose((1, 2)), d.choose(("SAME", "VALID")), d.choose((1, 1, 2))
    extent = [_after(n, 2, stride, padding) for n in x.shape[1:3]]
    w = d.variable((2, 2, x.shape[-1], many), 4)
    text = f'tf.nn.depthwise_conv2d({x}, {w}, [1, {stride}, {stride}, 1], "{padding}")'
    d.give("depthwise", d.activation(text), [x, w], (-1, *extent, x.shape[-1] * many))


def separable(d: Drawing) -> None:
    """tf.layers.separable_conv2d."""
    x = _image(d, 4)
    filters, padding, stride = d.choose((2, 3)), d.choose(("SAME", "VALID")), d.choose((1, 2))
    extent = [_after(n, 2, stride, padding) for n in x.shape[1:3]]
    text = (
        f'tf.layers.separable_conv2d({x}, {filters}, 2, strides={stride}, padding="{padding}", '
        f'depthwise_initializer={d.start(4)}, pointwise_initializer={d.start(x.shape[-1])}, name="{d.name("conv")}")'
    )
    _convolved(d, "separable", text, x, extent, filters)


def transposed(d: Drawing) -> None:
    """tf.layers.conv2d_transpose."""
    x = d.batched(4, fits=lambda s: s[-1] <= 8 and s[1] * s[2] <= 16)
    filters, padding, stride = d.choose((2, 3)), d.choose(("SAME", "VALID")), d.choose((1, 2))
    window = d.choose((2, 3))
    extent = [n * stride + (max(window - stride, 0) if padding == "VALID" else 0) for n in x.shape[1:3]]
    text = (
        f'tf.layers.conv2d_transpose({x}, {filters}, {window}, strides={stride}, padding="{padding}", '
        f'kernel_initializer={d.start(window * window * x.shape[-1])}, name="{d.name("conv")}")'
    )
    _convolved(d, "transposed", text, x, extent, filters)


def pool2d(d: Drawing) -> None:
    """Pools of images with strides of their own."""
    x = _image(d, 4)
    kind, padding = d.choose(("max", "avg")), d.choose(("SAME", "VALID"))
    window, stride = d.choose((2, 3)), d.choose((1, 2))
    extent = [_after(n, window, stride, padding) for n in x.shape[1:3]]
    text = f'tf.nn.{kind}_pool({x}, [1, {window}, {window}, 1], [1, {stride}, {stride}, 1], "{padding}")'
    d.give(f"{kind}_pool", text, [x], (-1, *extent, x.shape[-1]), smooth=kind == "avg")


def pool1d(d: Drawing) -> None:
    """Pools of sequences."""
    x = d.batched(3, fits=lambda s: s[1] >= 2)
    kind = d.choose(("max", "average"))
    text = f'tf.layers.{kind}_pooling1d({x}, 2, {d.choose((1, 2))}, padding="same")'
    stride = int(text.split(", ")[2])
    d.give(f"{kind}_pool1d", text, [x], (-1, -(-x.shape[1] // stride), x.shape[-1]), smooth=kind != "max")


def pool3d(d: Drawing) -> None:
    """Pools of volumes."""
    x = d.batched(5)
    kind = d.choose(("max", "avg"))
    extent = [-(-n // 2) for n in x.shape[1:4]]
    text = f'tf.nn.{kind}_pool3d({x}, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "SAME")'
    d.give(f"{kind}_pool3d", text, [x], (-1, *extent, x.shape[-1]), smooth=kind == "avg")


def as_image(d: Drawing) -> None:
    """A sequence or a matrix seen as images, or as volumes."""
    x = d.batched(2, 3, 4)
    count = 1
    for n in x.shape[1:]:
        count *= n
    shapes = {
        12: (3, 2, 2),
        16: (4, 4, 1),
        18: (3, 3, 2),
        24: (3, 4, 2),
        36: (3, 4, 3),
        32: (4, 4, 2),
        8: (2, 2, 2),
    }
    shapes |= {48: (4, 4, 3), 72: (4, 6, 3), 64: (2, 4, 4, 2), 96: (4, 4, 6), 144: (6, 6, 4)}
    if count not in shapes:
        raise NoneFitsError
    shape = (-1, *shapes[count])
    d.give("as_image", f"tf.reshape({x}, {list(shape)})", [x], shape)


KINDS = {
    conv2d: 5, conv2d_function: 2, conv1d: 3, conv3d: 2, depthwise: 2, separable: 1, transposed: 2, pool2d: 3,
    pool1d: 1, pool3d: 1, as_image: 2,
}  # fmt: skip
"""Layers and how often each is drawn."""
