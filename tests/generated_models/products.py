"""Layers that multiply matrices: dense, einsum, attention, tied weights, sums of products."""

from __future__ import annotations

from .drawing import Drawing, NoneFitsError
from .program import Shape, Value, dims


def _last(most: int = 9) -> object:
    return lambda s: len(s) > 1 and 1 <= s[-1] <= most and sum(n < 0 for n in s) <= 1


def _dense_text(d: Drawing, x: Value, units: int) -> str:
    name = d.name("dense")
    bias = d.choose((f", bias_initializer={d.start(4)}", ", use_bias=False"))
    first = d.start(x.shape[-1])
    return d.activation(f'tf.layers.dense({x}, {units}, kernel_initializer={first}{bias}, name="{name}")')


def dense(d: Drawing) -> None:
    """tf.layers.dense over two to four dimensions."""
    x = d.pick(2, 3, 4, fits=_last())
    units = d.size()
    d.give("dense", _dense_text(d, x, units), [x], (*x.shape[:-1], units))


def fan_out(d: Drawing) -> None:
    """One value taken by two to five dense layers, as queries, keys and values are made; now and then of one kernel."""
    x = d.pick(2, 3, 4, fits=_last())
    if d.often(0.6):
        x = d.give("activate", d.function(str(x)), [x], x.shape)
    units, count = d.size(), d.choose((2, 3, 3, 4, 5))
    made = [d.give("fan_out", _dense_text(d, x, units), [x], (*x.shape[:-1], units)) for _ in range(count)]
    if d.often():
        d.give("fan_in", " + ".join(map(str, made)), made, made[0].shape)


def matmul(d: Drawing) -> None:
    """A matrix by a weight that other layers may have, also transposed (tied)."""
    x = d.pick(2, fits=_last())
    n = x.shape[-1]
    tied = [w for w in d.variables if len(w.shape) == 2 and n in w.shape]
    if tied and d.often(0.6):
        w = d.choose(tied)
        turned = w.shape[0] != n or (w.shape[1] == n and d.often())
    else:
        turned = d.often(0.3)
        w = d.variable((d.size(), n) if turned else (n, d.size()), n)
    text = f"tf.matmul({x}, {w}{', transpose_b=True' if turned else ''})"
    d.give("matmul", d.activation(text), [x, w], (x.shape[0], w.shape[0] if turned else w.shape[1]))


def tensordot(d: Drawing) -> None:
    """tf.tensordot over one or two axes of values of two to four dimensions."""
    x = d.batched(2, 3, 4)
    if len(x.shape) > 2 and d.often(0.4):
        axes = sorted(d.chance.sample(range(1, len(x.shape)), 2))
    else:
        axes = [d.chance.randrange(1, len(x.shape))]
    out = tuple(d.size() for _ in range(d.choose((1, 1, 2))))
    inner = tuple(x.shape[k] for k in axes)
    w = d.variable((*inner, *out), max(1, inner[0] * inner[-1]))
    shape = (*[n for k, n in enumerate(x.shape) if k not in axes], *out)
    text = f"tf.tensordot({x}, {w}, [{axes}, {list(range(len(axes)))}])"
    d.give("tensordot", d.activation(text), [x, w], shape)


_EINSUMS = {
    2: ("ij,jk->ik", "ij,kj->ki", "ij,kj->ik", "ij,jkl->ikl", "ij,ik->jk", "ij,jk->ki"),
    3: (
        "bij,jk->bik",
        "bij,kj->bki",
        "bij,jhd->bihd",
        "bij,ik->bjk",
        "bij,ijk->bk",
        "bij,jhd->bhid",
        "bij,kj->ikb",
    ),
    4: ("bijk,kl->bijl", "bijk,jkl->bil", "bijk,jl->bilk", "bihd,hdk->bik", "bijk,lk->blij"),
}


def einsum(d: Drawing) -> None:
    """tf.einsum of a value with weights."""
    x = d.batched(2, 3, 4)
    equation = d.choose(_EINSUMS[len(x.shape)])
    first, rest = equation.split(",")
    second, result = rest.split("->")
    extents = dict(zip(first, x.shape))
    for letter in second:
        extents.setdefault(letter, d.size())
    if any(extents[letter] < 0 for letter in second):
        raise NoneFitsError
    fan = 1
    for letter in set(first) & set(second):
        fan *= extents[letter]
    w = d.variable(tuple(extents[letter] for letter in second), fan)
    d.give(
        "einsum", f'tf.einsum("{equation}", {x}, {w})', [x, w], tuple(extents[letter] for letter in result)
    )


def between(d: Drawing) -> None:
    """A product of two values of three dimensions, or of one with itself, transposed as needed."""
    x = d.batched(3)
    others = [v for v in d.values if v.dtype == "F" and len(v.shape) == 3 and v.shape[0] == -1]
    y = d.choose(others)
    _, a, b = x.shape
    _, e, f = y.shape
    if b == e:
        text, shape = f"tf.matmul({x}, {y})", (-1, a, f)
    elif b == f:
        text, shape = f"tf.matmul({x}, {y}, transpose_b=True)", (-1, a, e)
    elif a == e:
        text, shape = f"tf.matmul({x}, {y}, transpose_a=True)", (-1, b, f)
    elif a == f:
        text, shape = f"tf.matmul({y}, {x})", (-1, e, b)
    else:
        raise NoneFitsError
    d.give("between", d.function(f"0.5 * {text}"), [x, y], shape)


def attention(d: Drawing) -> None:
    """Attention with one to three heads, perhaps masked, of a value to itself or to another."""
    x = d.batched(3)
    memories = [
        v for v in d.values if v.dtype == "F" and len(v.shape) == 3 and v.shape[0] == -1 and v.shape[1] > 0
    ]
    memory = d.choose(memories) if d.often(0.4) else x
    heads, size = d.choose((1, 2, 2, 3)), d.choose((2, 3, 4))
    takes, rows = [x, memory], (x.shape[1], memory.shape[1])
    q, k, v, s, p, c = (d.name("t") for _ in range(6))
    lines = []
    for name, source, length in ((q, x, rows[0]), (k, memory, rows[1]), (v, memory, rows[1])):
        lines.append(
            f"{name} = tf.layers.dense({source}, {heads * size}, kernel_initializer={d.start(source.shape[-1])}, "
            f'name="{d.name("dense")}")'
        )
        lines.append(
            f"{name} = tf.transpose(tf.reshape({name}, [-1, {length}, {heads}, {size}]), [0, 2, 1, 3])"
        )
    lines.append(f"{s} = tf.matmul({q}, {k}, transpose_b=True) * {size**-0.5:.4f}")
    if d.often(0.3):
        mask = d.fed("bool", (-1, rows[1]))
        takes.append(mask)
        lines.append(f"{s} += (1.0 - tf.cast({mask}, F))[:, tf.newaxis, tf.newaxis, :] * -20.0")
    elif x is memory and d.often(0.4):
        lines.append(f"{s} += (tf.matrix_band_part(tf.ones([{rows[0]}, {rows[0]}], F), -1, 0) - 1.0) * 20.0")
    lines.append(f"{p} = tf.nn.softmax({s})")
    lines.append(
        f"{c} = tf.reshape(tf.transpose(tf.matmul({p}, {v}), [0, 2, 1, 3]), [-1, {rows[0]}, {heads * size}])"
    )
    units = x.shape[-1] if d.often(0.7) else d.size()
    value = d.made("F", (-1, rows[0], units), all(t.smooth for t in takes))
    out = (
        f'tf.layers.dense({c}, {units}, kernel_initializer={d.start(heads * size)}, name="{d.name("dense")}")'
    )
    lines.append(f"{value} = {out}{f' + {x}' if units == x.shape[-1] and d.often(0.7) else ''}")
    d.step("attention", "\n".join(lines), takes, [value])


def residual(d: Drawing) -> None:
    """A value and what two dense layers make of it."""
    x = d.pick(2, 3, 4, fits=_last())
    wide = d.size()
    name, value = d.name("t"), d.made("F", x.shape, x.smooth)
    inner = d.activation(
        f'tf.layers.dense({x}, {wide}, kernel_initializer={d.start(x.shape[-1])}, name="{d.name("dense")}")'
    )
    outer = f'tf.layers.dense({name}, {x.shape[-1]}, kernel_initializer={d.start(wide)}, name="{d.name("dense")}")'
    d.step("residual", f"{name} = {inner}\n{value} = {x} + {outer}", [x], [value])


def sum_of_products(d: Drawing) -> None:
    """Two to twenty-one products of matrices added up: of one weight, of one value, or of different ones."""
    x = d.pick(2, 3, fits=_last())
    n, count = x.shape[-1], d.choose((2, 3, 4, 5, 8, 17, 21))
    units = d.size()
    shape: Shape = (-1 if any(m < 0 for m in x.shape) else 0, n)
    flat = f"tf.reshape({x}, [-1, {n}])"
    kind = d.choose(("one weight", "one value", "all"))
    weights = [d.variable((n, units), n)]
    if kind != "one weight":
        weights += [d.variable((n, units), n) for _ in range(min(count, 5) - 1)]
    list_name, rows = d.name("t"), d.name("t")
    ws = f"[{', '.join(map(str, weights))}]"
    factor = {"one value": "", "one weight": " * (0.3 + 0.1 * k)", "all": " * (0.3 + 0.1 * k)"}[kind]
    inside = f"tf.tanh({rows}{factor})" if d.often(0.6) and factor else f"{rows}{factor}"
    lines = [
        f"{rows} = {flat}",
        f"{list_name} = [tf.matmul({inside}, {ws}[k % {len(weights)}]) for k in range({count})]",
    ]
    total = f"tf.add_n({list_name})" if d.often() else f"sum({list_name}[1:], {list_name}[0])"
    value = d.made("F", (*x.shape[:-1], units), x.smooth)
    if sum(m < 0 for m in value.shape) > 1 or shape[0] == 0 and not value.shape:
        raise NoneFitsError
    lines.append(f"{value} = tf.reshape({total} * {1 / count:.4f}, {dims(value.shape)})")
    d.step("sum_of_products", "\n".join(lines), [x, *weights], [value])


def outer(d: Drawing) -> None:
    """All examples against each other: similarities, their softmax, and the values weighted by it."""
    x = d.batched(2)
    name = d.name("t")
    value = d.made("F", x.shape, x.smooth)
    text = (
        f"{name} = tf.matmul({x}, {x}, transpose_b=True)\n"
        f"{value} = tf.matmul(tf.nn.{d.choose(('softmax', 'softmax', 'tanh'))}({name}), {x})"
    )
    d.step("outer", text, [x], [value])


def experts(d: Drawing) -> None:
    """A mixture of experts: a softmax that weighs what several dense layers make."""
    x = d.batched(2)
    count, units = d.choose((2, 3)), d.size()
    gate, parts = d.name("t"), d.name("t")
    value = d.made("F", (-1, units), x.smooth)
    n = x.shape[-1]
    weighed = f'tf.layers.dense({x}, {count}, kernel_initializer={d.start(n)}, name="{d.name("dense")}")'
    lines = [
        f"{gate} = tf.nn.softmax({weighed})",
        f"{parts} = [tf.layers.dense({x}, {units}, tf.nn.tanh, kernel_initializer={d.start(n)}, "
        f'name="{d.name("expert")}_%d" % k) for k in range({count})]',
        f"{value} = tf.reduce_sum(tf.stack({parts}, 1) * tf.expand_dims({gate}, -1), 1)",
    ]
    d.step("experts", "\n".join(lines), [x], [value])


KINDS = {
    dense: 4, fan_out: 5, matmul: 4, tensordot: 3, einsum: 4, between: 3, attention: 3, residual: 3,
    sum_of_products: 4, outer: 1, experts: 1,
}  # fmt: skip
"""Layers and how often each is drawn."""
