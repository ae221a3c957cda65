"""Loops, branches, gradients within a program, state that changes during a run."""

from __future__ import annotations

from .drawing import Drawing, NoneFitsError
from .program import Value


def while_loop(d: Drawing) -> None:
    """tf.while_loop that multiplies by a weight, so often as is known or as the run says."""
    x = d.batched(2)
    n = x.shape[1]
    w = d.variable((n, n), n)
    value = d.made("F", x.shape, False)
    times: Value | None = d.fed("int32", (), 4) if d.often() else None
    takes = [x, w] if times is None else [x, w, times]
    extra = d.often(0.4)
    body = f"tf.tanh(tf.matmul(h, {w}) + {x})" if d.often() else f"h + 0.3 * tf.sin(tf.matmul(h, {w}))"
    most = d.choose((2, 3)) if times is None else times
    if extra:
        lines = [
            f"{value} = tf.while_loop(lambda k, h, s: k < {most}, lambda k, h, s: (k + 1, {body}, s + 0.1 * h),",
            f"    [tf.constant(0), {x}, tf.zeros_like({x})])[{d.choose((1, 2))}]",
        ]
    else:
        lines = [
            f"{value} = tf.while_loop(lambda k, h: k < {most}, lambda k, h: (k + 1, {body}), [tf.constant(0), {x}])[1]"
        ]
    d.step("while_loop", "\n".join(lines), takes, [value])


def array_loop(d: Drawing) -> None:
    """tf.while_loop over arrays of tensors, with lengths that stop single examples."""
    x = d.batched(3, fits=lambda s: s[1] <= 6)
    _, t, n = x.shape
    w = d.variable((n, n), n)
    lengths = d.fed("int32", (-1,), t + 1) if d.often(0.6) else None
    name, given, out = d.name("t"), d.name("t"), d.name("t")
    value = d.made("F", x.shape, False)
    step = f"tf.tanh(tf.matmul(h, {w}) + {given}.read(k))"
    if lengths is not None:
        step = f"tf.where(k < {lengths}, {step}, h)"
    lines = [
        f"{given} = tf.TensorArray(F, {t}).unstack(tf.transpose({x}, [1, 0, 2]))",
        f"def {name}(k, h, a):",
        f"    h = {step}",
        "    return k + 1, h, a.write(k, h)",
        f"{out} = tf.while_loop(lambda k, h, a: k < {t}, {name}, "
        f"[tf.constant(0), tf.zeros_like({x}[:, 0]), tf.TensorArray(F, {t})])[2].stack()",
        f"{value} = tf.transpose({out}, [1, 0, 2])",
        f"{value}.set_shape([None, {t}, {n}])",
    ]
    takes = [x, w] if lengths is None else [x, w, lengths]
    d.step("array_loop" if lengths is None else "array_loop_lengths", "\n".join(lines), takes, [value])


def cond(d: Drawing) -> None:
    """tf.cond on what is fed or on a value."""
    x = d.pick(1, 2, 3, 4)
    same = [v for v in d.values if (v.dtype, v.shape) == (x.dtype, x.shape)]
    y = d.choose(same)
    if d.often():
        flag = d.fed("bool", ())
        takes, predicate = [x, y, flag], str(flag)
    else:
        z = d.pick()
        takes, predicate = [x, y, z], f"tf.reduce_sum({z}) > {d.choose(('0.0', '0.37'))}"
    texts = [
        d.function(f"0.8 * {x} + 0.1"),
        d.choose((f"{y} * 0.5", f"{x} * {y}", str(y), d.function(str(x)))),
    ]
    d.chance.shuffle(texts)
    d.give(
        "cond", f"tf.cond({predicate}, lambda: {texts[0]}, lambda: {texts[1]})", takes, x.shape, smooth=False
    )


def stop(d: Drawing) -> None:
    """A value that no gradient goes through, by itself or as the difference of a straight-through estimator."""
    x = d.pick()
    text = d.choose(
        ("tf.stop_gradient({0}) * 0.5", "{0} + tf.stop_gradient(tf.round({0} * 4.0) / 4.0 - {0})")
    )
    d.give("stop", text.format(x), [x], x.shape, smooth=False)


def own_gradient(d: Drawing) -> None:
    """tf.custom_gradient: gradients clipped or turned round on their way."""
    x = d.pick()
    value, name = d.made("F", x.shape, False), d.name("t")
    back = d.choose(("-0.5 * g", "tf.clip_by_value(g, -0.01, 0.01)", "g * tf.cos(u)"))
    lines = [
        "@tf.custom_gradient",
        f"def {name}(u):",
        f"    return tf.sin(u), lambda g: {back}",
        f"{value} = {name}({x})",
    ]
    d.step("own_gradient", "\n".join(lines), [x], [value])


def second_gradient(d: Drawing) -> None:
    """The gradient of a value by an earlier one, as a value: gradient penalties, MAML."""
    y = d.pick(1, 2, 3, 4, smooth=True)
    origins = _origins(d, y.name)
    sources = [v for v in d.values if v.name in origins and v.dtype == "F" and v.smooth and v.name != y.name]
    if not sources:
        raise NoneFitsError
    x = d.choose(sources)
    value = d.made("F", x.shape, False)
    found = f"tf.gradients(tf.reduce_sum(tf.square({y})), {x})"
    text = f"{value} = tf.tanh([tf.zeros_like({x}) if g is None else g for g in {found}][0])"
    d.step("second_gradient", text, [x, y], [value])


def _origins(d: Drawing, name: str) -> set[str]:
    """The values that one is made of, as far as each step's results come of all it takes."""
    makers = {value.name: step for step in d.steps for value in step.makes}
    found: set[str] = set()
    left = [name]
    while left:
        step = makers.get(left.pop())
        for taken in () if step is None else step.takes:
            if taken not in found:
                found.add(taken)
                left.append(taken)
    return found


def state(d: Drawing) -> None:
    """A variable that is changed during the run, and read before and after."""
    x = d.pick(1, 2, 3, fits=lambda s: s[-1] > 0)
    n = x.shape[-1]
    variable = d.variable((n,), 1, trainable=False)
    axes = list(range(len(x.shape) - 1))
    before, written = d.name("t"), d.name("t")
    value = d.made("F", x.shape, False)
    now = f"tf.reduce_mean({x}, {axes})" if axes else str(x)
    kinds = ("assign({0}, 0.8 * {0} + 0.2 * {1})", "assign_add({0}, 0.1 * {1})", "assign_sub({0}, 0.1 * {1})")
    kind = f"tf.{d.choose(kinds).format(variable, now)}"
    lines = [
        f"{before} = tf.identity({variable}{d.choose(('', ' * 1.5'))})",
        f"with tf.control_dependencies([{before}]):",
        f"    {written} = {kind}",
        f"with tf.control_dependencies([{written}]):",
        f"    {value} = {x} - 0.2 * {d.choose((before, f'({variable} + 0.0)', f'({written} * {before})'))}",
    ]
    d.step("state", "\n".join(lines), [x, variable], [value])


def counter(d: Drawing) -> None:
    """A number that is kept from run to run, read before it changes, after it, and between two changes."""
    x = d.pick()
    kept = d.variable((), 1, trainable=False)
    names = [d.name("t") for _ in range(4)]
    value = d.made("F", x.shape, False)
    first = d.choose(
        (f"tf.assign({kept}, tf.tanh({names[0]} + tf.reduce_mean({x})))", f"tf.assign_add({kept}, 0.25)")
    )
    lines = [
        f"{names[0]} = tf.identity({kept})",
        f"with tf.control_dependencies([{names[0]}]):",
        f"    {names[1]} = {first}",
        f"with tf.control_dependencies([{names[1]}]):",
        f"    {names[2]} = {kept} * 2.0",
        f"with tf.control_dependencies([{names[2]}]):",
        f"    {names[3]} = tf.assign_sub({kept}, 0.1 * {names[2]})",
        f"with tf.control_dependencies([{names[3]}]):",
        f"    {value} = {x} * (1.0 + 0.1 * {d.choose((names[0], names[2], f'({kept} + 0.0)'))})",
    ]
    d.step("counter", "\n".join(lines), [x, kept], [value])


KINDS = {
    while_loop: 2,
    array_loop: 2,
    cond: 2,
    stop: 1,
    own_gradient: 1,
    second_gradient: 2,
    state: 2,
    counter: 1,
}
"""Layers and how often each is drawn."""
