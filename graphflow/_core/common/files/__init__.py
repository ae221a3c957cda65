"""Files: whose they are, signed ones, arrays in them, and the paths that people give."""
