"""Reducers: how a value of each tower becomes one, and comes to the devices where it is needed."""

from __future__ import annotations

from graphflow.distribute.reducers.base import Reducer as Reducer
from graphflow.distribute.reducers.one_device import ReductionToOneDevice as ReductionToOneDevice
