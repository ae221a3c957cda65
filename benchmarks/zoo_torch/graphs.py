"""Twins of models over graphs."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from zoo_torch.training import Training, Update, groups, tensor, twin


class GCN(nn.Module):
    """Two sparse graph convolutions."""

    def __init__(self, features=9, hidden=6, classes=3):
        super().__init__()
        self.w1 = nn.Parameter(nn.init.xavier_uniform_(torch.empty(features, hidden)))
        self.w2 = nn.Parameter(nn.init.xavier_uniform_(torch.empty(hidden, classes)))

    def forward(self, features, support, rate):
        dropped = torch.sparse_coo_tensor(
            features.indices(), F.dropout(features.values(), rate), features.shape, check_invariants=False
        )
        hidden = F.relu(torch.sparse.mm(support, torch.sparse.mm(dropped, self.w1)))
        return torch.sparse.mm(support, F.dropout(hidden, rate) @ self.w2)


@twin
def gcn(data):
    """GCN: sparse features and adjacency, dropout of sparse values in every second step, Adam."""
    module = GCN()
    nodes = 10
    adjacency = (data.rand(nodes, nodes) < 0.25).astype("f")
    adjacency = np.maximum(np.maximum(adjacency, adjacency.T), np.eye(nodes, dtype="f"))
    scale = 1 / np.sqrt(adjacency.sum(1))
    support = tensor(adjacency * scale[:, None] * scale).to_sparse()
    features = tensor(data.rand(nodes, 9) * (data.rand(nodes, 9) < 0.4)).to_sparse()
    labels = tensor(data.randint(0, 3, nodes))
    mask = tensor((np.arange(nodes) % 3 > 0).astype("f"))

    def loss(rate):
        each = F.cross_entropy(module(features, support, rate), labels, reduction="none")
        return (each * mask / mask.mean()).mean()

    decayed = groups(module, 5e-4, lambda name: name == "w1")
    optimizer = torch.optim.Adam(decayed, 0.01, eps=1e-4)
    return Training(module, [(0.0,), (0.3,)], Update(loss, optimizer))


class AttentionHead(nn.Module):
    """One head over a dense adjacency."""

    def __init__(self, inputs, units, residual=False):
        super().__init__()
        self.features = nn.Linear(inputs, units, bias=False)
        self.left, self.right = nn.Linear(units, 1), nn.Linear(units, 1)
        self.bias = nn.Parameter(torch.zeros(units))
        self.residual = nn.Linear(inputs, units) if residual else None

    def forward(self, x, bias):
        features = self.features(x)
        logits = self.left(features) + self.right(features).transpose(1, 2)
        values = torch.softmax(F.leaky_relu(logits, 0.2) + bias, -1) @ features + self.bias
        return values if self.residual is None else values + self.residual(x)


class GAT(nn.Module):
    """Three heads, three heads with residuals, and two whose mean is the logits."""

    def __init__(self):
        super().__init__()
        self.first = nn.ModuleList([AttentionHead(7, 4) for _ in range(3)])
        self.second = nn.ModuleList([AttentionHead(12, 4, residual=True) for _ in range(3)])
        self.last = nn.ModuleList([AttentionHead(12, 3) for _ in range(2)])

    def forward(self, x, bias):
        for layer in (self.first, self.second):
            x = torch.cat([F.elu(head(x, bias)) for head in layer], -1)
        return sum(head(x, bias) for head in self.last) / 2


@twin
def gat(data):
    """Graph attention: masked nodes, decay, Adam."""
    module = GAT()
    nodes = 11
    adjacency = (data.rand(nodes, nodes) < 0.3) | np.eye(nodes, dtype=bool)
    x = tensor(data.randn(1, nodes, 7))
    bias = tensor(np.where(adjacency | adjacency.T, 0.0, -1e9)[None])
    labels = tensor(data.randint(0, 3, nodes))
    mask = tensor((np.arange(nodes) < 7).astype("f"))

    def loss(x, bias, labels, mask):
        each = F.cross_entropy(module(x, bias)[0], labels, reduction="none")
        return (each * mask / mask.mean()).mean()

    optimizer = torch.optim.Adam(module.parameters(), 0.01, eps=1e-3, weight_decay=5e-4)
    return Training(module, [(x, bias, labels, mask)], Update(loss, optimizer))


def total(values, targets, count):
    """Sums of rows by target."""
    return values.new_zeros(count, values.shape[1]).index_add(0, targets, values)


def mean(values, targets, count):
    """Means of rows by target; zero where there is none."""
    many = torch.bincount(targets, minlength=count).clamp(min=1)
    return total(values, targets, count) / many[:, None]


def largest(values, targets, count):
    """Largest elements by target; zero where there is none."""
    zero = values.new_zeros(count, values.shape[1])
    index = targets[:, None].expand_as(values)
    return zero.scatter_reduce(0, index, values, "amax", include_self=False)


class Aggregate(nn.Module):
    """The neighbours of each node beside the node itself."""

    def __init__(self, inputs, units, kind):
        super().__init__()
        self.kind = kind
        self.pool = nn.Linear(inputs, units) if kind == "pool" else None
        self.own = nn.Linear(inputs, units, bias=False)
        self.other = nn.Linear(units if kind == "pool" else inputs, units, bias=False)
        self.bias = nn.Parameter(torch.zeros(2 * units))

    def forward(self, h, edges):
        sources, targets = edges[:, 0], edges[:, 1]
        count = len(h)
        if self.kind == "mean":
            near = mean(h[sources], targets, count)
        elif self.kind == "pool":
            near = largest(F.relu(self.pool(h))[sources], targets, count)
        else:
            degree = torch.bincount(targets, minlength=count).clamp(min=1)
            near = total(h[sources], targets, count) * degree.rsqrt()[:, None]
        joined = torch.cat([self.own(h), self.other(near)], 1) + self.bias
        return F.normalize(F.relu(joined), dim=1, eps=1e-3)


class GraphSAGE(nn.Module):
    """Three layers, and a readout of each graph."""

    def __init__(self):
        super().__init__()
        self.identity = nn.Embedding(12, 3)
        self.layers = nn.ModuleList(
            [Aggregate(9, 8, "mean"), Aggregate(16, 8, "pool"), Aggregate(16, 8, "sum")]
        )
        self.logits = nn.Linear(48, 4)

    def forward(self, identities, x, edges, graphs):
        h = torch.cat([x, self.identity(identities)], 1)
        for layer in self.layers:
            h = layer(h, edges)
        readout = [gather(h, graphs, 3) for gather in (mean, largest, total)]
        return self.logits(torch.cat(readout, 1))


@twin
def graph_sage(data):
    """GraphSAGE over an edge list: means, maxima and sums of neighbours, Adagrad."""
    module = GraphSAGE()

    def loss(identities, x, edges, graphs, labels):
        return F.cross_entropy(module(identities, x, edges, graphs), labels)

    def batch(nodes, count):
        return (
            tensor(data.permutation(12)[:nodes]),
            tensor(data.randn(nodes, 6)),
            tensor(data.randint(0, nodes, (count, 2))),
            tensor(np.sort(np.r_[0, 1, 2, data.randint(0, 3, nodes - 3)])),
            tensor(data.randint(0, 4, 3)),
        )

    optimizer = torch.optim.Adagrad(module.parameters(), 0.1, initial_accumulator_value=0.1)
    return Training(module, [batch(12, 30), batch(10, 30), batch(12, 21)], Update(loss, optimizer))
