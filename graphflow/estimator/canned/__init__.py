"""Ready-made estimators: linear models, networks, both together, and the mean as a baseline."""
