"""Values seen otherwise: reshapes, transposes, slices, and values put together."""

from __future__ import annotations

from .drawing import Drawing, NoneFitsError
from .program import Value, code, dims


def _settled(shape: tuple[int, ...]) -> bool:
    return sum(n < 0 for n in shape) <= 1


def merge_axes(d: Drawing) -> None:
    """Two axes next to each other become one."""
    x = d.pick(2, 3, 4, 5, fits=_settled)
    at = d.chance.randrange(len(x.shape) - 1)
    shape = (*x.shape[:at], x.shape[at] * x.shape[at + 1], *x.shape[at + 2 :])
    d.give("merge_axes", f"tf.reshape({x}, {dims(shape)})", [x], shape)


def split_axis(d: Drawing) -> None:
    """An axis becomes two."""
    x = d.pick(1, 2, 3, 4, fits=lambda s: _settled(s) and any(abs(n) in (4, 6, 8, 9, 12) for n in s))
    at = d.choose([k for k, n in enumerate(x.shape) if abs(n) in (4, 6, 8, 9, 12)])
    n = x.shape[at]
    part = d.choose([k for k in (2, 3, 4) if abs(n) % k == 0])
    pair = (n // part, part) if n < 0 or d.often() else (part, n // part)
    shape = (*x.shape[:at], *pair, *x.shape[at + 1 :])
    d.give("split_axis", f"tf.reshape({x}, {dims(shape)})", [x], shape)


def flatten(d: Drawing) -> None:
    """All axes but the first become one."""
    x = d.batched(3, 4, 5)
    shape = (-1, abs(x.shape[1]))
    for n in x.shape[2:]:
        shape = (-1, shape[1] * n)
    d.give("flatten", d.choose((f"tf.reshape({x}, {dims(shape)})", f"tf.layers.flatten({x})")), [x], shape)


def transpose(d: Drawing) -> None:
    """Axes in another order."""
    x = d.pick(2, 3, 4, 5)
    order = list(range(len(x.shape)))
    while order == sorted(order):
        d.chance.shuffle(order)
    shape = tuple(x.shape[k] for k in order)
    d.give("transpose", f"tf.transpose({x}, {order})", [x], shape)


def turn_back(d: Drawing) -> None:
    """The batch becomes the first axis again."""
    x = d.pick(2, 3, 4, 5, fits=lambda s: -1 in s[1:] and _settled(s))
    at = x.shape.index(-1)
    order = [at, *[k for k in range(len(x.shape)) if k != at]]
    d.give("turn_back", f"tf.transpose({x}, {order})", [x], tuple(x.shape[k] for k in order))


def expand(d: Drawing) -> None:
    """An axis of one, of which more than one become by tiling now and then."""
    x = d.pick(0, 1, 2, 3, 4)
    at = d.chance.randrange(len(x.shape) + 1)
    shape = (*x.shape[:at], 1, *x.shape[at:])
    text = f"tf.expand_dims({x}, {d.choose((at, at - len(shape)))})"
    if d.often(0.3):
        times = [3 if k == at else 1 for k in range(len(shape))]
        text, shape = f"tf.tile({text}, {times})", (*x.shape[:at], 3, *x.shape[at:])
    d.give("expand", text, [x], shape)


def squeeze(d: Drawing) -> None:
    """Axes of one go."""
    x = d.pick(fits=lambda s: 1 in s)
    at = d.choose([k for k, n in enumerate(x.shape) if n == 1])
    d.give("squeeze", f"tf.squeeze({x}, [{at}])", [x], (*x.shape[:at], *x.shape[at + 1 :]))


def strided_slice(d: Drawing) -> None:
    """A part along one or several axes, also backwards, also of one place."""
    x = d.pick(1, 2, 3, 4, 5, fits=lambda s: any(n > 1 for n in s))
    texts, shape = [], []
    for n in x.shape:
        kind = d.choose(("all", "from", "to", "every", "back", "one", "new")) if n > 1 else "all"
        if n < 0 and d.often(0.2):
            kind = "back"
        if kind == "from":
            texts.append("1:")
            shape.append(n - 1)
        elif kind == "to":
            texts.append(":-1")
            shape.append(n - 1)
        elif kind == "every":
            texts.append("::2")
            shape.append((n + 1) // 2)
        elif kind == "back":
            texts.append("::-1")
            shape.append(n)
        elif kind == "one":
            texts.append(str(d.chance.randrange(-n, n)))
        elif kind == "new":
            texts += ["tf.newaxis", ":"]
            shape += [1, n]
        else:
            texts.append(":")
            shape.append(n)
    d.give("strided_slice", f"{x}[{', '.join(texts)}]", [x], tuple(shape))


def slice_(d: Drawing) -> None:
    """tf.slice."""
    x = d.pick(2, 3, 4, fits=lambda s: any(n > 1 for n in s))
    begin, size, shape = [], [], []
    for n in x.shape:
        first = d.chance.randrange(n) if n > 1 else 0
        count = d.chance.randint(1, n - first) if n > 1 else -1
        begin.append(first)
        size.append(count)
        shape.append(count if n > 1 else n)
    d.give("slice", f"tf.slice({x}, {begin}, {size})", [x], tuple(shape))


def _like(d: Drawing, x: Value, at: int) -> list[Value]:
    """Values that differ from x in nothing but the size along an axis."""
    return [
        v
        for v in d.values
        if v.dtype == x.dtype
        and len(v.shape) == len(x.shape)
        and all(a == b or k == at for k, (a, b) in enumerate(zip(v.shape, x.shape)))
        and (v.shape[at] < 0) == (x.shape[at] < 0)
    ]


def concat(d: Drawing) -> None:
    """Two to four values after one another, perhaps the same one twice."""
    x = d.pick(1, 2, 3, 4, 5)
    at = d.chance.randrange(len(x.shape))
    parts = [x, *(d.choose(_like(d, x, at)) for _ in range(d.chance.randint(1, 3)))]
    d.chance.shuffle(parts)
    shape = (*x.shape[:at], sum(p.shape[at] for p in parts), *x.shape[at + 1 :])
    d.give(
        "concat",
        f"tf.concat([{', '.join(map(str, parts))}], {d.choose((at, at - len(shape)))})",
        parts,
        shape,
    )


def stack(d: Drawing) -> None:
    """Two or three values along a new axis."""
    x = d.pick(0, 1, 2, 3, 4)
    same = [v for v in d.values if (v.dtype, v.shape) == (x.dtype, x.shape)]
    parts = [x, *(d.choose(same) for _ in range(d.chance.randint(1, 2)))]
    at = d.chance.randrange(len(x.shape) + 1)
    shape = (*x.shape[:at], len(parts), *x.shape[at:])
    d.give("stack", f"tf.stack([{', '.join(map(str, parts))}], {at})", parts, shape)


def split(d: Drawing) -> None:
    """Parts along an axis, alike or not; or all places of it."""
    x = d.pick(1, 2, 3, 4, fits=lambda s: any(n > 1 for n in s))
    at = d.choose([k for k, n in enumerate(x.shape) if n > 1])
    n = x.shape[at]
    even = [k for k in (2, 3) if n % k == 0]
    kind = d.choose(("even", "uneven", "unstack")) if even else d.choose(("uneven", "unstack"))
    if kind == "unstack":
        lengths: list[int | None] = [None] * n
        text = f"tf.unstack({x}, axis={at})"
    elif kind == "even":
        count = d.choose(even)
        lengths = [n // count] * count
        text = f"tf.split({x}, {count}, {at})"
    else:
        first = d.chance.randint(1, n - 1)
        lengths = [first, n - first]
        text = f"tf.split({x}, {lengths}, {at})"
    makes = [
        d.made("F", (*x.shape[:at], *(() if m is None else (m,)), *x.shape[at + 1 :]), x.smooth)
        for m in lengths
    ]
    d.step(f"split_{kind}", f"{', '.join(map(str, makes))} = {text}", [x], makes)


def pad(d: Drawing) -> None:
    """Zeros, or what is near, around a value."""
    x = d.pick(1, 2, 3, 4, fits=lambda s: any(n > 1 for n in s))
    paddings = [[0, 0] if n < 2 else [d.choose((0, 1)), d.choose((0, 1, 2))] for n in x.shape]
    shape = tuple(n if n < 0 else n + a + b for n, (a, b) in zip(x.shape, paddings))
    mode = d.choose(("", "", ', mode="REFLECT"', ', mode="SYMMETRIC"', ", constant_values=0.5"))
    if "REFLECT" in mode:
        paddings = [[min(a, 1), min(b, 1)] for a, b in paddings]
        shape = tuple(n if n < 0 else n + a + b for n, (a, b) in zip(x.shape, paddings))
    d.give("pad", f"tf.pad({x}, {paddings}{mode})", [x], shape)


def tile(d: Drawing) -> None:
    """A value several times."""
    x = d.pick(1, 2, 3, 4)
    times = [d.choose((1, 1, 2, 3)) for _ in x.shape]
    if all(t == 1 for t in times):
        times[-1] = 2
    d.give("tile", f"tf.tile({x}, {times})", [x], tuple(n * t for n, t in zip(x.shape, times)))


def reverse(d: Drawing) -> None:
    """The other way round along axes."""
    x = d.pick(1, 2, 3, 4)
    axes = sorted(d.chance.sample(range(len(x.shape)), d.chance.randint(1, min(2, len(x.shape)))))
    d.give("reverse", f"tf.reverse({x}, {axes})", [x], x.shape)


def reverse_sequence(d: Drawing) -> None:
    """Each example the other way round, up to its length."""
    x = d.batched(3, 4)
    lengths = d.fed("int32", (-1,), x.shape[1] + 1)
    text = f"tf.reverse_sequence({x}, {lengths}, seq_axis=1, batch_axis=0)"
    d.give("reverse_sequence", text, [x, lengths], x.shape, smooth=False)


def broadcast(d: Drawing) -> None:
    """Two values whose shapes are made alike by repetition."""
    x = d.pick(1, 2, 3, 4)
    axes = [k for k, n in enumerate(x.shape) if n != 1]
    if not axes:
        raise NoneFitsError
    kept = sorted(d.chance.sample(axes, d.chance.randint(0, len(axes))))
    shape = tuple(n if k in kept else 1 for k, n in enumerate(x.shape))
    others = [
        v
        for v in d.values
        if v.dtype == "F" and len(v.shape) <= len(x.shape) and v is not x and _spreads(v.shape, x.shape)
    ]
    if others and d.often(0.7):
        y = d.choose(others)
    elif any(n < 0 for n in shape):
        axes = [k for k in range(len(shape)) if k not in kept]
        y = d.give("mean", f"tf.reduce_mean({x}, {axes}, keepdims=True)", [x], shape)
    else:
        while shape and shape[0] == 1 and d.often():
            shape = shape[1:]
        y = d.variable(shape, 1)
    text = d.choose(
        ("{0} * {1}", "{0} + {1}", "{1} - {0}", "tf.maximum({0}, {1})", "{0} / (1.5 + tf.square({1}))",
         "tf.minimum({1}, {0})", "tf.squared_difference({0}, {1})",
         "tf.where({0} > {1} + 0.0 * {0}, {0}, {1} + 0.0 * {0})")
    )  # fmt: skip
    d.give("broadcast", text.format(x, y), [x, y], x.shape, smooth="where" not in text and "imum" not in text)


def _spreads(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return all(a == b or a == 1 for a, b in zip(reversed(shape), reversed(other)))


def cast(d: Drawing) -> None:
    """By way of a wider float."""
    x = d.pick()
    text = f"tf.cast({d.function(f'tf.cast({x}, tf.float64)')}, {code('F')})"
    d.give("cast", text, [x], x.shape)


KINDS = {
    merge_axes: 3, split_axis: 3, flatten: 1, transpose: 4, turn_back: 3, expand: 2, squeeze: 2, strided_slice: 4,
    slice_: 2, concat: 3, stack: 2, split: 3, pad: 2, tile: 2, reverse: 1, reverse_sequence: 1, broadcast: 6, cast: 1,
}  # fmt: skip
"""Layers and how often each is drawn."""
