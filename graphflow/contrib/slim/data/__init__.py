"""Examples in files, from a description of a data set to tensors (tf.contrib.slim's modules on data)."""
