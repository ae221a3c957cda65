"""Layers of arithmetic: functions of elements, reductions, softmax, normalization, cumulative sums, truth values."""

from __future__ import annotations

from .drawing import Drawing, NoneFitsError
from .program import Shape, Value


def unary(d: Drawing) -> None:
    """One function, or several after one another."""
    x = d.pick()
    text = str(x)
    for _ in range(d.choose((1, 1, 2, 3))):
        text = d.choose(
            ("tf.tanh({})", "tf.sigmoid({})", "tf.nn.relu({})", "tf.exp(-tf.square({}))", "tf.sin({})", "tf.erf({})",
             "tf.log1p(tf.abs({}))", "tf.sqrt(1.0 + tf.square({}))", "0.5 * {}", "1.0 - {}", "tf.nn.softplus({})",
             "tf.clip_by_value({}, -0.7, 0.7)", "tf.nn.elu({})", "tf.abs({})", "tf.square(tf.tanh({}))",
             "tf.pow(1.5 + tf.tanh({}), 1.3)", "tf.rsqrt(1.0 + tf.square({}))", "tf.nn.leaky_relu({})")
        ).format(text)  # fmt: skip
    smooth = not any(word in text for word in ("relu", "clip", "elu", "abs"))
    d.give("unary", text, [x], x.shape, smooth=smooth)


def binary(d: Drawing) -> None:
    """Two values of one shape."""
    x = d.pick()
    y = d.choose([v for v in d.values if (v.dtype, v.shape) == (x.dtype, x.shape)])
    text = d.choose(
        ("{0} + {1}", "{0} * tf.tanh({1})", "{0} - {1}", "{0} * {1}", "tf.maximum({0}, {1})", "{0} * tf.sigmoid({1})",
         "{0} / (1.2 + tf.cos({1}))", "tf.where({0} > {1}, {0}, 0.5 * {1})", "tf.squared_difference({0}, {1})",
         "tf.where(tf.logical_and({0} > 0.0, {1} > 0.1), {1}, {0})", "0.7 * {0} + 0.3 * {1}")
    ).format(x, y)  # fmt: skip
    d.give("binary", text, [x, y], x.shape, smooth="where" not in text and "max" not in text)


def many_terms(d: Drawing) -> None:
    """The sum of more terms than a loop nest takes, all of one value, or of several."""
    x = d.pick()
    count = d.choose((5, 17, 18, 24))
    same = [v for v in d.values if (v.dtype, v.shape) == (x.dtype, x.shape)]
    parts = [x, *(d.choose(same) for _ in range(2))]
    inner = d.choose(
        ("tf.sin({0} * (0.2 + 0.1 * k))", "tf.tanh({1} + 0.1 * k) * {0}", "{2} * (0.3 * k - 1.0)")
    ).format(*parts)
    terms = f"[{inner} for k in range({count})]"
    scale = f"{1 / count:.4f}"
    text = d.choose((f"tf.add_n({terms}) * {scale}", f"sum({terms}[1:], {x}) * {scale}"))
    d.give("many_terms", text, parts, x.shape)


def many_results(d: Drawing) -> None:
    """More than twenty sums of functions of one value, put together."""
    x = d.pick(1, 2, 3, 4, fits=lambda s: s[-1] > 0)
    count = d.choose((4, 12, 23, 26))
    axes = list(range(len(x.shape)))
    text = (
        f"tf.stack([tf.reduce_{d.choose(('sum', 'mean', 'max'))}(tf.tanh({x} * (0.1 * k - 1.0)), {axes}) * 0.1 "
        f"for k in range({count})])"
    )
    d.give("many_results", text, [x], (count,), smooth="max" not in text)


def reduce(d: Drawing) -> None:
    """A reduction over one or several axes, which stay as ones or go."""
    x = d.pick(1, 2, 3, 4, 5)
    axes = sorted(d.chance.sample(range(len(x.shape)), d.chance.randint(1, len(x.shape))))
    if len(axes) == len(x.shape) and d.often(0.7):
        axes = axes[1:] or axes
    keep = d.often(0.4)
    shape = tuple(1 if k in axes else n for k, n in enumerate(x.shape) if keep or k not in axes)
    kind = d.choose(("sum", "mean", "mean", "max", "min", "logsumexp", "prod"))
    written = [a - len(x.shape) if d.often(0.3) else a for a in axes]
    inner = {"sum": f"0.3 * {x}", "prod": f"1.0 + 0.2 * tf.tanh({x})"}.get(kind, str(x))
    text = f"tf.reduce_{kind}({inner}, {written}{', keepdims=True' if keep else ''})"
    d.give(f"reduce_{kind}", text, [x], shape, smooth=kind in ("sum", "mean"))


def softmax(d: Drawing) -> None:
    """Softmax or its logarithm over an axis."""
    x = d.pick(1, 2, 3, 4)
    axis = d.choose((-1, -1, d.chance.randrange(len(x.shape))))
    kind = d.choose(("softmax", "softmax", "log_softmax"))
    last = axis in (-1, len(x.shape) - 1)
    d.give(f"{kind}", f"tf.nn.{kind}({x}, axis={axis})", [x], x.shape, smooth=last)


def accumulate(d: Drawing) -> None:
    """Cumulative sums and products, from either end, with and without the element itself."""
    x = d.pick(1, 2, 3, 4)
    axis = d.chance.randrange(len(x.shape))
    options = f"{axis}, exclusive={d.often()}, reverse={d.often()}"
    if d.often(0.8):
        text = f"0.5 * tf.cumsum({x}, {options})"
    else:
        text = f"tf.cumprod(1.0 + 0.2 * tf.tanh({x}), {options})"
    d.give("accumulate", text, [x], x.shape, smooth="prod" not in text)


def batch_norm(d: Drawing) -> None:
    """tf.layers.batch_normalization, learning or not, over the last axis."""
    x = d.batched(2, 3, 4)
    learning = d.often(0.7)
    text = (
        f"tf.layers.batch_normalization({x}, training={learning}, epsilon=0.05, momentum=0.8, "
        f'gamma_initializer={d.start(2)}, beta_initializer={d.start(4)}, name="{d.name("norm")}")'
    )
    d.give("batch_norm_learning" if learning else "batch_norm", text, [x], x.shape, smooth=False)


def moments(d: Drawing) -> None:
    """Normalization written by hand: of a layer, of a batch, of groups of axes."""
    x = d.pick(2, 3, 4, 5)
    axes = sorted(d.chance.sample(range(len(x.shape)), d.choose((1, 1, 2))))
    if d.often(0.5):
        axes = [len(x.shape) - 1]
    mean, variance = d.name("t"), d.name("t")
    value = d.made("F", x.shape, x.smooth)
    kept: Shape = (x.shape[-1],) if x.shape[-1] > 0 else ()
    scale, shift = d.variable(kept, 2), d.variable(kept, 4)
    if d.often():
        text = (
            f"{mean}, {variance} = tf.nn.moments({x}, {axes}, keep_dims=True)\n"
            f"{value} = tf.nn.batch_normalization({x}, {mean}, {variance}, {shift}, 1.0 + {scale}, 0.03)"
        )
    else:
        text = (
            f"{mean} = {x} - tf.reduce_mean({x}, {axes}, keepdims=True)\n"
            f"{variance} = tf.reduce_mean(tf.square({mean}), {axes}, keepdims=True)\n"
            f"{value} = {mean} * tf.rsqrt({variance} + 0.03) * (1.0 + {scale}) + {shift}"
        )
    d.step("moments", text, [x, scale, shift], [value])


def unit_length(d: Drawing) -> None:
    """Rows of length one, or the squashing of capsules."""
    x = d.pick(2, 3, 4)
    axis = d.chance.randrange(len(x.shape))
    if d.often():
        text = f"tf.nn.l2_normalize({x}, {axis}, epsilon=0.01)"
        d.give("unit_length", text, [x], x.shape, smooth=False)
        return
    name, value = d.name("t"), d.made("F", x.shape, x.smooth)
    text = (
        f"{name} = tf.reduce_sum(tf.square({x}), {axis}, keepdims=True)\n"
        f"{value} = {x} * {name} / ((1.0 + {name}) * tf.sqrt({name} + 0.01))"
    )
    d.step("squash", text, [x], [value])


def gates(d: Drawing) -> None:
    """Halves of a value, of which one opens the other."""
    x = d.pick(2, 3, 4, fits=lambda s: s[-1] > 0 and s[-1] % 2 == 0)
    a, b = d.name("t"), d.name("t")
    value = d.made("F", (*x.shape[:-1], x.shape[-1] // 2), x.smooth)
    d.step("gates", f"{a}, {b} = tf.split({x}, 2, -1)\n{value} = {a} * tf.sigmoid({b})", [x], [value])


def by_rank(d: Drawing) -> None:
    """What is largest: its value, its place, its place as a vector of zeros and a one."""
    x = d.pick(2, 3, 4, fits=lambda s: s[-1] > 1)
    n = x.shape[-1]
    kind = d.choose(("top", "argmax", "sorted", "mask"))
    if kind == "top":
        k = d.chance.randint(1, n)
        d.give("top_k", f"tf.nn.top_k({x}, {k})[0]", [x], (*x.shape[:-1], k), smooth=False)
    elif kind == "argmax":
        text = f"tf.one_hot(tf.argmax({x}, -1), {n}, dtype=F) * {x}"
        d.give("argmax", text, [x], x.shape, smooth=False)
    elif kind == "sorted":
        text = f"tf.nn.top_k({x}, {n})[0]"
        d.give("sorted", text, [x], x.shape, smooth=False)
    else:
        # Not the mean itself: where a row's values are equal, that would be a comparison with their own rounding.
        text = f"{x} * tf.cast({x} > tf.reduce_mean({x}, -1, keepdims=True) - 0.0173, F)"
        d.give("mask", text, [x], x.shape, smooth=False)


def count(d: Drawing) -> None:
    """Integers and truth values: how many places fulfil what, and a float of it."""
    x = d.pick(1, 2, 3)
    ints: Value = d.made("int32", x.shape)
    d.step("to_int", f"{ints} = tf.cast(tf.floor(tf.tanh({x}) * 5.0), tf.int32)", [x], [ints], hidden=True)
    axis = d.chance.randrange(len(x.shape))
    kept = tuple(1 if k == axis else n for k, n in enumerate(x.shape))
    inner = d.choose(
        (f"tf.reduce_sum({ints} % 3, {axis}, keepdims=True)", f"tf.reduce_max({ints} * 2 - 1, {axis}, keepdims=True)",
         f"tf.reduce_sum(tf.cast(tf.equal({ints} // 2, 0), tf.int32), {axis}, keepdims=True)",
         f"tf.cast(tf.reduce_any({ints} > 1, {axis}, keepdims=True), tf.int32)")
    )  # fmt: skip
    d.give("count", f"tf.cast({inner}, F) * 0.1", [ints], kept, smooth=False)


def check(d: Drawing) -> None:
    """A value with other values computed beside it that nobody takes, and one that must hold."""
    x = d.pick(1, 2, 3)
    if len(x.shape) < 1:
        raise NoneFitsError
    value = d.made("F", x.shape, x.smooth)
    text = (
        f"with tf.control_dependencies([tf.assert_less(tf.reduce_min({x}), tf.constant(1e30, F))]):\n"
        f"    {value} = tf.identity({x}) * 0.9"
    )
    d.step("check", text, [x], [value])


KINDS = {
    unary: 6, binary: 5, many_terms: 3, many_results: 2, reduce: 5, softmax: 3, accumulate: 2, batch_norm: 2,
    moments: 3, unit_length: 2, gates: 2, by_rank: 2, count: 1, check: 1,
}  # fmt: skip
"""Layers and how often each is drawn."""
