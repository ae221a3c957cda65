"""Texts as numbers (tf.contrib.learn.preprocessing)."""

from graphflow.contrib.learn.preprocessing.text import ByteProcessor as ByteProcessor
from . import categorical_vocabulary as categorical_vocabulary
from graphflow.contrib.learn.preprocessing.categorical_vocabulary import CategoricalVocabulary as CategoricalVocabulary
from . import text as text
from graphflow.contrib.learn.preprocessing.text import VocabularyProcessor as VocabularyProcessor
