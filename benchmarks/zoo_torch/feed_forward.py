"""Twins of models without convolution, recurrence or attention."""

import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from zoo_torch.training import DIFFERENT, Training, Update, clip_value, groups, tensor, twin


@twin
def mlp(data):
    """A multilayer perceptron with dropout and weight decay."""
    module = nn.Sequential(
        nn.Linear(8, 32), nn.Tanh(), nn.Dropout(0.2), nn.Linear(32, 16), nn.Tanh(), nn.Linear(16, 4)
    )
    optimizer = torch.optim.Adam(groups(module, 1e-3, lambda name: name in ("0.weight", "3.weight")), 1e-2)
    xs, ys = tensor(data.normal(size=(4, 16, 8))), tensor(data.randint(0, 4, (4, 16)))
    return Training(module, list(zip(xs, ys)), Update(lambda x, y: F.cross_entropy(module(x), y), optimizer))


class Averaged(nn.Module):
    """Dense layers with batch normalization, whose flag says whether it trains."""

    def __init__(self):
        super().__init__()
        self.linears = nn.ModuleList([nn.Linear(a, b, bias=False) for a, b in ((10, 16), (16, 16), (16, 8))])
        self.norms = nn.ModuleList([nn.BatchNorm1d(size, eps=1e-3, momentum=0.2) for size in (16, 16, 8)])
        self.out = nn.Linear(8, 1)

    def forward(self, x):
        for linear, norm in zip(self.linears, self.norms):
            x = F.softplus(norm(linear(x)))
        return self.out(x)


@twin
def batch_norm_ema(data):
    """Batch normalization in both modes, a polynomial schedule, an average of the weights."""
    module = Averaged()
    average = torch.optim.swa_utils.AveragedModel(
        module, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.9)
    )
    optimizer = torch.optim.SGD(module.parameters(), 0.05)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: (0.04 * (1 - min(step, 15) / 15) + 0.01) / 0.05
    )
    xs = data.normal(size=(4, 16, 10))
    ys = tensor(xs[:, :, :1] * xs[:, :, 1:2])
    xs = tensor(xs)

    def loss(x, y, training):
        module.train(training)
        return F.mse_loss(module(x), y) / 2

    batches = [(xs[k % 4], ys[k % 4], k % 5 != 4) for k in range(DIFFERENT)]
    update = Update(loss, optimizer, schedule=schedule)
    return Training(module, batches, update, after=lambda: average.update_parameters(module))


class Mixture(nn.Module):
    """Experts, of which a gate chooses two for each example."""

    def __init__(self, inputs=6, units=8, experts=4, outputs=3):
        super().__init__()
        self.gate = nn.Linear(inputs, experts, bias=False)
        self.experts = nn.ModuleList(
            [
                nn.Sequential(nn.Linear(inputs, units), nn.ReLU(), nn.Linear(units, outputs))
                for _ in range(experts)
            ]
        )

    def forward(self, x):
        logits = self.gate(x)
        top, indices = logits.topk(2)
        gates = torch.softmax(top, -1)
        combined = x.new_zeros(len(x), 3)
        for number, expert in enumerate(self.experts):
            rows, choice = torch.where(indices == number)
            combined = combined.index_add(0, rows, expert(x[rows]) * gates[rows, choice, None])
        importance = torch.zeros_like(logits).scatter(1, indices, gates).sum(0)
        return combined, importance


@twin
def mixture_of_experts(data):
    """Sparsely gated experts with a balanced load."""
    module = Mixture()

    def loss(x, y):
        combined, importance = module(x)
        variation = importance.var(unbiased=False) / (importance.mean().square() + 1e-6)
        return F.mse_loss(combined, y) + 0.1 * variation

    batches = [(tensor(data.randn(n, 6)), tensor(data.randn(n, 3))) for n in (10, 10, 3)]
    optimizer = torch.optim.Adam(module.parameters(), 0.01, eps=1e-3)
    return Training(module, batches, Update(loss, optimizer))


class Regressor(nn.Module):
    """A network whose weights may be given."""

    def __init__(self):
        super().__init__()
        self.w1, self.b1 = nn.Parameter(0.1 * torch.randn(1, 8)), nn.Parameter(torch.zeros(8))
        self.w2, self.b2 = nn.Parameter(0.1 * torch.randn(8, 8)), nn.Parameter(torch.zeros(8))
        self.w3, self.b3 = nn.Parameter(0.1 * torch.randn(8, 1)), nn.Parameter(torch.zeros(1))

    @staticmethod
    def apply_weights(x, w):
        """The network with other weights than its own."""
        hidden = F.softplus(x @ w["w1"] + w["b1"])
        return torch.tanh(hidden @ w["w2"] + w["b2"]) @ w["w3"] + w["b3"]


@twin
def maml(data):
    """Two steps on each of three tasks, and the gradient through them."""
    module = Regressor()

    def loss(inputs_a, labels_a, inputs_b, labels_b):
        losses = []
        for x_a, y_a, x_b, y_b in zip(inputs_a, labels_a, inputs_b, labels_b):
            fast = dict(module.named_parameters())
            for _ in range(2):
                inner = F.mse_loss(module.apply_weights(x_a, fast), y_a)
                slopes = torch.autograd.grad(inner, list(fast.values()), create_graph=True)
                fast = {name: w - 0.05 * g for (name, w), g in zip(fast.items(), slopes)}
                outer = F.mse_loss(module.apply_weights(x_b, fast), y_b)
            losses.append(outer)
        return torch.stack(losses).mean()

    phase, height = data.uniform(0, np.pi, (4, 3, 1, 1)), data.uniform(0.5, 2.0, (4, 3, 1, 1))
    xs = data.uniform(-3, 3, (2, 4, 3, 5, 1))
    ys = tensor(height * np.sin(xs + phase))
    xs = tensor(xs)
    batches = [(xs[0, k], ys[0, k], xs[1, k], ys[1, k]) for k in range(4)]
    optimizer = torch.optim.Adam(module.parameters(), 1e-3, eps=1e-2)
    return Training(module, batches, Update(loss, optimizer, clip=clip_value(module, 10)))


def gaussian(x, mean, sigma):
    """The logarithm of the density."""
    return -0.5 * math.log(2 * math.pi) - torch.log(sigma) - (x - mean).square() / (2 * sigma.square())


class Bayesian(nn.Module):
    """A dense layer whose weights are drawn from distributions; a call gives the outputs and the draw's cost."""

    def __init__(self, inputs, units):
        super().__init__()
        self.w_mu, self.b_mu = (
            nn.Parameter(0.1 * torch.randn(inputs, units)),
            nn.Parameter(torch.zeros(units)),
        )
        self.w_rho = nn.Parameter(torch.full((inputs, units), -3.0))
        self.b_rho = nn.Parameter(torch.full((units,), -3.0))
        self.register_buffer("wide", torch.tensor(1.0))
        self.register_buffer("narrow", torch.tensor(math.exp(-2.0)))

    def sample(self, mu, rho):
        """A draw and its cost."""
        sigma = F.softplus(rho)
        weight = mu + sigma * torch.randn_like(mu)
        wide = 0.25 * torch.exp(gaussian(weight, 0.0, self.wide))
        narrow = 0.75 * torch.exp(gaussian(weight, 0.0, self.narrow))
        return weight, (gaussian(weight, mu.detach(), sigma) - torch.log(wide + narrow)).sum()

    def forward(self, x):
        w, w_cost = self.sample(self.w_mu, self.w_rho)
        b, b_cost = self.sample(self.b_mu, self.b_rho)
        return torch.addmm(b, x, w), w_cost + b_cost


@twin
def bayes_by_backprop(data):
    """Two draws of a network under a mixture prior."""
    module = nn.ModuleList([Bayesian(5, 8), Bayesian(8, 3)])

    def loss(x, y):
        likelihood = complexity = 0.0
        for _ in range(2):
            hidden, first = module[0](x)
            logits, second = module[1](F.softplus(hidden))
            likelihood = likelihood + F.cross_entropy(logits, y, reduction="sum")
            complexity = complexity + first + second
        return complexity / 2 / 30 + likelihood / 2

    batches = [(tensor(data.randn(6, 5)), tensor(data.randint(0, 3, 6))) for _ in range(3)]
    optimizer = torch.optim.Adadelta(module.parameters(), 0.5, rho=0.9, eps=1e-3)
    return Training(module, batches, Update(loss, optimizer))
