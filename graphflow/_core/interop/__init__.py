"""GraphDef and functions as TensorFlow's messages: graphs written, and read."""
