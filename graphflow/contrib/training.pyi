"""Hyperparameters, steps of training, evaluation of checkpoints, load balancing (tf.contrib.training)."""

from graphflow._core.cluster.client.device_setter import GreedyLoadBalancingStrategy as GreedyLoadBalancingStrategy
from graphflow.contrib.hparams import HParams as HParams
from graphflow._core.cluster.client.device_setter import RandomStrategy as RandomStrategy
from graphflow.contrib.evaluation import StopAfterNEvalsHook as StopAfterNEvalsHook
from graphflow.contrib.evaluation import SummaryAtEndHook as SummaryAtEndHook
from graphflow.contrib.train_op import add_gradients_summaries as add_gradients_summaries
from graphflow.train.bucketing import bucket as bucket
from graphflow.train.bucketing import bucket_by_sequence_length as bucket_by_sequence_length
from graphflow._core.cluster.client.device_setter import byte_size_load_fn as byte_size_load_fn
from graphflow.contrib.evaluation import checkpoints_iterator as checkpoints_iterator
from graphflow.contrib.train_op import clip_gradient_norms as clip_gradient_norms
from graphflow.contrib.train_op import clip_gradient_norms_fn as clip_gradient_norms_fn
from graphflow.contrib.train_op import create_train_op as create_train_op
from graphflow.contrib.evaluation import evaluate_once as evaluate_once
from graphflow.contrib.evaluation import evaluate_repeatedly as evaluate_repeatedly
from graphflow.contrib.evaluation import get_or_create_eval_step as get_or_create_eval_step
from graphflow.contrib.train_op import multiply_gradients as multiply_gradients
from graphflow.contrib.hparams import parse_values as parse_values
from graphflow.contrib.train_op import train as train
from graphflow.contrib.evaluation import wait_for_new_checkpoint as wait_for_new_checkpoint
