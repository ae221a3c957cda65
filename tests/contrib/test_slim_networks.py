"""Protects the networks of contrib.slim: variables, layers, end points and results are those of TensorFlow 1.15.5."""

from __future__ import annotations

import importlib
import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import graphflow as gf
from tests.contrib import slim_network_cases as cases

RECORDED: Final[dict[str, Any]] = json.loads(Path(cases.RECORDED).read_text("utf-8"))


def nets(name: str) -> Any:
    return importlib.import_module(f"graphflow.contrib.slim.nets.{name}")


@pytest.mark.parametrize("name", cases.CASES)
def test_is_made_as_in_tensorflow(name: str) -> None:
    found = cases.structure(gf, nets, name)
    for part, expected in RECORDED["structures"][name].items():
        assert found[part] == expected, part


@pytest.mark.parametrize(("name", "end"), cases.ENDS)
def test_ends_where_it_is_told(name: str, end: str) -> None:
    assert cases.base(gf, nets, name, end) == RECORDED["bases"][f"{name} {end}"]


@pytest.mark.parametrize("name", cases.VALUES)
def test_gives_what_tensorflow_gives(name: str) -> None:
    found = cases.values(gf, nets, name)
    expected = RECORDED["values"][name]
    assert found.keys() == expected.keys()
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, rtol=2e-3, atol=2e-5, err_msg=key)


@pytest.mark.parametrize("name", ["inception_v1", "inception_v2", "inception_v3"])
def test_an_unknown_end_is_told(name: str) -> None:
    images = gf.placeholder(gf.float32, [1, 64, 64, 3])
    with gf.Graph().as_default(), pytest.raises(ValueError, match="Unknown final endpoint Mixed_9"):
        getattr(nets(name), f"{name}_base")(gf.zeros([1, 128, 128, 3]), final_endpoint="Mixed_9")
    if name != "inception_v1":
        with pytest.raises(ValueError, match="depth_multiplier is not greater than zero"):
            getattr(nets(name), name)(images, depth_multiplier=0)


@pytest.mark.parametrize(
    ("output_stride", "words"),
    [(6, "needs to be a multiple of 4"), (64, "cannot be reached"), (12, "cannot be reached")],
)
def test_a_stride_that_is_not_to_be_had_is_told(output_stride: int, words: str) -> None:
    with gf.Graph().as_default(), pytest.raises(ValueError, match=words):
        nets("resnet_v1").resnet_v1_50(gf.zeros([1, 64, 64, 3]), output_stride=output_stride)


def test_networks_of_own_blocks() -> None:
    resnet = nets("resnet_v2")
    blocks = [resnet.resnet_v2_block("first", 4, 2, 2), resnet.resnet_v2_block("second", 8, 1, 1)]
    assert blocks[0].args == [
        {"depth": 16, "depth_bottleneck": 4, "stride": 1},
        {"depth": 16, "depth_bottleneck": 4, "stride": 2},
    ]
    with gf.Graph().as_default():
        net, ends = resnet.resnet_v2(
            gf.zeros([1, 10, 10, 3]), blocks, output_stride=1, include_root_block=False, global_pool=False
        )
        assert net.shape.as_list() == [1, 10, 10, 32]
        assert ends["resnet_v2/first"].shape.as_list() == [1, 10, 10, 16]


def test_sizes_of_images_and_other_names() -> None:
    sizes = {
        "alexnet": ["alexnet_v2"], "vgg": ["vgg_a", "vgg_16", "vgg_19", "vgg_d", "vgg_e"],
        "inception": ["inception_v1", "inception_v2"], "resnet_v1": ["resnet_v1"], "resnet_v2": ["resnet_v2"],
    }  # fmt: skip
    assert {
        getattr(nets(module), name).default_image_size for module, names in sizes.items() for name in names
    } == {224}
    assert nets("inception").inception_v3.default_image_size == 299
    assert nets("vgg").vgg_d is nets("vgg").vgg_16
    assert list(inspect.signature(nets("inception").inception_v3).parameters)[:3] == [
        "inputs",
        "num_classes",
        "is_training",
    ]
    assert gf.contrib.slim.nets.resnet_v1.resnet_arg_scope is nets("resnet_utils").resnet_arg_scope


PROGRAM: Final = """
import graphflow.as_tensorflow
graphflow.as_tensorflow.install()
import tensorflow as tf, tf_slim
from tensorflow.contrib.slim.nets import inception, resnet_v1
from tensorflow.contrib.slim.python.slim.nets import inception_v3
from tensorflow.contrib.slim.python.slim.nets.resnet_v1 import resnet_v1_50
import tf_slim.nets.vgg
assert resnet_v1_50 is resnet_v1.resnet_v1_50 is tf.contrib.slim.nets.resnet_v1.resnet_v1_50
assert resnet_v1_50 is tf_slim.nets.resnet_v1.resnet_v1_50
assert inception_v3.inception_v3 is inception.inception_v3
assert tf_slim.nets.vgg.vgg_16 is tf.contrib.slim.nets.vgg.vgg_16
"""


def test_programs_of_tensorflow_find_them() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
