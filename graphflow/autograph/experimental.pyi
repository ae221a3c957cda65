"""What is not rewritten (tf.autograph.experimental)."""

from graphflow.autograph.converting import do_not_convert as do_not_convert
