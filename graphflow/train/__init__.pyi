"""Training: optimizers, learning-rate decays, steps, moving averages, device placement (gf.train)."""

from graphflow.train.optimizers.standard import AdadeltaOptimizer as AdadeltaOptimizer
from graphflow.train.optimizers.standard import AdagradOptimizer as AdagradOptimizer
from graphflow.train.optimizers.standard import AdamOptimizer as AdamOptimizer
from graphflow.train.hooks.validation_hooks import BestCheckpointHook as BestCheckpointHook
from graphflow.train.optimizers.bounded_staleness import BoundedStalenessOptimizer as BoundedStalenessOptimizer
from graphflow.train.balance import ByteBalancedStrategy as ByteBalancedStrategy
from graphflow.train.hooks.saving_hooks import CheckpointSaverHook as CheckpointSaverHook
from graphflow.train.hooks.saving_hooks import CheckpointSaverListener as CheckpointSaverListener
from graphflow.train.sessions.session_creators import ChiefSessionCreator as ChiefSessionCreator
from graphflow._core.cluster.cluster_spec import ClusterDef as ClusterDef
from graphflow._core.cluster.cluster_spec import ClusterSpec as ClusterSpec
from graphflow.train.coordinator import Coordinator as Coordinator
from graphflow.train.hooks.validation_hooks import EarlyStoppingHook as EarlyStoppingHook
from graphflow.train.moving_averages import ExponentialMovingAverage as ExponentialMovingAverage
from graphflow.train.hooks.basic_hooks import FeedFnHook as FeedFnHook
from graphflow.train.hooks.basic_hooks import FinalOpsHook as FinalOpsHook
from graphflow.train.optimizers.standard import FtrlOptimizer as FtrlOptimizer
from graphflow.train.hooks.basic_hooks import GlobalStepWaiterHook as GlobalStepWaiterHook
from graphflow.train.optimizers.standard import GradientDescentOptimizer as GradientDescentOptimizer
from graphflow._core.cluster.client.device_setter import GreedyLoadBalancingStrategy as GreedyLoadBalancingStrategy
from graphflow._core.cluster.cluster_spec import JobDef as JobDef
from graphflow.train.hooks.basic_hooks import LoggingTensorHook as LoggingTensorHook
from graphflow.train.coordinator import LooperThread as LooperThread
from graphflow.train.optimizers.standard import MomentumOptimizer as MomentumOptimizer
from graphflow.train.sessions.monitored_session import MonitoredSession as MonitoredSession
from graphflow.train.sessions.training_session import MonitoredTrainingSession as MonitoredTrainingSession
from graphflow.train.hooks.basic_hooks import NanLossDuringTrainingError as NanLossDuringTrainingError
from graphflow.train.hooks.basic_hooks import NanTensorHook as NanTensorHook
from graphflow.train.saving.checkpoint_utils import CheckpointReader as _NewCheckpointReader
from graphflow.train.optimizers.optimizer import Optimizer as Optimizer
from graphflow.train.optimizers.dual_averaging import AdagradDAOptimizer as AdagradDAOptimizer
from graphflow.train.hooks.saving_hooks import ProfilerHook as ProfilerHook
from graphflow.train.optimizers.standard import ProximalAdagradOptimizer as ProximalAdagradOptimizer
from graphflow.train.optimizers.standard import ProximalGradientDescentOptimizer as ProximalGradientDescentOptimizer
from graphflow.train.queue_runner import QueueRunner as QueueRunner
from graphflow.train.optimizers.standard import RMSPropOptimizer as RMSPropOptimizer
from graphflow._core.cluster.client.device_setter import RandomStrategy as RandomStrategy
from graphflow.train.saving.saveables import SaveSpec as SaveSpec
from graphflow.train.saving.vocabularies import VocabInfo as VocabInfo
from graphflow.train.saving.checkpoint import Checkpoint as Checkpoint
from graphflow.train.saving.checkpoint import CheckpointManager as CheckpointManager
from graphflow.train.saving.saveables import SaveableObject as SaveableObject
from graphflow.train.saving.saver import Saver as Saver
from graphflow.train.saving.saver_def import SaverDef as SaverDef
from . import experimental as experimental
from graphflow.train.sessions.scaffold import Scaffold as Scaffold
from graphflow.train.hooks.timers import SecondOrStepTimer as SecondOrStepTimer
from graphflow._core.cluster.server.server import Server as Server
from graphflow._core.cluster.server.server import ServerDef as ServerDef
from graphflow.train.sessions.session_creators import SessionCreator as SessionCreator
from graphflow.train.sessions.session_manager import SessionManager as SessionManager
from graphflow.train.hooks.session_run_hook import SessionRunArgs as SessionRunArgs
from graphflow.train.hooks.session_run_hook import SessionRunContext as SessionRunContext
from graphflow.train.hooks.session_run_hook import SessionRunHook as SessionRunHook
from graphflow.train.hooks.session_run_hook import SessionRunValues as SessionRunValues
from graphflow.train.sessions.monitored_session import SingularMonitoredSession as SingularMonitoredSession
from graphflow.train.hooks.saving_hooks import StepCounterHook as StepCounterHook
from graphflow.train.hooks.basic_hooks import StopAtStepHook as StopAtStepHook
from graphflow.train.hooks.saving_hooks import SummarySaverHook as SummarySaverHook
from graphflow.summary.writer import FileWriter as _SummaryWriter
from graphflow.train.sessions.supervisor import Supervisor as Supervisor
from graphflow.train.optimizers.sync_replicas import SyncReplicasOptimizer as SyncReplicasOptimizer
from graphflow.train.hooks.validation_hooks import Validation as Validation
from graphflow.train.hooks.validation_hooks import ValidationHook as ValidationHook
from graphflow.train.sessions.session_creators import WorkerSessionCreator as WorkerSessionCreator
from graphflow.train.queue_runner import add_queue_runner as add_queue_runner
from graphflow.train.steps import assert_global_step as assert_global_step
from graphflow.train.batching import batch as batch
from graphflow.train.batching import batch_join as batch_join
from graphflow._core.cluster.client.device_setter import byte_size_load_fn as byte_size_load_fn
from graphflow.train.sessions.supervisor import basic_train_loop as basic_train_loop
from graphflow.train.saving.checkpoint_management import checkpoint_exists as checkpoint_exists
from graphflow._core.cluster.client.control import cluster_status as cluster_status
from graphflow.train.decays import cosine_decay as cosine_decay
from graphflow.train.decays import cosine_decay_restarts as cosine_decay_restarts
from graphflow.train.steps import create_global_step as create_global_step
from graphflow.train.decays import exponential_decay as exponential_decay
from graphflow.train.saving.meta_graph import export_meta_graph as export_meta_graph
from graphflow.train.saving.checkpoint_management import generate_checkpoint_state_proto as generate_checkpoint_state_proto
from graphflow.train.saving.checkpoint_management import get_checkpoint_mtimes as get_checkpoint_mtimes
from graphflow.train.saving.checkpoint_management import get_checkpoint_state as get_checkpoint_state
from graphflow.train.steps import get_global_step as get_global_step
from graphflow.train.steps import get_or_create_global_step as get_or_create_global_step
from graphflow.train.steps import global_step as global_step
from graphflow.train.saving.meta_graph import import_meta_graph as import_meta_graph
from graphflow.train.saving.checkpoint_utils import init_from_checkpoint as init_from_checkpoint
from graphflow.train.saving.warm_start import warm_start as warm_start
from graphflow.train.producers import input_producer as input_producer
from graphflow.train.decays import inverse_time_decay as inverse_time_decay
from graphflow.train.saving.checkpoint_management import latest_checkpoint as latest_checkpoint
from graphflow.train.producers import limit_epochs as limit_epochs
from graphflow.train.decays import linear_cosine_decay as linear_cosine_decay
from graphflow.train.saving.checkpoint_utils import list_variables as list_variables
from graphflow.train.saving.checkpoint_utils import load_checkpoint as load_checkpoint
from graphflow.train.saving.safetensors_files import load_safetensors as load_safetensors
from graphflow.train.saving.checkpoint_utils import load_variable as load_variable
from graphflow.train.producers import match_filenames_once as match_filenames_once
from graphflow.train.batching import maybe_batch as maybe_batch
from graphflow.train.batching import maybe_batch_join as maybe_batch_join
from graphflow.train.batching import maybe_shuffle_batch as maybe_shuffle_batch
from graphflow.train.batching import maybe_shuffle_batch_join as maybe_shuffle_batch_join
from . import moving_averages as moving_averages
from graphflow.train.decays import natural_exp_decay as natural_exp_decay
from graphflow.train.decays import noisy_linear_cosine_decay as noisy_linear_cosine_decay
from graphflow.train.decays import piecewise_constant as piecewise_constant
from graphflow.train.decays import piecewise_constant as _piecewise_constant_decay
from graphflow.train.decays import polynomial_decay as polynomial_decay
from . import queue_runner as queue_runner
from graphflow.train.producers import range_input_producer as range_input_producer
from graphflow.train.saving.checkpoint_management import remove_checkpoint as remove_checkpoint
from graphflow._core.cluster.client.device_setter import replica_device_setter as replica_device_setter
from graphflow.train.saving.safetensors_files import restore_safetensors as restore_safetensors
from graphflow.train.batching import shuffle_batch as shuffle_batch
from graphflow.train.batching import shuffle_batch_join as shuffle_batch_join
from graphflow.train.producers import slice_input_producer as slice_input_producer
from graphflow.train.queue_runner import start_queue_runners as start_queue_runners
from graphflow._core.cluster.client.control import stop_cluster as stop_cluster
from graphflow.train.producers import string_input_producer as string_input_producer
from graphflow.summary.writer import summary_iterator as summary_iterator
from graphflow._core.cluster.resolvers.found import task_from_environment as task_from_environment
from graphflow.train.saving.checkpoint_management import update_checkpoint_state as update_checkpoint_state
from graphflow.train.saving.meta_graph import write_graph as write_graph
from graphflow.protos import example_pb2 as _example_pb2
from graphflow.protos import feature_pb2 as _feature_pb2

BytesList = _feature_pb2.BytesList
Example = _example_pb2.Example
Feature = _feature_pb2.Feature
FeatureList = _feature_pb2.FeatureList
FeatureLists = _feature_pb2.FeatureLists
Features = _feature_pb2.Features
FloatList = _feature_pb2.FloatList
Int64List = _feature_pb2.Int64List
NewCheckpointReader = _NewCheckpointReader
SequenceExample = _example_pb2.SequenceExample
SummaryWriter = _SummaryWriter
piecewise_constant_decay = _piecewise_constant_decay
