"""Which cluster and task a process is, as the engine tells that has started it (tf.distribute.cluster_resolver)."""

from graphflow._core.cluster.resolvers.base import ClusterResolver as ClusterResolver
from graphflow._core.cluster.resolvers.variables import HostsClusterResolver as HostsClusterResolver
from graphflow._core.cluster.resolvers.kubernetes import KubernetesClusterResolver as KubernetesClusterResolver
from graphflow._core.cluster.resolvers.moving import MovingClusterResolver as MovingClusterResolver
from graphflow._core.cluster.resolvers.moving import Place as Place
from graphflow._core.cluster.resolvers.simple import SimpleClusterResolver as SimpleClusterResolver
from graphflow._core.cluster.resolvers.slurm import SlurmClusterResolver as SlurmClusterResolver
from graphflow._core.cluster.resolvers.variables import TFConfigClusterResolver as TFConfigClusterResolver
from graphflow._core.cluster.resolvers.tpu import TPUClusterResolver as TPUClusterResolver
from graphflow._core.cluster.resolvers.simple import UnionClusterResolver as UnionClusterResolver
from graphflow._core.cluster.resolvers.simple import UnionClusterResolver as _UnionClusterResolver
from graphflow._core.cluster.resolvers.found import resolver_from_environment as resolver_from_environment
UnionResolver = _UnionClusterResolver
