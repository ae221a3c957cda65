"""Losses of vectors that are to be near each other if their labels are the same (tf.contrib.losses.metric_learning)."""

from graphflow.contrib.losses.metric_learning.clusters import cluster_loss as cluster_loss
from graphflow.contrib.losses.metric_learning.pairs import contrastive_loss as contrastive_loss
from graphflow.contrib.losses.metric_learning.pairs import lifted_struct_loss as lifted_struct_loss
from graphflow.contrib.losses.metric_learning.pairs import npairs_loss as npairs_loss
from graphflow.contrib.losses.metric_learning.pairs import npairs_loss_multilabel as npairs_loss_multilabel
from graphflow.contrib.losses.metric_learning.pairs import triplet_semihard_loss as triplet_semihard_loss
