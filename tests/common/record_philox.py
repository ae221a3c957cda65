"""Records what TensorFlow 1.15's CPU kernels draw; run it in an environment that has tensorflow==1.15.5.

    python tests/common/record_philox.py

writes tests/common/data/philox.json. Every case is the op, its seeds and arguments, and what successive runs in
one session returned: small results whole, large ones by their first and last elements and a digest of all bytes.
"""

import hashlib
import json
import os

import numpy as np
import tensorflow as tf

LARGE = 64
RUNS = 3
PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "philox.json")
FLOATS = ("float16", "float32", "float64")
NUMBERS = ("float16", "float32", "float64", "int32", "int64")
FLOAT_OPS = (
    ("random_uniform", tf.raw_ops.RandomUniform),
    ("random_normal", tf.raw_ops.RandomStandardNormal),
    ("truncated_normal", tf.raw_ops.TruncatedNormal),
)
RANGES = (
    ("int32", 0, 10),
    ("int32", -(2**31), 2**31 - 1),
    ("int32", -7, -6),
    ("int64", -5, 10**12),
    ("int64", -(2**63), 2**63 - 1),
)
LOGITS = (
    ([[0.0, 1.0, 2.0]], 7),
    ([[-1.0, 3.0], [0.5, 0.25], [10.0, 10.0]], 1),
    ([[-np.inf, 0.0, np.inf, 2.0], [5.0, -5.0, 0.0, np.nan], [np.nan] * 4], 6),
    ([[0.0] * 33] * 5, 50),
    ([[2.0]], 3),
    ([[1.0, 2.0]], 0),
)
ALPHAS = (([4], [0.5, 1.0, 3.25]), ([2, 3], 0.1), ([], [[2.0, 70.0]]), ([0], 1.5), ([3], []))
RATES = (([6], [0, 1, 4, 10, 30, 900]), ([2, 3], 12), ([0], 3))


def cases():
    """Yields (name, arguments, function of the seeds that builds the op); the first few of a kind first."""
    for dtype in FLOATS:
        for name, op in FLOAT_OPS:
            for shape in ([2, 5], [], [0, 3], [3], [129], [40000]):
                attributes = {"shape": np.array(shape, np.int32), "dtype": dtype}
                yield name, {"shape": shape, "dtype": dtype}, op, attributes
    for dtype, minval, maxval in RANGES:
        for shape in ([2, 5], [], [129]):
            arguments = {"shape": shape, "minval": minval, "maxval": maxval, "dtype": dtype}
            attributes = {"minval": np.array(minval, dtype), "maxval": np.array(maxval, dtype)}
            attributes["shape"] = np.array(shape, np.int32)
            yield "random_uniform_int", arguments, tf.raw_ops.RandomUniformInt, attributes
    for dtype in FLOATS:
        for output in ("int64", "int32"):
            for logits, samples in LOGITS:
                arguments = {"logits": logits, "num_samples": samples, "logits_dtype": dtype, "dtype": output}
                attributes = {
                    "logits": np.array(logits, dtype),
                    "num_samples": samples,
                    "output_dtype": output,
                }
                yield "multinomial", arguments, tf.raw_ops.Multinomial, attributes
    for shape in ([10], [], [1], [2], [1, 5], [7, 3], [5, 0], [0], [3000], [100000]):
        value = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
        yield "random_shuffle", {"shape": shape}, tf.raw_ops.RandomShuffle, {"value": value}
    for dtype in FLOATS:
        for shape, alpha in ALPHAS:
            arguments = {"shape": shape, "alpha": alpha, "alpha_dtype": dtype}
            attributes = {"shape": np.array(shape, np.int32), "alpha": np.array(alpha, dtype)}
            yield "random_gamma", arguments, tf.raw_ops.RandomGamma, attributes
    for rate_dtype in NUMBERS:
        for dtype in NUMBERS:
            for shape, rate in RATES:
                arguments = {"shape": shape, "rate": rate, "rate_dtype": rate_dtype, "dtype": dtype}
                attributes = {"shape": np.array(shape, np.int32), "rate": np.array(rate, rate_dtype)}
                attributes["dtype"] = dtype
                yield "random_poisson", arguments, tf.raw_ops.RandomPoissonV2, attributes


def seeded_cases():
    """Yields (name, seeds, arguments, tensor): every case with one pair of seeds, the first of each op with all."""
    pairs = [(87654321, 42), (0, 7), (-1, -(2**62)), (2**31 - 1, 0)]
    seen = set()
    for name, arguments, op, attributes in cases():
        kind = name, arguments.get("dtype")
        for seeds in [(1234, 5)] + ([] if kind in seen else pairs):
            yield name, seeds, arguments, op(seed=seeds[0], seed2=seeds[1], **attributes)
        seen.add(kind)


def describe(result):
    """The result as JSON can hold it: floats by their bits, so that equal means equal."""
    flat = np.ascontiguousarray(result).ravel()
    bits = flat.view(f"u{flat.itemsize}") if flat.dtype.kind == "f" else flat
    found = {"shape": list(result.shape), "dtype": result.dtype.name}
    if flat.size <= LARGE:
        found["values"] = bits.tolist()
    else:
        found["first"] = bits[:8].tolist()
        found["last"] = bits[-8:].tolist()
        found["sha256"] = hashlib.sha256(flat.tobytes()).hexdigest()
    return found


def main():
    """Runs every case and writes the file."""
    # With several threads TensorFlow's multinomial depends on how many there are.
    config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    with tf.Graph().as_default():
        listed = list(seeded_cases())
        with tf.compat.v1.Session(config=config) as session:
            outputs = [case[3] for case in listed]
            rounds = [session.run(outputs) for _ in range(RUNS)]
    lines = []
    for i, (name, seeds, arguments, _) in enumerate(listed):
        record = {
            "op": name,
            "seeds": seeds,
            "arguments": arguments,
            "runs": [describe(r[i]) for r in rounds],
        }
        lines.append(json.dumps(record, separators=(",", ":")))
    with open(PATH, "w") as file:
        file.write("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
