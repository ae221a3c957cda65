"""Tensors as strings and back: serialized tensors, examples in JSON, compressed strings."""

import gzip
import zlib

import numpy as np
from harness import Family

FAMILY = Family("encoding")

FAMILY.expressions(
    r"""
    tf.io.serialize_tensor(1.5)
    tf.io.serialize_tensor([1, 2])
    tf.io.serialize_tensor(ph(f(2, 3), [None, 3]))
    tf.io.serialize_tensor('a')
    tf.io.serialize_tensor([['a', 'b']])
    tf.io.serialize_tensor(True)
    tf.serialize_tensor(tf.zeros([0, 2]))
    tf.serialize_tensor(tf.constant([1 + 2j]))
    tf.serialize_tensor(tf.cast([1.5, 2.5], tf.float16))
    tf.serialize_tensor(tf.cast([1.5, 2.5], tf.bfloat16))
    tf.io.parse_tensor(tf.io.serialize_tensor([[1, 2]]), tf.int32)
    tf.io.parse_tensor(tf.io.serialize_tensor(7), tf.int32)
    tf.parse_tensor(tf.io.serialize_tensor('x'), tf.string)
    tf.parse_tensor(tf.io.serialize_tensor(['x', 'yz']), tf.string)
    tf.parse_tensor(tf.io.serialize_tensor(tf.zeros([0, 2])), tf.float32)
    tf.cast(tf.parse_tensor(tf.serialize_tensor(tf.cast([1.5, 2.5], tf.bfloat16)), tf.bfloat16), tf.float32)
    tf.decode_json_example([['{}'], ['{}']])
    tf.io.decode_compressed(ph(['ab', 'c'], [None]))
    """
)
FAMILY.errors(
    r"""
    tf.io.parse_tensor(tf.io.serialize_tensor([1, 2]), tf.int64)
    tf.io.parse_tensor('bogus', tf.int64)
    tf.io.parse_tensor('', tf.int64)
    tf.io.parse_tensor(ph(['bogus'], [None]), tf.int64)
    tf.decode_json_example('{]')
    tf.decode_json_example('')
    tf.decode_json_example('{"features": {"of": {}}}')
    tf.io.decode_compressed(['qqqq'], 'ZLIB')
    tf.io.decode_compressed(['qqqq'], 'GZIP')
    """
)


@FAMILY.case()
def examples_in_json(tf, t):
    texts = [
        """{"features": {"feature": {
            "a": {"int64List": {"value": ["1", 2]}},
            "b": {"bytesList": {"value": ["YQ=="]}},
            "f": {"floatList": {"value": [1.5, -2, 1e3]}}}}}""",
        '{"features": {"feature": {"b": {"bytes_list": {"value": ["YmM=", ""]}}, "f": {"floatList": {}}}}}',
    ]
    kinds = {"a": tf.int64, "b": tf.string, "f": tf.float32}
    read = tf.parse_example(
        tf.io.decode_json_example(texts), {k: tf.VarLenFeature(v) for k, v in kinds.items()}
    )
    return [t.run(read[key]) for key in sorted(read)]


@FAMILY.case()
def compressed_strings(tf, t):
    whole = zlib.compress(b"abcdef" * 20)
    zipped = gzip.compress(b"ab")
    given = [
        ["ZLIB", [whole, whole + b"more", whole[:10], b""]],
        ["GZIP", [zipped, zipped + gzip.compress(b"cd")]],
    ]
    return [t.run(tf.decode_compressed(np.array(texts), kind)) for kind, texts in given]
