"""What outlives a run: variables, queues, readers, datasets, synchronous rounds."""
