"""Layers on rows of which there are as many as values say: masks, partitions, what is met once, counted rows."""

from __future__ import annotations

from .drawing import Drawing


def _worked(d: Drawing, rows: str) -> str:
    """The text of some functions of rows, one after the other: now and then of so many that cutting the plan pays."""
    for _ in range(d.choose((0, 1, 2, 6, 14))):
        rows = d.function(
            d.choose((f"1.1 * {rows} + 0.2", f"{rows} - 0.1 * tf.square({rows})", f"0.9 * {rows}"))
        )
    return rows


def _weighed(d: Drawing, rows: str, units: int) -> str:
    """The text of a product of rows, as of a dense layer."""
    return f"tf.matmul({rows}, {d.variable((units, units))})" if d.often() else rows


def masked(d: Drawing) -> None:
    """Rows that a fed mask keeps, back at their places or summed; now and then masked twice."""
    x, mask = d.batched(2), d.fed("bool", (-1,))
    rows = d.choose((f"tf.boolean_mask({x}, {mask})", f"tf.gather_nd({x}, tf.where({mask}))"))
    rows = _worked(d, _weighed(d, rows, x.shape[1]))
    if d.often(0.3):
        kept = f"tf.boolean_mask({rows}, tf.boolean_mask({mask}, {mask}))"
        rows = _worked(d, kept)
    if d.often():
        text, shape = f"tf.scatter_nd(tf.where({mask}), {rows}, tf.to_int64(tf.shape({x})))", x.shape
    else:
        text, shape = f"0.3 * tf.reduce_sum({rows}, 0)", x.shape[1:]
    d.give("masked", text, [x, mask], shape, smooth=False)


def partitioned(d: Drawing) -> None:
    """Rows that go to experts, by what is fed, and come back in their order."""
    x, experts = d.batched(2), d.choose((2, 3))
    ids, name = d.fed("int32", (-1,), experts), d.name("p")
    parts = ", ".join(_worked(d, _weighed(d, f"{name}[{k}]", x.shape[1])) for k in range(experts))
    value = d.made("F", x.shape, smooth=False)
    lines = [
        f"{name} = tf.dynamic_partition({x}, {ids}, {experts})",
        f"{value} = tf.dynamic_stitch(tf.dynamic_partition(tf.range(batch), {ids}, {experts}), [{parts}])",
        f"{value} = tf.reshape({value}, [-1, {x.shape[1]}])",
    ]
    d.step("partitioned", "\n".join(lines), [x, ids], [value])


def met_once(d: Drawing) -> None:
    """Rows of a table, each computed once however often it is met."""
    rows, units = d.choose((4, 9)), d.size()
    table, ids, name = d.variable((rows, units), 2), d.fed("int32", (-1,), rows), d.name("u")
    value = d.made("F", (-1, units), smooth=False)
    worked = _worked(d, _weighed(d, f"tf.gather({table}, {name})", units))
    lines = [f"{name}, {name}_at = tf.unique({ids})", f"{value} = tf.gather({worked}, {name}_at)"]
    d.step("met_once", "\n".join(lines), [table, ids], [value])


def counted(d: Drawing) -> None:
    """As many copies as the largest of what is fed."""
    x, ids, name = d.batched(2), d.fed("int32", (-1,), 3), d.name("n")
    value = d.made("F", x.shape, smooth=False)
    numbers = f"tf.reshape(1.0 + tf.cast(tf.range({name}), F), [-1, 1, 1])"
    copies = f"tf.tile(tf.expand_dims({x}, 0), [{name}, 1, 1]) / {numbers}"
    lines = [
        f"{name} = 1 + tf.reduce_max(tf.concat([{ids}, [0]], 0))",
        f"{value} = tf.reduce_mean({_worked(d, copies)}, 0)",
    ]
    d.step("counted", "\n".join(lines), [x, ids], [value])


KINDS = {masked: 3, partitioned: 2, met_once: 2, counted: 1}
