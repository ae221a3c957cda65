"""Sums over devices by the names of NVIDIA's collectives (tf.contrib.nccl)."""

from graphflow.contrib.nccl.collectives import all_max as all_max
from graphflow.contrib.nccl.collectives import all_min as all_min
from graphflow.contrib.nccl.collectives import all_prod as all_prod
from graphflow.contrib.nccl.collectives import all_sum as all_sum
from graphflow.contrib.nccl.collectives import broadcast as broadcast
from graphflow.contrib.nccl.collectives import reduce_sum as reduce_sum
