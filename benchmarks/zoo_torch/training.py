"""What the twins have in common: a module, batches fed in turn, and the updates of a step."""

import numpy as np
import torch
from torch import nn

DIFFERENT = 8
"""As many steps have feeds of their own as in measure_zoo.py."""

TWINS = {}
"""By the name of the zoo's model a function from a RandomState to a Training."""


def twin(build):
    """Registers a function by its name, which is that of the model."""
    TWINS[build.__name__] = build
    return build


class Update:
    """One update of a step: a loss of the batch, its gradients, and an optimizer.

    Clipping, called between gradients and optimizer, and the schedule of the rate may be missing.
    """

    def __init__(self, loss, optimizer, clip=None, schedule=None):
        self.loss, self.optimizer, self.clip, self.schedule = loss, optimizer, clip, schedule

    def __call__(self, batch):
        self.optimizer.zero_grad()
        loss = self.loss(*batch)
        loss.backward()
        if self.clip is not None:
            self.clip()
        self.optimizer.step()
        if self.schedule is not None:
            self.schedule.step()
        return loss.item()


class Training:
    """A module that is trained: each step makes all updates with the next batch, and then what is done `after`."""

    def __init__(self, module, batches, *updates, after=None):
        self.module, self.batches, self.updates, self.after = module, batches, updates, after
        self.steps, self.losses = 0, []
        named = (
            module.named_parameters()
        )  # Torch's recurrent layers have a second bias, which is not counted.
        trained = [p for name, p in named if p.requires_grad and "bias_hh" not in name]
        self.parameters = sum(p.numel() for p in trained)

    def compile(self):
        """Compiles forward and backward of every loss."""
        for update in dict.fromkeys(self.updates):  # one may be made twice in a step
            update.loss = torch.compile(update.loss)

    def step(self):
        """One step; keeps the losses."""
        batch = self.batches[self.steps % len(self.batches)]
        self.steps += 1
        self.losses = [update(batch) for update in self.updates]
        if self.after is not None:
            self.after()


def tensor(value):
    """A batch's array; integers are indices."""
    array = np.ascontiguousarray(value)
    return torch.from_numpy(array.astype(np.int64) if array.dtype.kind in "iu" else array.astype(np.float32))


def images(value):
    """A batch of images, channels before height and width."""
    return tensor(np.moveaxis(value, -1, 1))


def groups(module, decay, decayed):
    """Parameter groups with weight decay for those whose name `decayed` accepts."""
    named = [(name, p) for name, p in module.named_parameters() if p.requires_grad]
    return [
        {"params": [p for name, p in named if decayed(name)], "weight_decay": decay},
        {"params": [p for name, p in named if not decayed(name)]},
    ]


def clip_norm(module, norm):
    """Clips all gradients by their norm together."""
    parameters = list(module.parameters())
    return lambda: nn.utils.clip_grad_norm_(parameters, norm)


def clip_value(module, value):
    """Clips each element."""
    parameters = list(module.parameters())
    return lambda: nn.utils.clip_grad_value_(parameters, value)


def clip_each(module, norm):
    """Clips each gradient by its own norm."""
    parameters = list(module.parameters())

    def clip():
        for parameter in parameters:
            nn.utils.clip_grad_norm_(parameter, norm)

    return clip


def mask_of(lengths, longest):
    """True where a position is inside its sequence."""
    return torch.arange(longest) < lengths[:, None]


def piecewise(optimizer, bounds, factors):
    """The schedule that takes the next factor of the rate after each bound."""
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: factors[sum(step > b for b in bounds)])
