"""Runs the text of a program under any module with TensorFlow 1's interface. Valid under Python 3.7."""

import zlib

import numpy as np

GATED = False
"""Whether all that is fetched is computed before a variable is updated. TensorFlow leaves the order open otherwise."""


def given(number, shape, dtype="float64", scale=1.0):
    """Numbers between -scale and scale, told by a number: the same everywhere."""
    values = np.random.RandomState(number).uniform(-scale, scale, shape)
    return np.asarray(values).astype(dtype)


def start(number, scale):
    """An initializer; each shape has values of its own."""

    def initial(shape, dtype=None, partition_info=None):
        own = zlib.crc32(repr((number, [int(n) for n in shape])).encode())
        return given(own, [int(n) for n in shape], dtype.base_dtype.as_numpy_dtype, scale)

    return initial


def train(tf, F, loss, inputs, fetches, optimizer, clipped):
    """Adds the gradients of the loss by variables and inputs, and a step of the optimizer in the same run."""
    variables = tf.trainable_variables()
    sources = list(inputs) + list(variables)
    names = [f"input {k}" for k in range(len(inputs))] + [v.op.name for v in variables]
    found = tf.gradients(loss, sources)
    pairs = [(g, v) for g, v in zip(found[len(inputs) :], variables) if g is not None]
    for name, gradient in zip(names, found):
        if gradient is not None:
            fetches["gradient of " + name] = tf.convert_to_tensor(gradient)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    if clipped and pairs:
        clear, norm = tf.clip_by_global_norm([g for g, _ in pairs], 1.0)
        fetches["norm"] = norm
        pairs = list(zip(clear, [v for _, v in pairs]))
    if variables and not GATED:
        fetches["a variable before"] = tf.identity(variables[0])
    with tf.control_dependencies(updates + (list(fetches.values()) if GATED else [])):
        step = optimizer.apply_gradients(pairs) if pairs else tf.group(*updates)
    return fetches, step


def fed(placeholders, batch, seed, dtype):
    """What a run is fed: for each placeholder values of its shape with the batch in place of None."""
    values = {}
    for number, (placeholder, (kind, high)) in enumerate(placeholders):
        shape = [batch if n is None else int(n) for n in placeholder.shape.as_list()]
        random = np.random.RandomState(seed * 100 + number)
        if kind == "int":
            value = random.randint(0, high, shape).astype(np.int32)
        elif kind == "bool":
            value = np.asarray(random.randint(0, 2, shape)).astype(bool)
        else:
            value = np.asarray(random.uniform(-1, 1, shape)).astype(dtype)
        values[placeholder] = value
    return values


def prepared(build, tf, F, device=None):
    """The graph of a program, with what is fetched and the step of its optimizer. device: makes a device function."""
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(1)
        with tf.device(device(graph) if device is not None else None):
            fetches, step = build(tf, F)
    return graph, fetches, step, F


def outcome(program, tf, batches, config=None, target="", change=None):
    """What a prepared program gives: for each run a dictionary of arrays, or its error's name; then its variables.

    change: (seed, size) of a relative change of all variables before the first run. Placeholders are those of the
    collection "fed".
    """
    results = []
    graph, fetches, step, F = program
    with graph.as_default():
        placeholders = list(zip(tf.get_collection("fed"), tf.get_collection("kinds")))
        variables = tf.global_variables()
        with tf.Session(target, config=config) as session:
            session.run(tf.global_variables_initializer())
            if change is not None:
                for number, variable in enumerate(tf.trainable_variables()):
                    value = session.run(variable)
                    noise = given(change[0] * 1000 + number, value.shape)
                    variable.load((value * (1 + change[1] * noise)).astype(value.dtype), session)
            for number, batch in enumerate(batches):
                feeds = fed(placeholders, batch, number, F)
                try:
                    results.append(session.run([fetches, step], feeds)[0])
                except tf.errors.OpError as error:
                    results.append(type(error).__name__)
            after = session.run({v.op.name: v for v in variables})
            results.append(after)
    return results


def compare_tiers(build, dtype, batches):
    """Prints how far the compiled tier is from the NumPy tier, run by run."""
    import graphflow as gf

    found = []
    for tier in ("never", "always"):
        found.append(outcome(prepared(build, gf, dtype), gf, batches, gf.ConfigProto(compiled=tier)))
    for number, (plain, compiled) in enumerate(zip(*found)):
        if isinstance(plain, str) or isinstance(compiled, str):
            print(
                number,
                plain if isinstance(plain, str) else "ran",
                compiled if isinstance(compiled, str) else "ran",
            )
            continue
        for name in plain:
            a, b = np.asarray(plain[name], np.float64), np.asarray(compiled[name], np.float64)
            if a.shape != b.shape or not np.allclose(a, b, 1e-3, 1e-5, equal_nan=True):
                print(f"run {number}: {name} parts, by {abs(a - b).max():.3g} of {abs(a).max():.3g}")
