"""What programs import of TensorFlow's inside, and what has no public name."""
