"""The tasks of a cluster: what they say to one another, and what they do."""
