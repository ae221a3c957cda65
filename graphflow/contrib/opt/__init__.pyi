"""Optimizers that only tf.contrib.opt has."""

from graphflow.contrib.opt.adams import AdaMaxOptimizer as AdaMaxOptimizer
from graphflow.contrib.opt.adams import AdamGSOptimizer as AdamGSOptimizer
from graphflow.contrib.opt.adams import LazyAdamGSOptimizer as LazyAdamGSOptimizer
from graphflow.contrib.opt.adams import LazyAdamOptimizer as LazyAdamOptimizer
from graphflow.contrib.opt.adams import NadamOptimizer as NadamOptimizer
from graphflow.contrib.opt.layerwise import LARSOptimizer as LARSOptimizer
from graphflow.contrib.opt.layerwise import RegAdagradOptimizer as RegAdagradOptimizer
from graphflow.contrib.opt.multitask import MultitaskOptimizerWrapper as MultitaskOptimizerWrapper
from graphflow.contrib.opt.multitask import clip_gradients_by_global_norm as clip_gradients_by_global_norm
from graphflow.contrib.opt.preconditioned import GGTOptimizer as GGTOptimizer
from graphflow.contrib.opt.preconditioned import ShampooOptimizer as ShampooOptimizer
from graphflow.contrib.opt.signs import AddSignOptimizer as AddSignOptimizer
from graphflow.contrib.opt.signs import PowerSignOptimizer as PowerSignOptimizer
from graphflow.contrib.opt.wrappers import DropStaleGradientOptimizer as DropStaleGradientOptimizer
from graphflow.contrib.opt.wrappers import VariableClippingOptimizer as VariableClippingOptimizer
from graphflow.train.optimizers.averaging import MovingAverageOptimizer as MovingAverageOptimizer
from graphflow.train.optimizers.external_optimizer import ExternalOptimizerInterface as ExternalOptimizerInterface
from graphflow.train.optimizers.external_optimizer import ScipyOptimizerInterface as ScipyOptimizerInterface
from graphflow.train.optimizers.weight_decay import AdamWOptimizer as AdamWOptimizer
from graphflow.train.optimizers.weight_decay import DecoupledWeightDecayExtension as DecoupledWeightDecayExtension
from graphflow.train.optimizers.weight_decay import MomentumWOptimizer as MomentumWOptimizer
from graphflow.train.optimizers.weight_decay import extend_with_decoupled_weight_decay as extend_with_decoupled_weight_decay
