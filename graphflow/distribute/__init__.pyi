"""Distribution strategies: one model function on several devices or machines (gf.distribute)."""

from graphflow.distribute.collective import AllReduce as AllReduce
from graphflow.distribute.reducers.rounding import BFloat16Reducer as BFloat16Reducer
from graphflow.distribute.collective import CollectiveAllReduceStrategy as CollectiveAllReduceStrategy
from graphflow.estimator.run_config import DistributeConfig as DistributeConfig
from graphflow.distribute.values import DistributedValues as DistributedValues
from graphflow.distribute.variables import DistributedVariable as DistributedVariable
from graphflow.distribute.strategy import DistributionStrategy as DistributionStrategy
from graphflow.distribute.reducers.rounding import EightBitReducer as EightBitReducer
from graphflow.distribute.reducers.rounding import Float16Reducer as Float16Reducer
from graphflow.distribute.reducers.halving_doubling import HalvingDoublingReducer as HalvingDoublingReducer
from graphflow.distribute.reducers.hierarchical import HierarchicalReducer as HierarchicalReducer
from graphflow.distribute.in_graph import InGraphStrategy as InGraphStrategy
from graphflow.distribute.input import InputContext as InputContext
from graphflow.distribute.values import Mirrored as Mirrored
from graphflow.distribute.mirrored import MirroredStrategy as MirroredStrategy
from graphflow.distribute.variables import MirroredVariable as MirroredVariable
from graphflow.distribute.one_device import OneDeviceStrategy as OneDeviceStrategy
from graphflow.distribute.reducers.packing import PackingReducer as PackingReducer
from graphflow.distribute.parameter_server import ParameterServerStrategy as ParameterServerStrategy
from graphflow.distribute.values import PerDevice as PerDevice
from graphflow.distribute.reducers.base import ReduceOp as ReduceOp
from graphflow.distribute.reducers.base import Reducer as Reducer
from graphflow.distribute.reducers.one_device import ReductionToOneDevice as ReductionToOneDevice
from graphflow.distribute.reducers.ring import RingReducer as RingReducer
from graphflow._core.simulation.machine import MessageCosts as MessageCosts
from graphflow._core.simulation.machine import SimulatedCluster as SimulatedCluster
from graphflow._core.simulation.report import Simulation as Simulation
from graphflow.distribute.reducers.top_k import TopKReducer as TopKReducer
from graphflow.distribute.context import TowerContext as TowerContext
from graphflow.distribute.variables import TowerLocalVariable as TowerLocalVariable
from . import cluster_resolver as cluster_resolver
from . import experimental as experimental
from graphflow._core.ops.distributed.collectives import all_gather as all_gather
from graphflow._core.ops.distributed.collectives import all_reduce as all_reduce
from graphflow._core.ops.distributed.collectives import all_to_all as all_to_all
from graphflow._core.ops.distributed.collectives import broadcast as broadcast
from graphflow._core.ops.distributed.collectives import broadcast_recv as broadcast_recv
from graphflow._core.ops.distributed.collectives import broadcast_send as broadcast_send
from graphflow.distribute.context import get_cross_tower_context as get_cross_tower_context
from graphflow.distribute.context import get_distribution_strategy as get_distribution_strategy
from graphflow.distribute.context import get_loss_reduction as get_loss_reduction
from graphflow.distribute.context import get_tower_context as get_tower_context
from graphflow.distribute.context import has_distribution_strategy as has_distribution_strategy
from graphflow.distribute.increment import increment_var as increment_var
from graphflow.distribute.serving import run_standard_tensorflow_server as run_standard_tensorflow_server
from graphflow.train.simulation import simulate as simulate
from graphflow.distribute.context import get_distribution_strategy as _get_distribution_strategy
from graphflow.distribute.context import get_tower_context as _get_tower_context
from graphflow.distribute.context import has_distribution_strategy as _has_distribution_strategy
from graphflow.distribute.strategy import DistributionStrategy as _DistributionStrategy
Strategy = _DistributionStrategy
get_replica_context = _get_tower_context
get_strategy = _get_distribution_strategy
has_strategy = _has_distribution_strategy
