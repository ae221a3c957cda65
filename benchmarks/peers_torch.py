"""The workloads in PyTorch, eager, as its users write them: modules, torch.optim, sparse embeddings.

Where the library keeps its data in another order (channels first, outputs first) the first weights are
permuted, outside what is timed, so that the work and its results are the same.
"""

import numpy as np
import torch
from torch import nn
from workloads import Workload, after_steps, classes, numbers, registrar

BUILDERS = {}
workload = registrar(BUILDERS)


def parameter(values):
    """A trained tensor with these first values."""
    return nn.Parameter(torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32)))


def dense(weights, bias=True):
    """A linear layer whose weights are given inputs first, and whose bias begins at zero."""
    layer = nn.Linear(*weights.shape, bias=bias)
    layer.weight = parameter(weights.T)
    if bias:
        nn.init.zeros_(layer.bias)
    return layer


def convolution(weights):
    """A convolution over unchanged sizes whose weights are given height, width, inputs, outputs."""
    height, width, inputs, outputs = weights.shape
    layer = nn.Conv2d(inputs, outputs, (height, width), padding="same", bias=False)
    layer.weight = parameter(weights.transpose(3, 2, 0, 1))
    return layer


def training(loss, optimizer, calls, fetch):
    """A workload of training steps; `fetch` says whether each step hands its loss to the caller."""

    def step():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        return value.item() if fetch else None

    def evaluate():
        with torch.no_grad():
            return loss()

    return Workload(step, calls, after_steps(step, evaluate))


@workload
def run_const():
    """A constant made and handed to the caller as an array: the nearest thing to fetching one."""

    def step():
        return torch.tensor(1.0).numpy()

    return Workload(step, 2000, lambda: float(step()))


@workload
def chain1000():
    """Additions from Python, one after the other."""

    def step():
        y = torch.tensor(1.0)
        for i in range(1000):
            y = y + float(i % 7)
        return y.item()

    return Workload(step, 50, step)


@workload
def elementwise_1m():
    """The values are a tensor; the sum is fetched."""
    values = torch.from_numpy(numbers().rand(1000000).astype(np.float32))

    def step():
        with torch.inference_mode():
            total = torch.tanh(values * 2.0 + 1.0) * torch.sigmoid(values) - torch.exp(-values)
            return total.sum().item()

    return Workload(step, 30, step)


def perceptron(make_optimizer, batch=128):
    """nn.Sequential of three linear layers."""
    source = numbers()
    sizes = [784, 256, 256, 10]
    first = [source.randn(sizes[i], sizes[i + 1]).astype(np.float32) * np.float32(0.1) for i in range(3)]
    model = nn.Sequential(dense(first[0]), nn.ReLU(), dense(first[1]), nn.ReLU(), dense(first[2]))
    optimizer = make_optimizer(model.parameters())
    images, labels = source.rand(batch, 784).astype(np.float32), classes(source, batch)

    def loss():
        return nn.functional.cross_entropy(model(torch.from_numpy(images)), torch.from_numpy(labels))

    return training(loss, optimizer, 50, fetch=True)


def adam(parameters):
    """Adam as in the other peers."""
    return torch.optim.Adam(parameters, lr=1e-3)


@workload
def mlp_sgd():
    """The perceptron with gradient descent."""
    return perceptron(lambda parameters: torch.optim.SGD(parameters, lr=0.1))


@workload
def mlp_adam():
    """The perceptron with Adam."""
    return perceptron(adam)


@workload
def linreg_step():
    """Two scalar parameters."""
    slope, offset = nn.Parameter(torch.tensor(0.5)), nn.Parameter(torch.tensor(0.1))
    optimizer = torch.optim.SGD([slope, offset], lr=0.01)

    def loss():
        x, y = torch.tensor(1.0), torch.tensor(2.0)
        return ((x * slope + offset - y) ** 2).sum() / (2 * 17)

    return training(loss, optimizer, 500, fetch=False)


@workload
def cnn_step():
    """nn.Sequential, channels first."""
    source = numbers()

    def weights(*shape):
        return source.randn(*shape).astype(np.float32) * np.float32(0.05)

    first, second = convolution(weights(5, 5, 1, 32)), convolution(weights(5, 5, 32, 64))
    rows = weights(7 * 7 * 64, 1024).reshape(7, 7, 64, 1024).transpose(2, 0, 1, 3).reshape(-1, 1024)
    model = nn.Sequential(
        first, nn.ReLU(), nn.MaxPool2d(2), second, nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
        dense(rows, bias=False), nn.ReLU(), dense(weights(1024, 10), bias=False),
    )  # fmt: skip
    optimizer = adam(model.parameters())
    images, labels = source.rand(64, 28, 28, 1).astype(np.float32), classes(source, 64)
    images = np.ascontiguousarray(images.transpose(0, 3, 1, 2))

    def loss():
        return nn.functional.cross_entropy(model(torch.from_numpy(images)), torch.from_numpy(labels))

    return training(loss, optimizer, 5, fetch=False)


@workload
def embedding_step():
    """nn.Embedding with sparse gradients."""
    source = numbers()
    table = nn.Embedding.from_pretrained(parameter(source.rand(100000, 64)), freeze=False, sparse=True)
    optimizer = torch.optim.SGD(table.parameters(), lr=0.01)
    ids = source.randint(0, 100000, 1024).astype(np.int32)
    return training(lambda: table(torch.from_numpy(ids)).square().sum(), optimizer, 100, fetch=False)


@workload
def while_1000():
    """A loop in Python."""

    def step():
        turn, a = 0, torch.tensor(1.0)
        while turn < 1000:
            turn, a = turn + 1, a * 1.0001
        return a.item()

    return Workload(step, 10, step)


@workload
def lstm_step():
    """Unrolled in Python: nn.LSTM took four to five times as long where this was tried."""
    source = numbers()

    def weights(*shape):
        return parameter(source.randn(*shape).astype(np.float32) * np.float32(0.1))

    from_input, from_state = weights(28, 512), weights(128, 512)
    bias, to_logits = parameter(np.zeros(512)), weights(128, 10)
    optimizer = torch.optim.SGD([from_input, from_state, bias, to_logits], lr=0.1)
    images, labels = source.rand(64, 28, 28).astype(np.float32), classes(source, 64)

    def loss():
        rows = torch.from_numpy(images)
        state = memory = torch.zeros(64, 128)
        for row in range(28):
            gates = rows[:, row] @ from_input + state @ from_state + bias
            enter, new, forget, leave = gates.chunk(4, dim=1)
            memory = memory * torch.sigmoid(forget + 1.0) + torch.sigmoid(enter) * torch.tanh(new)
            state = torch.tanh(memory) * torch.sigmoid(leave)
        return nn.functional.cross_entropy(state @ to_logits, torch.from_numpy(labels))

    return training(loss, optimizer, 10, fetch=True)


@workload
def first_run_mlp():
    """A fresh model and optimizer every time."""

    def once():
        return perceptron(adam).step()

    return Workload(once, 1, once)
