"""Clusters that a program begins by itself, on an engine (gf.cluster)."""

from graphflow._core.cluster.on_ray.cluster import RayCluster as RayCluster
from graphflow._core.cluster.on_ray.cluster import TaskFailed as TaskFailed
from graphflow._core.cluster.on_ray.registry import TaskEvent as TaskEvent
