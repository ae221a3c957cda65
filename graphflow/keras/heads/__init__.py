"""Heads of models whose metrics and optimizers are Keras's, as gf.estimator has them: BinaryClassHead and its like."""
