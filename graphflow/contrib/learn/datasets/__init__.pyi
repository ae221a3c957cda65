"""Small data sets, from files that are there (tf.contrib.learn.datasets)."""

from . import base as base
from graphflow.contrib.learn.datasets.loading import DATASETS as DATASETS
from graphflow.contrib.learn.datasets.base import load_boston as load_boston
from graphflow.contrib.learn.datasets.loading import load_dataset as load_dataset
from graphflow.contrib.learn.datasets.base import load_iris as load_iris
from . import mnist as mnist
