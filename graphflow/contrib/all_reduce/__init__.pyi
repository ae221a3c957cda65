"""Sums over towers of which every tower has one: ways to share the work among devices (tf.contrib.all_reduce)."""

from graphflow.contrib.all_reduce.flat import build_nccl_all_reduce as build_nccl_all_reduce
from graphflow.contrib.all_reduce.hierarchical import build_nccl_then_recursive_hd as build_nccl_then_recursive_hd
from graphflow.contrib.all_reduce.hierarchical import build_nccl_then_ring as build_nccl_then_ring
from graphflow.contrib.all_reduce.hierarchical import build_nccl_then_shuffle as build_nccl_then_shuffle
from graphflow.contrib.all_reduce.flat import build_recursive_hd_all_reduce as build_recursive_hd_all_reduce
from graphflow.contrib.all_reduce.flat import build_ring_all_reduce as build_ring_all_reduce
from graphflow.contrib.all_reduce.flat import build_shuffle_all_reduce as build_shuffle_all_reduce
from graphflow.contrib.all_reduce.hierarchical import build_shuffle_then_ring as build_shuffle_then_ring
from graphflow.contrib.all_reduce.hierarchical import build_shuffle_then_shuffle as build_shuffle_then_shuffle
