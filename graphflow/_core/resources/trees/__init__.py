"""Trees of decisions that live in a session: forests of random trees, and ensembles of boosted ones."""
