"""Rules and their parts that are the same for processors and GPUs."""
