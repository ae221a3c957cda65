"""What datasets do when a graph runs: sources, transformations, iterators."""
