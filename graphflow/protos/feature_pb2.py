"""Features: lists of bytes, floats or integers by name, under the name of TensorFlow's module."""

from __future__ import annotations

from typing import Any

from graphflow.protos.fields import messages

_MADE = messages(
    "feature",
    {
        "BytesList": ("repeated bytes value = 1",),
        "FloatList": ("repeated float value = 1",),
        "Int64List": ("repeated int64 value = 1",),
        "Feature": (
            "oneof kind BytesList bytes_list = 1",
            "oneof kind FloatList float_list = 2",
            "oneof kind Int64List int64_list = 3",
        ),
        "Features": ("map<string, Feature> feature = 1",),
        "FeatureList": ("repeated Feature feature = 1",),
        "FeatureLists": ("map<string, FeatureList> feature_list = 1",),
    },
)
DESCRIPTOR: Any = _MADE["DESCRIPTOR"]
BytesList: Any = _MADE["BytesList"]
FloatList: Any = _MADE["FloatList"]
Int64List: Any = _MADE["Int64List"]
Feature: Any = _MADE["Feature"]
Features: Any = _MADE["Features"]
FeatureList: Any = _MADE["FeatureList"]
FeatureLists: Any = _MADE["FeatureLists"]
