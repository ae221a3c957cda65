"""Twins of models over tables of factors."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from zoo_torch.training import Training, Update, groups, tensor, twin

FEATURES, FIELDS, WIDTH = 25, 5, 4


def offsets_of(lengths):
    """Where each bag begins."""
    return tensor(np.cumsum([0, *lengths])[:-1])


class DeepFM(nn.Module):
    """A factorization machine and a deep network over the same features."""

    def __init__(self):
        super().__init__()
        self.first, self.factors = nn.Embedding(FEATURES, 1), nn.Embedding(FEATURES, WIDTH)
        nn.init.normal_(self.factors.weight, std=0.01)
        self.deep = nn.Sequential(
            nn.Linear(FIELDS * WIDTH, 8, bias=False),
            nn.BatchNorm1d(8, eps=1e-3),
            nn.ReLU(),
            nn.Linear(8, 6, bias=False),
            nn.BatchNorm1d(6, eps=1e-3),
            nn.ReLU(),
        )
        self.projection = nn.Linear(1 + 3 * WIDTH + 6, 1)

    def forward(self, ids, offsets, values, sums, roots, index, value):
        linear = F.embedding_bag(ids, self.first.weight, offsets, mode="sum", per_sample_weights=values)
        embedded = self.factors(index) * value[:, :, None]
        pairwise = 0.5 * (embedded.sum(1).square() - embedded.square().sum(1))
        weighted = F.embedding_bag(ids, self.factors.weight, offsets, mode="sum", per_sample_weights=values)
        root = F.embedding_bag(ids, self.factors.weight, offsets, mode="sum") / roots
        parts = [linear, pairwise, self.deep(embedded.flatten(1)), weighted / sums, root]
        return self.projection(torch.cat(parts, 1))


@twin
def deep_fm(data):
    """DeepFM: bags of every combiner, second order terms, batch normalization, Adam."""
    module = DeepFM()

    def batch(size):
        which, amount, lengths = [], [], []
        for _ in range(size):
            lengths.append(data.randint(1, 5))
            for _ in range(lengths[-1]):
                which.append(data.randint(FEATURES))
                amount.append(data.rand() + 0.1)
        sums = [np.sum(part) for part in np.split(amount, np.cumsum(lengths)[:-1])]
        return (
            tensor(np.array(which)),
            offsets_of(lengths),
            tensor(np.array(amount)),
            tensor(np.array(sums)[:, None]),
            tensor(np.sqrt(lengths)[:, None]),
            tensor(data.randint(0, FEATURES, (size, FIELDS))),
            tensor(data.rand(size, FIELDS)),
            tensor(data.randint(0, 2, (size, 1)).astype("f")),
        )

    def loss(*fed):
        return F.binary_cross_entropy_with_logits(module(*fed[:-1]), fed[-1])

    decayed = groups(module, 1e-3, lambda name: name.startswith(("first", "factors")))
    optimizer = torch.optim.Adam(decayed, 0.02, eps=1e-3)
    return Training(module, [batch(6), batch(6), batch(4)], Update(loss, optimizer))


class Factors(nn.Module):
    """Users and items as vectors and biases, and what a user has seen."""

    def __init__(self, users=12, items=15, width=5):
        super().__init__()
        self.users, self.items = nn.Embedding(users, width), nn.Embedding(items, width)
        self.implicit = nn.EmbeddingBag(items, width, mode="sum")
        self.user_bias, self.item_bias = nn.Embedding(users, 1), nn.Embedding(items, 1)
        for table in self.children():
            nn.init.normal_(table.weight, std=0.1)

    def forward(self, user, item, seen, offsets, many):
        p = self.users(user) + self.implicit(seen, offsets) * many.clamp(min=1).rsqrt()[:, None]
        biases = self.user_bias(user) + self.item_bias(item)
        guess = (p * self.items(item)).sum(1) + 3.5 + biases[:, 0]
        return guess.clamp(1.0, 5.0)


@twin
def matrix_factorization(data):
    """Biased factors with implicit feedback: momentum on the error, then gradient descent on the decay."""
    module = Factors()

    def error(user, item, rating, seen, offsets, many):
        return F.mse_loss(module(user, item, seen, offsets, many), rating)

    def decay(*_):
        return 0.01 * sum(p.square().sum() for p in module.parameters())

    def batch(size):
        lengths = data.randint(0, 4, size)
        return (
            tensor(data.randint(0, 12, size)),
            tensor(data.randint(0, 15, size)),
            tensor(data.randint(1, 6, size).astype("f")),
            tensor(data.randint(0, 15, lengths.sum())),
            offsets_of(lengths),
            tensor(lengths.astype("f")),
        )

    return Training(
        module,
        [batch(8), batch(8), batch(5)],
        Update(error, torch.optim.SGD(module.parameters(), 0.1, momentum=0.9)),
        Update(decay, torch.optim.SGD(module.parameters(), 0.05)),
    )


class SkipGram(nn.Module):
    """Words as vectors, and two heads that score contexts and noise."""

    def __init__(self, words=24, width=6):
        super().__init__()
        self.embeddings = nn.Embedding(words, width)
        self.nce, self.nce_bias = nn.Embedding(words, width), nn.Embedding(words, 1)
        self.softmax, self.softmax_bias = nn.Embedding(words, width), nn.Embedding(words, 1)
        nn.init.uniform_(self.embeddings.weight, -1, 1)
        nn.init.trunc_normal_(self.nce.weight, std=0.4)

    @staticmethod
    def scores(table, bias, embedded, contexts, noise, expected):
        """The logits of the true contexts, then those of the noise, less what chance would give."""
        true = (embedded * table(contexts)).sum(1, keepdim=True) + bias(contexts)
        sampled = embedded @ table(noise).T + bias(noise)[:, 0]
        sampled = sampled.masked_fill(contexts[:, None] == noise, -1e30)
        return torch.cat([true, sampled], 1) - expected


@twin
def word2vec(data):
    """Skip-gram by noise contrastive estimation, then by sampled softmax, of given samples."""
    module = SkipGram()

    def nce(centers, contexts, noise, expected):
        embedded = module.embeddings(centers)
        logits = module.scores(module.nce, module.nce_bias, embedded, contexts, noise, expected)
        labels = torch.zeros_like(logits)
        labels[:, 0] = 1
        return F.binary_cross_entropy_with_logits(logits, labels, reduction="sum") / len(centers)

    def sampled(centers, contexts, noise, expected):
        embedded = module.embeddings(centers).detach()
        logits = module.scores(module.softmax, module.softmax_bias, embedded, contexts, noise, expected)
        return F.cross_entropy(logits, torch.zeros_like(contexts))

    text = data.randint(0, 24, 60)

    def batch(at):
        rows = [(text[i], text[i + d]) for i in range(at, at + 4) for d in (-2, -1, 1, 2)]
        centers, contexts = np.array(rows).T
        noise = data.permutation(24)[:5]
        ranks = np.concatenate([contexts[:, None], np.tile(noise, (len(rows), 1))], 1)
        expected = np.log(5 * (np.log(ranks + 2.0) - np.log(ranks + 1.0)) / np.log(25.0))
        return tensor(centers), tensor(contexts), tensor(noise), tensor(expected)

    of_nce = [*module.embeddings.parameters(), *module.nce.parameters(), *module.nce_bias.parameters()]
    of_softmax = [*module.softmax.parameters(), *module.softmax_bias.parameters()]
    return Training(
        module,
        [batch(at) for at in (2, 20, 40)],
        Update(nce, torch.optim.SGD(of_nce, 0.5)),
        Update(sampled, torch.optim.Adagrad(of_softmax, 0.5, initial_accumulator_value=0.1)),
    )
