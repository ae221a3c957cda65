"""Samples of ops that write variables, draw random numbers, print, read files, check, or call Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import graphflow as gf
from tests.ops.op_samples.sample import (
    DOUBLE,
    INT,
    NUMBERS,
    SHAPES,
    SINGLE,
    Draw,
    Random,
    Sample,
    cast_wrapping,
    differentiable,
    draw,
    ints,
    over,
    scalar,
    strings,
)

ARITHMETIC = [DOUBLE, SINGLE, INT, np.dtype(np.complex128), np.dtype(np.int64)]
REAL = [d for d in ARITHMETIC if d.kind != "c"]
LOCKING = {"use_locking": False}

# ---- variables ------------------------------------------------------------------------------------------------------


def _assignment(change: Callable[[Any, Any], Any], dtypes: Sequence[Any], attrs: dict[str, Any]) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        for dtype, shape in over(dtypes, SHAPES):
            inputs = (draw(random, dtype, shape), draw(random, dtype, shape))
            yield Sample(inputs, attrs, change, after=change, smooth=False)

    return generate


def _initialized(random: Random) -> Iterable[Sample]:
    for dtype, shape in over([*NUMBERS], SHAPES):
        yield Sample((draw(random, dtype, shape),), {}, lambda x: np.array(True))


def _count_up_to(random: Random) -> Iterable[Sample]:
    for dtype in (np.int32, np.int64):
        for start in (0, 3):
            yield Sample(
                (scalar(start, dtype),), {"limit": 5}, lambda x: x, after=lambda x: x + x.dtype.type(1)
            )


def _scattered(change: Callable[[Any, Any], Any], nd: bool) -> Callable[..., Any]:
    def compute(x: Any, indices: Any, updates: Any) -> Any:
        result = x.copy()
        lead = indices.shape[:-1] if nd else indices.shape
        for at in np.ndindex(lead):
            row = tuple(indices[at]) if nd else indices[at]
            result[row] = change(result[row], updates[at] if updates.ndim else updates)
        return result

    return compute


def _scatter(change: Callable[[Any, Any], Any], dtypes: Sequence[Any], repeat: bool = True) -> Draw:
    """`repeat`: rows may be named twice."""
    reference = _scattered(change, nd=False)

    def generate(random: Random) -> Iterable[Sample]:
        cases = (((4, 2), (3,)), ((3,), (2, 1)), ((3, 2), ()), ((5,), (0,)), ((2, 3), (2,)))
        for number, (dtype, (shape, places)) in enumerate(over(dtypes, cases)):
            count = int(np.prod(places, dtype=int))
            rows = random.choice(shape[0], count, replace=repeat) if count else np.zeros(0, int)
            indices = np.asarray(rows).reshape(places).astype((np.int32, np.int64)[number % 2])
            updates = draw(random, dtype, (*places, *shape[1:]), 1, 4)
            inputs = (draw(random, dtype, shape, -4, 4), indices, updates)
            yield Sample(inputs, LOCKING, reference, after=reference, smooth=False)

    return generate


def _scatter_nd(change: Callable[[Any, Any], Any], repeat: bool = True) -> Draw:
    reference = _scattered(change, nd=True)

    def generate(random: Random) -> Iterable[Sample]:
        for dtype, (shape, rows, depth) in over(
            ARITHMETIC, (((4, 2), 3, 1), ((2, 3), 2, 2), ((5,), 0, 1), ((3,), 3, 1))
        ):
            lead = shape[:depth]
            flat = random.choice(int(np.prod(lead)), rows, replace=repeat) if rows else np.zeros(0, int)
            indices = (
                np.stack(np.unravel_index(flat.astype(int), lead), -1).reshape(rows, depth).astype(np.int32)
            )
            updates = draw(random, dtype, (rows, *shape[depth:]))
            inputs = (draw(random, dtype, shape), indices, updates)
            yield Sample(inputs, LOCKING, reference, after=reference, smooth=False)

    return generate


def _slice_assigned(random: Random) -> Iterable[Sample]:
    def place(begin: Any, end: Any, strides: Any, shrink: int) -> Any:
        spec = zip(begin.tolist(), end.tolist(), strides.tolist(), strict=True)
        return tuple(b if shrink >> i & 1 else slice(b, e, s) for i, (b, e, s) in enumerate(spec))

    for dtype, (shape, (begin, end, strides), shrink) in over(
        ARITHMETIC,
        (
            ((4, 2), ([1], [3], [1]), 0),
            ((4, 3), ([0, 1], [4, 2], [2, 1]), 2),
            ((5,), ([4], [0], [-2]), 0),
            ((2, 3), ([1, 1], [1, 3], [1, 1]), 0),
        ),
    ):

        def after(ref: Any, begin: Any, end: Any, strides: Any, value: Any, shrink: int = shrink) -> Any:
            result = ref.copy()
            result[place(begin, end, strides, shrink)] = value
            return result

        vectors = [np.array(v, np.int32) for v in (begin, end, strides)]
        ref = draw(random, dtype, shape)
        value = draw(random, dtype, ref[place(*vectors, shrink)].shape)
        attrs = {
            "begin_mask": 0, "end_mask": 0, "ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": shrink,
        }  # fmt: skip
        yield Sample((ref, *vectors, value), attrs, after, after=after, smooth=False)


def _divided(x: Any, y: Any) -> Any:
    return np.floor_divide(x, y) if x.dtype.kind in "iu" else x / y


# ---- optimizers -----------------------------------------------------------------------------------------------------

# The rules as their papers and TensorFlow's documentation give them; slots and numbers in the order of the inputs.


def _adagrad(var: Any, accum: Any, lr: Any, g: Any) -> Any:
    accum = accum + g**2
    return var - lr * g / np.sqrt(accum), accum


def _momentum(var: Any, accum: Any, lr: Any, momentum: Any, g: Any) -> Any:
    accum = momentum * accum + g
    return var - lr * accum, accum


def _nesterov(var: Any, accum: Any, lr: Any, momentum: Any, g: Any) -> Any:
    accum = momentum * accum + g
    return var - lr * (g + momentum * accum), accum


def _adadelta(var: Any, accum: Any, change: Any, lr: Any, rho: Any, epsilon: Any, g: Any) -> Any:
    accum = rho * accum + (1 - rho) * g**2
    step = np.sqrt((change + epsilon) / (accum + epsilon)) * g
    return var - lr * step, accum, rho * change + (1 - rho) * step**2


def _rmsprop(var: Any, ms: Any, mom: Any, lr: Any, rho: Any, momentum: Any, epsilon: Any, g: Any) -> Any:
    ms = rho * ms + (1 - rho) * g**2
    mom = momentum * mom + lr * g / np.sqrt(ms + epsilon)
    return var - mom, ms, mom


def _centered(
    var: Any, mg: Any, ms: Any, mom: Any, lr: Any, rho: Any, momentum: Any, epsilon: Any, g: Any
) -> Any:
    mg, ms = rho * mg + (1 - rho) * g, rho * ms + (1 - rho) * g**2
    mom = momentum * mom + lr * g / np.sqrt(ms - mg**2 + epsilon)
    return var - mom, mg, ms, mom


def _adam(
    var: Any, m: Any, v: Any, p1: Any, p2: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, g: Any
) -> Any:
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g**2
    return var - lr * np.sqrt(1 - p2) / (1 - p1) * m / (np.sqrt(v) + epsilon), m, v


def _ftrl_v2(
    var: Any, accum: Any, linear: Any, lr: Any, l1: Any, l2: Any, shrinkage: Any, power: Any, g: Any
) -> Any:
    new = accum + g**2
    linear = linear + g + 2 * shrinkage * var - (new**-power - accum**-power) / lr * var
    shrunk = (np.sign(linear) * l1 - linear) / (new**-power / lr + 2 * l2)
    return np.where(np.abs(linear) > l1, shrunk, 0), new, linear


def _ftrl(var: Any, accum: Any, linear: Any, lr: Any, l1: Any, l2: Any, power: Any, g: Any) -> Any:
    return _ftrl_v2(var, accum, linear, lr, l1, l2, 0, power, g)


def _proximal(var: Any, rate: Any, l1: Any, l2: Any, g: Any) -> Any:
    moved = var - rate * g
    return np.sign(moved) * np.maximum(np.abs(moved) - rate * l1, 0) / (1 + rate * l2)


def _proximal_adagrad(var: Any, accum: Any, lr: Any, l1: Any, l2: Any, g: Any) -> Any:
    accum = accum + g**2
    return _proximal(var, lr / np.sqrt(accum), l1, l2, g), accum


# The rule, and the domain of each slot and each number.
Z = (0.1, 0.9)
RULES: dict[str, tuple[Callable[..., Any], list[tuple[float, float]], list[tuple[float, float]]]] = {
    "GradientDescent": (lambda var, alpha, g: (var - alpha * g,), [(-1, 1)], [Z]),
    "Momentum": (_momentum, [(-1, 1), (-1, 1)], [Z, Z]),
    "NesterovMomentum": (_nesterov, [(-1, 1), (-1, 1)], [Z, Z]),
    "Adagrad": (_adagrad, [(-1, 1), (0.5, 1)], [Z]),
    "Adadelta": (_adadelta, [(-1, 1), (0.5, 1), (0.5, 1)], [Z, Z, Z]),
    "RMSProp": (_rmsprop, [(-1, 1), (0.5, 1), (-1, 1)], [Z, Z, Z, Z]),
    "CenteredRMSProp": (_centered, [(-1, 1), (0.1, 0.5), (0.6, 1), (-1, 1)], [Z, Z, Z, Z]),
    "Adam": (_adam, [(-1, 1), (-1, 1), (0.5, 1)], [Z, Z, Z, Z, Z, Z]),
    "Ftrl": (_ftrl, [(-1, 1), (0.5, 1), (-1, 1)], [Z, Z, Z, (-0.9, -0.1)]),
    "FtrlV2": (_ftrl_v2, [(-1, 1), (0.5, 1), (-1, 1)], [Z, Z, Z, Z, (-0.9, -0.1)]),
    "ProximalGradientDescent": (lambda *a: (_proximal(*a),), [(-1, 1)], [Z, Z, Z]),
    "ProximalAdagrad": (_proximal_adagrad, [(-1, 1), (0.5, 1)], [Z, Z, Z]),
}


def _update(name: str, sparse: bool) -> Draw:
    rule, slots, numbers = RULES[name]

    def compute(*inputs: Any) -> Any:
        if not sparse:
            return tuple(np.asarray(v) for v in rule(*inputs))
        variables = [v.copy() for v in inputs[: len(slots)]]
        rest, g, rows = inputs[len(slots) : -2], inputs[-2], inputs[-1]
        for i, row in enumerate(rows):
            found = rule(*(v[row] for v in variables), *rest, g[i])
            for variable, value in zip(variables, found):
                variable[row] = value
        return tuple(variables)

    def in_dtype(*inputs: Any) -> Any:
        wide = [v.astype(np.float64) if v.dtype.kind == "f" else v for v in inputs]
        return tuple(v.astype(inputs[0].dtype) for v in compute(*wide))

    def generate(random: Random) -> Iterable[Sample]:
        shapes: Any = ((3,), (2, 3), (0,), ()) if not sparse else ((4,), (3, 2), (2, 0), (4, 1))
        for number, (dtype, shape) in enumerate(over([DOUBLE, SINGLE], shapes)):
            inputs = [draw(random, dtype, shape, *domain) for domain in slots]
            inputs += [draw(random, dtype, (), *domain) for domain in numbers]
            if sparse:
                rows = random.permutation(shape[0])[:2].astype((np.int32, np.int64)[number % 2])
                inputs += [draw(random, dtype, (len(rows), *shape[1:]), -1, 1), rows]
            else:
                inputs.append(draw(random, dtype, shape, -1, 1))
            yield Sample(
                tuple(inputs), LOCKING, lambda *i: in_dtype(*i)[0], after=in_dtype, smooth=False, tolerance=10
            )

    return generate


# ---- random numbers -------------------------------------------------------------------------------------------------

SEEDS = {"seed": 1234, "seed2": 7}


def _drawn(dtypes: Sequence[Any]) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        for dtype in dtypes:
            for number, shape in enumerate(SHAPES):
                index = (np.int32, np.int64)[number % 2]
                yield Sample((np.array(shape, index),), {"dtype": dtype, **SEEDS})

    return generate


def _uniform_int(random: Random) -> Iterable[Sample]:
    for dtype in (np.int32, np.int64):
        for shape in SHAPES:
            inputs = (np.array(shape, np.int32), scalar(5, dtype), scalar(6, dtype))
            yield Sample(inputs, SEEDS, lambda shape, low, high: np.full(tuple(shape), low))


def _shuffle(random: Random) -> Iterable[Sample]:
    for dtype, shape in over([DOUBLE, INT], [s for s in SHAPES if s]):
        x = draw(random, dtype, shape)
        yield Sample((x,), SEEDS, lambda x: np.sort(x, axis=0), through=lambda y: (np.sort(y, axis=0),))


def _multinomial(random: Random) -> Iterable[Sample]:
    for dtype in (DOUBLE, SINGLE):
        for rows, classes, count in ((2, 3, 4), (1, 1, 2), (0, 2, 3), (3, 2, 0)):
            logits = np.full((rows, classes), -np.inf, dtype)
            logits[:, -1:] = 0
            for out, kind in ((gf.int64, np.int64), (gf.int32, np.int32)):

                def reference(logits: Any, count: Any, kind: Any = kind) -> Any:
                    return np.full((logits.shape[0], int(count)), logits.shape[1] - 1, kind)

                yield Sample((logits, scalar(count)), {"output_dtype": out, **SEEDS}, reference)


def _stateless_multinomial(random: Random) -> Iterable[Sample]:
    for rows, classes, count in ((2, 3, 4), (1, 1, 2), (0, 2, 3), (3, 2, 0)):
        logits = np.full((rows, classes), -np.inf, SINGLE)
        logits[:, -1:] = 0

        def reference(logits: Any, count: Any, seed: Any) -> Any:
            return np.full((logits.shape[0], int(count)), logits.shape[1] - 1, np.int64)

        yield Sample((logits, scalar(count), ints(3, 5)), {"output_dtype": gf.int64}, reference)


def _stateless(dtypes: Sequence[Any]) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        for dtype in dtypes:
            for shape in SHAPES:
                # Integers are drawn of one that can be, so that they are known.
                bounds = (scalar(5, dtype), scalar(6, dtype)) if np.dtype(dtype).kind == "i" else ()
                yield Sample((np.array(shape, np.int32), ints(3, 5), *bounds), {"dtype": gf.as_dtype(dtype)})

    return generate


def _candidates(random: Random) -> Iterable[Sample]:
    for rows, columns, count, classes, unique in (
        (2, 3, 4, 9, True),
        (0, 1, 3, 3, True),
        (1, 1, 6, 4, False),
    ):
        attrs = {"num_true": columns, "num_sampled": count, "range_max": classes, "unique": unique, **SEEDS}
        yield Sample((random.integers(0, classes, (rows, columns)).astype(np.int64),), attrs)


def _fixed_unigrams(random: Random) -> Iterable[Sample]:
    for sample in _candidates(random):
        classes = sample.attrs["range_max"]
        others = {"distortion": 0.5, "num_reserved_ids": 0, "num_shards": 1, "shard": 0, "vocab_file": ""}
        unigrams = [float(k + 1) for k in range(classes)]
        yield Sample(sample.inputs, {**sample.attrs, **others, "unigrams": unigrams})


def _per_parameter(attrs: dict[str, Any]) -> Draw:
    def generate(random: Random) -> Iterable[Sample]:
        for dtype in (DOUBLE, SINGLE):
            for shape, parameter in (((2,), ()), ((), (3,)), ((2, 1), (2,)), ((0,), (2,)), ((3,), (0,))):
                inputs = (np.array(shape, np.int32), draw(random, dtype, parameter, 0.5, 3))
                yield Sample(inputs, {**attrs, **SEEDS}, smooth=False)

    return generate


# ---- looking at values ----------------------------------------------------------------------------------------------


def _print(random: Random) -> Iterable[Sample]:
    attrs = {"message": "", "first_n": 0, "summarize": 3}
    for dtype, shape in over(NUMBERS, SHAPES):
        x = draw(random, dtype, shape)
        yield Sample(
            (x, [strings("x"), x]), attrs, lambda x, *data: x, smooth=differentiable(dtype), varied=(0,)
        )


def _assert(random: Random) -> Iterable[Sample]:
    yield Sample((np.array(True), [strings("x"), ints(1, 2)]), {"summarize": 3}, lambda *all: ())


def _print_v2(random: Random) -> Iterable[Sample]:
    yield Sample((strings("text"),), {"output_stream": "stderr", "end": ""}, lambda text: ())


def _read_file(random: Random) -> Iterable[Sample]:
    yield Sample((strings(__file__),), {}, lambda name: strings(Path(name.item().decode()).read_bytes()))


def _check_numerics(random: Random) -> Iterable[Sample]:
    for dtype, shape in over([DOUBLE, SINGLE, np.dtype(np.float16)], SHAPES):
        x = draw(random, dtype, shape)
        yield Sample((x,), {"message": "bad"}, lambda x: x, smooth=differentiable(dtype))


def _py_func(random: Random) -> Iterable[Sample]:
    def doubled(*values: Any) -> Any:
        return [v + v for v in values]

    for shape in SHAPES:
        values = [draw(random, SINGLE, shape), draw(random, INT, shape)]
        attrs = {"function": doubled, "Tout": [gf.float32, gf.int32]}
        yield Sample((values,), attrs, lambda *values: [np.asarray(cast_wrapping_all(v)) for v in values])


def cast_wrapping_all(values: Any) -> Any:
    """Each element twice itself."""
    result = np.empty(values.shape, values.dtype)
    for at in np.ndindex(values.shape):
        result[at] = cast_wrapping(2 * values[at].item(), values.dtype)
    return result


def _broadcastable(random: Random) -> Iterable[Sample]:
    for weights, values in (((1, 3), (2, 3)), ((), (2, 3)), ((2, 3), (2, 3))):
        yield Sample((ints(*weights), ints(*values)), {"exact": False}, lambda *all: ())


TABLE: dict[str, Draw] = {
    "Assign": _assignment(lambda x, y: y, NUMBERS, {"validate_shape": True, "use_locking": True}),
    "AssignAdd": _assignment(lambda x, y: x + y, ARITHMETIC, LOCKING),
    "AssignSub": _assignment(lambda x, y: x - y, ARITHMETIC, LOCKING),
    "IsVariableInitialized": _initialized,
    "CountUpTo": _count_up_to,
    "ScatterUpdate": _scatter(lambda old, new: new, NUMBERS, repeat=False),
    "ScatterAdd": _scatter(lambda old, new: old + new, ARITHMETIC),
    "ScatterSub": _scatter(lambda old, new: old - new, ARITHMETIC),
    "ScatterMul": _scatter(lambda old, new: old * new, ARITHMETIC),
    "ScatterDiv": _scatter(_divided, ARITHMETIC),
    "ScatterMin": _scatter(np.minimum, REAL),
    "ScatterMax": _scatter(np.maximum, REAL),
    "StridedSliceAssign": _slice_assigned,
    "ScatterNdUpdate": _scatter_nd(lambda old, new: new, repeat=False),
    "ScatterNdAdd": _scatter_nd(lambda old, new: old + new),
    "ScatterNdSub": _scatter_nd(lambda old, new: old - new),
    "RandomUniform": _drawn((gf.float32, gf.float64, gf.float16)),
    "RandomStandardNormal": _drawn((gf.float32, gf.float64, gf.float16)),
    "TruncatedNormal": _drawn((gf.float32, gf.float64, gf.float16)),
    "RandomUniformInt": _uniform_int,
    "RandomShuffle": _shuffle,
    "Multinomial": _multinomial,
    "StatelessMultinomial": _stateless_multinomial,
    "StatelessRandomUniform": _stateless([SINGLE, DOUBLE]),
    "StatelessRandomUniformInt": _stateless([INT, np.int64]),
    "StatelessRandomNormal": _stateless([SINGLE, DOUBLE]),
    "StatelessTruncatedNormal": _stateless([SINGLE, DOUBLE]),
    "LogUniformCandidateSampler": _candidates,
    "UniformCandidateSampler": _candidates,
    "FixedUnigramCandidateSampler": _fixed_unigrams,
    "LearnedUnigramCandidateSampler": _candidates,
    "RandomGamma": _per_parameter({}),
    "RandomPoissonV2": _per_parameter({"dtype": gf.float32}),
    "Print": _print,
    "PrintV2": _print_v2,
    "ReadFile": _read_file,
    "Assert": _assert,
    "CheckNumerics": _check_numerics,
    "PyFunc": _py_func,
    "PyFuncStateless": _py_func,
    "AssertBroadcastable": _broadcastable,
}
TABLE |= {f"Apply{name}": _update(name, False) for name in RULES}
TABLE |= {f"SparseApply{name}": _update(name, True) for name in RULES}
