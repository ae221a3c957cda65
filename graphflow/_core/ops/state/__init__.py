"""Variables: their making, scopes, initial values, updates and checkpoints."""
