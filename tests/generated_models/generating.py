"""Draws a program from a seed: inputs, layers of chosen families, and what the loss is made of."""

from __future__ import annotations

from . import arithmetic, control, products, selections, sequences, views, windows
from .drawing import Drawing, NoneFitsError
from .program import Program, Value, elements

_FAMILIES = {"arithmetic": arithmetic, "views": views, "products": products, "windows": windows, "sequences": sequences,
             "control": control}  # fmt: skip
_ALL_FAMILIES = {**_FAMILIES, "selections": selections}
FIRST_WITH_SELECTIONS = 1000
"""Programs of lower seeds are what they have been before there were any, so that what they have found stays found."""
_OPTIMIZERS = (
    "tf.train.GradientDescentOptimizer(0.05)",
    "tf.train.MomentumOptimizer(0.05, 0.8)",
    "tf.train.MomentumOptimizer(0.05, 0.8, use_nesterov=True)",
    "tf.train.AdamOptimizer(0.02, epsilon=0.01)",
    "tf.train.AdamOptimizer(0.02, epsilon=0.01)",
    "tf.train.AdagradOptimizer(0.05)",
    "tf.train.RMSPropOptimizer(0.02, epsilon=0.01)",
    "tf.train.RMSPropOptimizer(0.02, momentum=0.5, epsilon=0.01, centered=True)",
    "tf.train.FtrlOptimizer(0.05)",
    "tf.train.AdadeltaOptimizer(0.5, epsilon=0.01)",
)
_INPUTS = (
    (-1, 4), (-1, 6), (-1, 3, 4), (-1, 4, 4), (-1, 4, 6), (-1, 6, 2), (-1, 4, 4, 3), (-1, 6, 6, 2), (-1, 3, 3, 3),
    (-1, 5, 3, 1), (-1, 2, 4, 4, 2),
)  # fmt: skip
"""Some with axes of one size, since a compiler that takes one for another is wrong without any error there."""
_MOST_TRIES = 400


def generate(seed: int) -> Program:
    """The program of a seed."""
    d = Drawing(seed)
    for _ in range(d.choose((1, 1, 2, 3))):
        d.fed("F", d.choose(_INPUTS))
    first = d.values[0]
    d.step(
        "batch",
        f"batch = tf.shape({first})[0]",
        [first],
        [Value("batch", "int32", ())],
        needed=True,
        hidden=True,
    )
    shares = {name: d.chance.choice((0, 1, 1, 2, 4)) for name in _FAMILIES}
    shares["arithmetic"] = max(1, shares["arithmetic"])
    shares["windows"] = d.choose(
        (0, 0, 0, 1, 3)
    )  # Their kernels are made for each shape, which takes a second.
    if seed >= FIRST_WITH_SELECTIONS:
        shares["selections"] = d.choose((0, 1, 3, 6))
    wanted, layers = d.chance.randint(5, 22), 0
    for _ in range(_MOST_TRIES):
        if layers == wanted:
            break
        layers += _layer(d, shares)
    _loss(d)
    batches = tuple(d.choose((1, 2, 2, 3, 3, 7)) for _ in range(d.choose((1, 2, 2))))
    batches = tuple(b for b in batches for _ in range(2))
    if d.often(0.12):
        batches += (0,)
    shown = [v.name for v in d.values if v.dtype == "F" and not v.name.startswith("x")]
    shown = d.chance.sample(shown, min(len(shown), d.choose((0, 0, 1, 3))))
    dtype = d.choose(("float32", "float32", "float32", "float64"))
    return Program(seed, dtype, tuple(d.steps), d.choose(_OPTIMIZERS), d.often(0.2), batches, tuple(shown))


def _layer(d: Drawing, shares: dict[str, int]) -> bool:
    """Adds one layer; False if there is nothing for the one that was drawn."""
    family = d.chance.choices(list(shares), list(shares.values()))[0]
    kinds = _ALL_FAMILIES[family].KINDS
    kind = d.chance.choices(list(kinds), list(kinds.values()))[0]
    steps, values, variables = len(d.steps), len(d.values), len(d.variables)
    try:
        kind(d)
    except (NoneFitsError, IndexError):
        del d.steps[steps:], d.values[values:], d.variables[variables:]
        return False
    return True


def _loss(d: Drawing) -> None:
    """Terms of the loss: of what nobody takes, and of some that are taken."""
    ends = d.unused()
    if len(ends) > 6:
        ends = d.chance.sample(ends, 6)
    ends += [d.pick() for _ in range(d.choose((0, 1, 2)) + (not ends))]
    for value in dict.fromkeys(ends):
        _term(d, value)


def _term(d: Drawing, x: Value) -> None:
    term = d.made("F", ())
    flat = len(x.shape) == 2 and 1 < x.shape[1] < 10 and x.shape[0] == -1
    kind = d.choose(("mean", "square", "sum", "weighted", "entropy", "sparse", "sigmoid", "l2"))
    if kind in ("entropy", "sparse") and not flat:
        kind = "square"
    if kind == "weighted" and any(n < 0 for n in x.shape):
        kind = "mean"
    takes = [x]
    if kind == "mean":
        text = f"tf.reduce_mean(tf.sin({x} + 0.3))"
    elif kind == "square":
        text = f"tf.reduce_mean(tf.square({x} - 0.2))"
    elif kind == "sum":
        text = f"tf.reduce_sum({x} * {x}) * {0.5 / elements(x.shape):.4f}"
    elif kind == "weighted":
        text = f"tf.reduce_sum({x} * given({d.number()}, {list(x.shape)}, F)) * {1 / elements(x.shape):.4f}"
    elif kind == "entropy":
        text = f"tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits_v2(labels=tf.nn.softmax(tf.stop_gradient({x}) * 0.5), logits={x}))"  # noqa: E501
    elif kind == "sparse":
        labels = d.fed("int32", (-1,), x.shape[1])
        takes.append(labels)
        text = f"tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels={labels}, logits={x}))"
    elif kind == "sigmoid":
        text = f"tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.zeros_like({x}) + 0.3, logits={x}))"
    else:
        text = f"tf.nn.l2_loss({x}) * {1 / elements(x.shape):.4f}"
    d.step(f"term_{kind}", f"{term} = {text}", takes, [term], term=True, hidden=True)
