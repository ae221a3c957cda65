"""PyTorch twins of the models of tests/zoo: the same layers, sizes, losses, optimizers and batches, in float32.

Each is written as PyTorch's users write it: modules, channels before height and width, nn.LSTM and nn.GRU where the
model has dynamic_rnn, weight decay by the optimizer. What that changes: torch's recurrent layers have a second bias,
strided convolutions pad both sides alike, and AdamW corrects its bias.
"""

from zoo_torch import (
    attention,
    convolutional,
    feed_forward,
    generative,
    graphs,
    recommenders,
    recurrent,
    reinforcement,
)
from zoo_torch.training import TWINS

__all__ = [
    "TWINS",
    "attention",
    "convolutional",
    "feed_forward",
    "generative",
    "graphs",
    "recommenders",
    "recurrent",
    "reinforcement",
]
