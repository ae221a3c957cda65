"""Sequences as lists with a tensor for each step: losses, decoders, models (tf.contrib.legacy_seq2seq)."""

from graphflow.contrib.legacy_seq2seq.decoders import attention_decoder as attention_decoder
from graphflow.contrib.legacy_seq2seq.decoders import basic_rnn_seq2seq as basic_rnn_seq2seq
from graphflow.contrib.legacy_seq2seq.decoders import embedding_attention_decoder as embedding_attention_decoder
from graphflow.contrib.legacy_seq2seq.decoders import embedding_attention_seq2seq as embedding_attention_seq2seq
from graphflow.contrib.legacy_seq2seq.decoders import embedding_rnn_decoder as embedding_rnn_decoder
from graphflow.contrib.legacy_seq2seq.decoders import embedding_rnn_seq2seq as embedding_rnn_seq2seq
from graphflow.contrib.legacy_seq2seq.decoders import model_with_buckets as model_with_buckets
from graphflow.contrib.legacy_seq2seq.losses import rnn_decoder as rnn_decoder
from graphflow.contrib.legacy_seq2seq.losses import sequence_loss as sequence_loss
from graphflow.contrib.legacy_seq2seq.losses import sequence_loss_by_example as sequence_loss_by_example
from graphflow.contrib.legacy_seq2seq.shared import embedding_tied_rnn_seq2seq as embedding_tied_rnn_seq2seq
from graphflow.contrib.legacy_seq2seq.shared import one2many_rnn_seq2seq as one2many_rnn_seq2seq
from graphflow.contrib.legacy_seq2seq.shared import tied_rnn_seq2seq as tied_rnn_seq2seq
