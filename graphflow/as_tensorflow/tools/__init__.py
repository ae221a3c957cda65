"""The tools of TensorFlow that programs import as modules (tensorflow.python.tools)."""
