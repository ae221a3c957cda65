"""Layers over sequences: embeddings, gathers, recurrent cells, loops with arrays, scans."""

from __future__ import annotations

from .drawing import Drawing
from .program import Value


def embedding(d: Drawing) -> None:
    """Rows of a table that other layers may take, by what is fed: its gradient is one of slices."""
    rows, units = d.choose((4, 6, 9)), d.size()
    tables = [w for w in d.variables if len(w.shape) == 2 and w.shape[0] > 2]
    table = d.choose(tables) if tables and d.often(0.5) else d.variable((rows, units), 2)
    ids = d.fed("int32", d.choose(((-1,), (-1, d.choose((3, 4))), (-1, 2, 3))), table.shape[0])
    text = d.choose((f"tf.nn.embedding_lookup({table}, {ids})", f"tf.gather({table}, {ids})"))
    d.give("embedding", text, [table, ids], (*ids.shape, table.shape[1]))


def gather(d: Drawing) -> None:
    """Places of an axis by constants or by what is fed, some of them twice."""
    x = d.pick(1, 2, 3, 4, fits=lambda s: any(n > 1 for n in s))
    axis = d.choose([k for k, n in enumerate(x.shape) if n > 1])
    n = x.shape[axis]
    places = [d.chance.randrange(n) for _ in range(d.choose((2, 3, 5)))]
    text = f"tf.gather({x}, {places}, axis={axis})" if axis else f"tf.gather({x}, {places})"
    d.give("gather", text, [x], (*x.shape[:axis], len(places), *x.shape[axis + 1 :]), smooth=False)


def gather_nd(d: Drawing) -> None:
    """Of each example the place that is fed, as of lengths or actions."""
    x = d.batched(2, 3)
    places = d.fed("int32", (-1,), x.shape[1])
    text = f"tf.gather_nd({x}, tf.stack([tf.range(batch), {places}], 1))"
    if d.often(0.4):
        ones = f"tf.one_hot({places}, {x.shape[1]}, dtype=F)"
        ones = ones if len(x.shape) == 2 else f"tf.expand_dims({ones}, -1)"
        text = f"tf.reduce_sum({x} * {ones}, 1)"
    d.give("gather_nd", text, [x, places], (-1, *x.shape[2:]), smooth=False)


def segments(d: Drawing) -> None:
    """Sums of rows that belong together, by what is fed."""
    x = d.batched(2, 3)
    groups = d.choose((2, 3))
    ids = d.fed("int32", (-1,), groups)
    kind = d.choose(("unsorted_segment_sum", "unsorted_segment_sum", "scatter_nd"))
    if kind == "scatter_nd":
        shape = f"[{groups}, {', '.join(map(str, x.shape[1:]))}]"
        text = f"tf.scatter_nd(tf.expand_dims({ids}, 1), {x}, {shape})"
    else:
        text = f"tf.{kind}({x}, {ids}, {groups})"
    d.give("segments", f"0.5 * {text}", [x, ids], (groups, *x.shape[1:]), smooth=False)


def _sequence(d: Drawing) -> Value:
    return d.batched(3, fits=lambda s: s[1] <= 6 and s[2] <= 9)


def _cell(d: Drawing, units: int, deep: bool = True) -> str:
    kind = d.choose(
        (
            "BasicRNNCell({})",
            "LSTMCell({})",
            "GRUCell({})",
            "BasicLSTMCell({})",
            "LSTMCell({}, use_peepholes=True)",
        )
    )
    text = f"tf.nn.rnn_cell.{kind.format(units)}"
    if deep and d.often(0.15):
        return f"tf.nn.rnn_cell.MultiRNNCell([{text}, {_cell(d, units, False)}])"
    return text


def _last_of(name: str, cell: str, which: str) -> str:
    """The state of a cell that is a matrix."""
    if "Multi" in cell:
        inner = cell[cell.index("[") + 1 :].split("), tf.")
        return _last_of(f"{name}[0]", inner[0], which)
    return f"{name}.{which}" if "LSTM" in cell else name


def dynamic_rnn(d: Drawing) -> None:
    """tf.nn.dynamic_rnn with and without lengths, one way or both."""
    x = _sequence(d)
    units = d.choose((2, 3, 4))
    both, lengths = d.often(0.25), d.fed("int32", (-1,), x.shape[1] + 1) if d.often(0.6) else None
    takes = [x] if lengths is None else [x, lengths]
    option = "" if lengths is None else f", sequence_length={lengths}"
    cells = [_cell(d, units) for _ in range(2 if both else 1)]
    out, state = d.name("t"), d.name("t")
    width = units * len(cells)
    values = [d.made("F", (-1, x.shape[1], width), False), d.made("F", (-1, units), False)]
    kind = "bidirectional_dynamic_rnn" if both else "dynamic_rnn"
    one = f"{state}[0]" if both else state
    lines = [
        f'with tf.variable_scope("{d.name("rnn")}", initializer={d.start(units + 2)}):',
        f"    {out}, {state} = tf.nn.{kind}({', '.join(cells)}, {x}{option}, dtype=F)",
        f"{values[0]} = {f'tf.concat({out}, 2)' if both else out}",
        f"{values[1]} = {_last_of(one, cells[0], d.choose('hc'))}",
    ]
    d.step(f"{kind}{'' if lengths is None else '_lengths'}", "\n".join(lines), takes, values)


def static_rnn(d: Drawing) -> None:
    """tf.nn.static_rnn, sometimes of more steps than a sequence has."""
    x = _sequence(d)
    units, times = d.choose((2, 3)), d.choose((1, 1, 1, 4))
    cell, out, state = _cell(d, units), d.name("t"), d.name("t")
    steps = x.shape[1] * times
    values = [d.made("F", (-1, steps, units), False), d.made("F", (-1, units), False)]
    repeated = f"tf.unstack({x}, axis=1)" if times == 1 else f"tf.unstack({x}, axis=1) * {times}"
    lines = [
        f'with tf.variable_scope("{d.name("rnn")}", initializer={d.start(units + 2)}):',
        f"    {out}, {state} = tf.nn.static_rnn({cell}, {repeated}, dtype=F)",
        f"{values[0]} = tf.stack({out}, 1)",
        f"{values[1]} = {_last_of(state, cell, 'h')}",
    ]
    d.step("static_rnn", "\n".join(lines), [x], values)


def unrolled(d: Drawing) -> None:
    """A recurrence written by hand: one weight used in every step, sums of products in its gradient."""
    x = _sequence(d)
    units = d.choose((2, 3))
    first, again = d.variable((x.shape[2], units), x.shape[2]), d.variable((units, units), units)
    h, kept = d.name("t"), d.name("t")
    value = d.made("F", (-1, x.shape[1], units), x.smooth)
    turned = d.choose(("", ", transpose_b=True"))
    lines = [
        f"{h} = tf.zeros({f'tf.stack([batch, {units}])'}, F)",
        f"{kept} = []",
        f"for k in range({x.shape[1]}):",
        f"    {h} = {d.choose(('tf.tanh', 'tf.nn.relu', 'tf.sigmoid'))}(tf.matmul({x}[:, k], {first}) + "
        f"tf.matmul({h}, {again}{turned}))",
        f"    {kept}.append({h})",
        f"{value} = tf.stack({kept}, 1)",
    ]
    d.step("unrolled", "\n".join(lines), [x, first, again], [value])


def scan(d: Drawing) -> None:
    """tf.scan or tf.map_fn over time."""
    x = _sequence(d)
    n = x.shape[2]
    name = d.name("t")
    value = d.made("F", x.shape, False)
    if d.often(0.7):
        w = d.variable((n, n), n)
        lines = [
            f"{name} = tf.transpose({x}, [1, 0, 2])",
            f"{name} = tf.scan(lambda h, u: tf.tanh(tf.matmul(h, {w}) + u), {name}, tf.zeros_like({name}[0]))",
            f"{value} = tf.transpose({name}, [1, 0, 2])",
            f"{value}.set_shape([None, {x.shape[1]}, {n}])",
        ]
        d.step("scan", "\n".join(lines), [x, w], [value])
    else:
        lines = [
            f"{value} = tf.map_fn(lambda u: tf.tanh(u) * tf.reduce_mean(u), {x})",
            f"{value}.set_shape([None, {x.shape[1]}, {n}])",
        ]
        d.step("map_fn", "\n".join(lines), [x], [value])


def attention_decoder(d: Drawing) -> None:
    """A recurrence that looks at a whole sequence in each step."""
    x = _sequence(d)
    units, steps = x.shape[2], d.choose((2, 3))
    w = d.variable((units, units), units)
    h, p, kept = d.name("t"), d.name("t"), d.name("t")
    value = d.made("F", (-1, steps, units), x.smooth)
    lines = [
        f"{h}, {kept} = tf.reduce_mean({x}, 1), []",
        f"for k in range({steps}):",
        f"    {p} = tf.nn.softmax(tf.reduce_sum({x} * tf.expand_dims(tf.matmul({h}, {w}), 1), 2))",
        f"    {h} = tf.tanh({h} + tf.reduce_sum({x} * tf.expand_dims({p}, 2), 1))",
        f"    {kept}.append({h})",
        f"{value} = tf.stack({kept}, 1)",
    ]
    d.step("attention_decoder", "\n".join(lines), [x, w], [value])


KINDS = {
    embedding: 3, gather: 2, gather_nd: 1, segments: 1, dynamic_rnn: 3, static_rnn: 1, unrolled: 2, scan: 1,
    attention_decoder: 1,
}  # fmt: skip
"""Layers and how often each is drawn."""
