"""Ops of neural networks: convolution, pooling, normalization, softmax, embeddings."""
