"""Random numbers as TensorFlow draws them: the counter and its bits, and what is made of them."""
