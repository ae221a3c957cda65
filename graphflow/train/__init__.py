"""Training: optimizers, learning-rate decays, steps, moving averages, device placement."""
