"""Reducers: how a value of each tower becomes one, and comes to the devices where it is needed."""

from __future__ import annotations

from graphflow.distribute.reducers.base import Reducer as Reducer
from graphflow.distribute.reducers.compressing import CompressingReducer as CompressingReducer
from graphflow.distribute.reducers.halving_doubling import HalvingDoublingReducer as HalvingDoublingReducer
from graphflow.distribute.reducers.hierarchical import HierarchicalReducer as HierarchicalReducer
from graphflow.distribute.reducers.one_device import ReductionToOneDevice as ReductionToOneDevice
from graphflow.distribute.reducers.packing import PackingReducer as PackingReducer
from graphflow.distribute.reducers.ring import RingReducer as RingReducer
from graphflow.distribute.reducers.rounding import BFloat16Reducer as BFloat16Reducer
from graphflow.distribute.reducers.rounding import EightBitReducer as EightBitReducer
from graphflow.distribute.reducers.rounding import Float16Reducer as Float16Reducer
from graphflow.distribute.reducers.rounding import RoundingReducer as RoundingReducer
from graphflow.distribute.reducers.top_k import TopKReducer as TopKReducer
