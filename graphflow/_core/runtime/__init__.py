"""What runs: the NumPy tier, compiled plans, the switch between them, stages on several devices, GPUs."""
