"""What the networks of contrib.slim are made of, asked in the same way of graphflow and of TensorFlow 1.15.5.

To record what TensorFlow says, with TensorFlow as tests/oracle/record.py describes it:

    oracle/bin/python tests/contrib/slim_network_cases.py

What is long is kept as digests, one for each part of a network: how many lines it has, and a hash of them. This file
must stay valid under Python 3.7 and imports neither of both.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any, Callable, Dict, List, Tuple

import numpy as np

RECORDED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recorded_slim_networks.json")

_ONE = ("alexnet", "alexnet_v2", 224)
_OVERFEAT = ("overfeat", "overfeat", 231)
_INCEPTIONS = [("inception_v%d" % n, "inception_v%d" % n, 299 if n == 3 else 224) for n in (1, 2, 3)]
_VGG = [("vgg", name, 224) for name in ("vgg_a", "vgg_16", "vgg_19")]
_RESIDUAL = [
    ("resnet_v%d" % n, "resnet_v%d_%d" % (n, layers), 224) for n in (1, 2) for layers in (50, 101, 152, 200)
]
_SCOPES = {
    "alexnet": "alexnet_v2_arg_scope",
    "overfeat": "overfeat_arg_scope",
    "vgg": "vgg_arg_scope",
    "resnet_v1": "resnet_arg_scope",
    "resnet_v2": "resnet_arg_scope",
    "inception_v1": "inception_v1_arg_scope",
    "inception_v2": "inception_v2_arg_scope",
    "inception_v3": "inception_v3_arg_scope",
}
Case = Tuple[str, str, int, Dict[str, Any]]


def _cases() -> Dict[str, Case]:
    cases: Dict[str, Case] = {}

    def add(network: Tuple[str, str, int], **given: Any) -> None:
        module, function, side = network
        words = " ".join("%s=%s" % pair for pair in sorted(given.items()))
        cases[(function + " " + words).strip()] = (module, function, given.pop("side", side), given)

    for network in [_ONE, _OVERFEAT] + _INCEPTIONS + _VGG:
        add(network)
    for network in [_ONE, _OVERFEAT] + _INCEPTIONS + _VGG[:1]:
        add(network, is_training=False, spatial_squeeze=False, num_classes=5, dropout_keep_prob=0.7)
    for network in _RESIDUAL:
        add(network, num_classes=11)
    for network in (_RESIDUAL[0], _RESIDUAL[4]):
        add(network, is_training=False)
        add(network, global_pool=False, num_classes=3, is_training=False, side=97)
        for output_stride in (4, 8):
            add(network, output_stride=output_stride, num_classes=3, side=65)
    for network in (_ONE, _INCEPTIONS[0], _RESIDUAL[0]):
        add(network, scope="mine", calls=2)
    for network in _INCEPTIONS[1:]:
        add(network, depth_multiplier=0.3, min_depth=7)
        add(network, side=150)
    add(_INCEPTIONS[0], scope=None, defaults=False)
    add(_RESIDUAL[0], scope=None, defaults=False)
    return cases


CASES = _cases()
ENDS: List[Tuple[str, str]] = [
    (name, end)
    for name, ends in (
        ("inception_v1", ("Conv2d_1a_7x7", "MaxPool_3a_3x3", "Mixed_4d")),
        ("inception_v2", ("Conv2d_1a_7x7", "Mixed_4a", "Mixed_5c")),
        ("inception_v3", ("Conv2d_2b_3x3", "Mixed_6a", "Mixed_7b")),
    )
    for end in ends
]


def _digests(lines: List[Tuple[str, str]]) -> Dict[str, str]:
    """Of lines with names: for each two first parts of names how many there are, and their hash."""
    parts: Dict[str, List[str]] = {}
    for name, line in lines:
        parts.setdefault("/".join(name.split("/")[:2]), []).append(name + " " + line)
    return {
        part: "%d %s" % (len(found), hashlib.sha256("\n".join(found).encode()).hexdigest()[:12])
        for part, found in parts.items()
    }


_ATTRIBUTES = {
    "Conv2D": ("strides", "padding"),
    "DepthwiseConv2dNative": ("strides", "padding"),
    "MaxPool": ("strides", "padding", "ksize"),
    "AvgPool": ("strides", "padding", "ksize"),
    "FusedBatchNormV3": ("is_training", "epsilon"),
    "ConcatV2": (),
    "Pad": (),
    "Softmax": (),
    "Squeeze": (),
    "Mean": (),
    "Relu": (),
}


def _said(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float):
        return "%.4g" % value
    return str(list(value) if isinstance(value, (list, tuple)) else value)


def _layers(graph: Any) -> List[Tuple[str, str]]:
    """The operations that make the network, with what they are told, what they take, and the shapes of the outputs."""
    found = []
    for op in graph.get_operations():
        if op.type in _ATTRIBUTES and "/Initializer/" not in op.name:
            told = [_said(op.get_attr(name)) for name in _ATTRIBUTES[op.type]]
            taken = op.inputs[0].op.name
            found.append((op.name, "%s %s %s %s" % (op.type, told, taken, op.outputs[0].shape.as_list())))
    return found


def _first_values(tf: Any, graph: Any) -> List[Tuple[str, str]]:
    """The constants from which the variables' initial values are made."""
    names = ("/stddev", "/random_uniform/max", "/random_uniform/min", "/Const", "/zeros", "/ones")
    found = []
    for op in graph.get_operations():
        if "/Initializer/" in op.name and op.name.endswith(names) and op.type == "Const":
            value = np.ravel(tf.contrib.util.constant_value(op.outputs[0]))
            found.append((op.name, "%.5g" % value[0]))
    return found


def _made(tf: Any, nets: Callable[[str], Any], case: Case) -> Tuple[Any, Any]:
    module, function, side, given = case
    given = dict(given)
    calls, defaults = given.pop("calls", 1), given.pop("defaults", True)
    images = tf.placeholder(tf.float32, [2, side, side, 3], name="images")
    slim = tf.contrib.slim
    with slim.arg_scope(getattr(nets(module), _SCOPES[module])() if defaults else []):
        for number in range(calls):
            with tf.variable_scope(tf.get_variable_scope(), reuse=number > 0):
                made = getattr(nets(module), function)(images, **given)
    net, end_points = made
    return net, end_points


def structure(tf: Any, nets: Callable[[str], Any], name: str) -> Dict[str, Any]:
    """The variables, the end points, and, but where windows are spread, the layers of a network."""
    case = CASES[name]
    with tf.Graph().as_default() as graph:
        net, end_points = _made(tf, nets, case)
        trainable = set(tf.trainable_variables())
        variables = [
            (v.op.name, "%s %s" % (v.shape.as_list(), v in trainable)) for v in tf.global_variables()
        ]
        collections = ("update_ops", "moving_vars", "regularization_losses", "model_variables")
        ends = [(key, "%s %s" % (end.op.name, end.shape.as_list())) for key, end in end_points.items()]
        short = len(ends) < 25 and "is_training" not in name
        found: Dict[str, Any] = {
            "net": "%s %s" % (net.op.name, net.shape.as_list()),
            "variables": _digests(variables),
            "end points": dict(ends) if short else _digests(ends),
            "collections": {key: len(graph.get_collection(key)) for key in collections},
        }
        # Spread windows are an operation of their own here, and three in TensorFlow.
        if "output_stride" not in case[3]:
            found["layers"] = _digests(_layers(graph))
            found["first values"] = _digests(_first_values(tf, graph))
        return found


def base(tf: Any, nets: Callable[[str], Any], name: str, end: str) -> Dict[str, Any]:
    """The network up to an end point."""
    with tf.Graph().as_default():
        images = tf.placeholder(tf.float32, [2, 128, 128, 3])
        net, end_points = getattr(nets(name), name + "_base")(images, final_endpoint=end)
        return {
            "net": "%s %s" % (net.op.name, net.shape.as_list()),
            "end points": list(end_points),
            "variables": len(tf.global_variables()),
        }


VALUES: Dict[str, Case] = {
    "resnet_v1_50": ("resnet_v1", "resnet_v1_50", 32, {"num_classes": 3, "is_training": False}),
    "resnet_v2_50 spread": (
        "resnet_v2",
        "resnet_v2_50",
        33,
        {"num_classes": 3, "is_training": False, "output_stride": 8},
    ),
    "inception_v2": (
        "inception_v2",
        "inception_v2",
        64,
        {"num_classes": 3, "is_training": False, "depth_multiplier": 0.2, "min_depth": 6},
    ),
    "inception_v3": (
        "inception_v3",
        "inception_v3",
        107,
        {"num_classes": 3, "is_training": False, "depth_multiplier": 0.1, "min_depth": 6},
    ),
}


def _value(number: int, name: str, shape: List[int]) -> Any:
    waves = np.sin(np.arange(int(np.prod(shape))) * 1.7 + number).reshape(shape)
    if name.endswith("weights"):
        return waves * np.sqrt(4.0 / np.prod(shape[:-1]))
    if name.endswith(("gamma", "moving_variance")):
        return 1.0 + 0.3 * waves
    return 0.1 * waves


def values(tf: Any, nets: Callable[[str], Any], name: str) -> Dict[str, List[float]]:
    """The logits of two images, and of each block or module the mean of its features, with given weights."""
    case = VALUES[name]
    side = case[2]
    with tf.Graph().as_default(), tf.Session() as session:
        net, end_points = _made(tf, nets, case)
        assigned, fed = [], {}
        for number, variable in enumerate(sorted(tf.global_variables(), key=lambda v: v.op.name)):
            shape = variable.shape.as_list()
            given = tf.placeholder(tf.float32, shape)
            assigned.append(variable.assign(given).op)
            fed[given] = _value(number, variable.op.name, shape).astype(np.float32)
        images = np.sin(np.arange(2 * side * side * 3) * 0.37).reshape(2, side, side, 3)
        wanted = {"net": net}
        for key, end in end_points.items():
            if "unit" not in key:
                wanted[key] = tf.reduce_mean(end, list(range(1, len(end.shape))))
        session.run(assigned, fed)
        found = session.run(wanted, {"images:0": images.astype(np.float32)})
        return {key: [float(number) for number in np.ravel(value)] for key, value in found.items()}


def _record() -> None:
    import importlib

    import tensorflow as tf  # type: ignore[import-not-found,unused-ignore]

    def nets(name: str) -> Any:
        return importlib.import_module("tensorflow.contrib.slim.python.slim.nets." + name)

    recorded = {
        "structures": {name: structure(tf, nets, name) for name in CASES},
        "bases": {name + " " + end: base(tf, nets, name, end) for name, end in ENDS},
        "values": {name: values(tf, nets, name) for name in VALUES},
    }
    with open(RECORDED, "w") as file:
        json.dump(recorded, file, indent=1, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    _record()
