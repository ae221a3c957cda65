"""Twins of models made of attention."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from zoo_torch.training import Training, Update, clip_each, clip_norm, groups, mask_of, tensor, twin


def heads(x, count):
    """Rows of (batch, positions, width) as (batch, heads, positions, size)."""
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


def attend(query, key, value, count, mask=None, causal=False):
    """Attention of several heads."""
    query, key, value = (heads(part, count) for part in (query, key, value))
    merged = F.scaled_dot_product_attention(query, key, value, attn_mask=mask, is_causal=causal)
    return merged.transpose(1, 2).flatten(2)


class BertLayer(nn.Module):
    """Attention and two dense layers, each normalized with its residual."""

    def __init__(self, width, count, approximate):
        super().__init__()
        self.count, self.approximate = count, approximate
        self.query, self.key, self.value = (
            nn.Linear(width, width),
            nn.Linear(width, width, bias=False),
            nn.Linear(width, width),
        )
        self.attended, self.norm1 = nn.Linear(width, width), nn.LayerNorm(width, eps=1e-12)
        self.intermediate, self.output = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.norm2 = nn.LayerNorm(width, eps=1e-12)

    def forward(self, x, mask):
        merged = attend(self.query(x), self.key(x), self.value(x), self.count, mask)
        x = self.norm1(self.attended(merged) + x)
        middle = F.gelu(self.intermediate(x), approximate=self.approximate)
        return self.norm2(self.output(middle) + x)


class Bert(nn.Module):
    """An encoder with a head for masked words and one for sentences."""

    def __init__(self, vocabulary=29, width=12):
        super().__init__()
        self.words, self.kinds = nn.Embedding(vocabulary, width), nn.Embedding(2, width)
        self.places, self.norm = nn.Embedding(16, width), nn.LayerNorm(width, eps=1e-12)
        self.layers = nn.ModuleList([BertLayer(width, 3, "none"), BertLayer(width, 3, "tanh")])
        self.pooler, self.sentence = nn.Linear(width, width), nn.Linear(width, 2)
        self.transform = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width, eps=1e-12))
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, ids, lengths, segments, positions):
        length = ids.shape[1]
        x = self.words(ids) + self.kinds(segments) + self.places(torch.arange(length))
        x, mask = self.norm(x), mask_of(lengths, length)[:, None, None]
        for layer in self.layers:
            x = layer(x, mask)
        picked = x[torch.arange(len(ids))[:, None], positions].flatten(0, 1)
        masked = F.linear(self.transform(picked), self.words.weight, self.bias)
        return masked, self.sentence(torch.tanh(self.pooler(x[:, 0])))


@twin
def bert(data):
    """BERT in small: masked words, a pooled head, AdamW."""
    module = Bert()

    def loss(ids, lengths, segments, positions, labels, weights, follows):
        masked, sentence = module(ids, lengths, segments, positions)
        flat = weights.flatten()
        each = F.cross_entropy(masked, labels.flatten(), reduction="none")
        return (flat * each).sum() / (flat.sum() + 1e-5) + F.cross_entropy(sentence, follows)

    def batch():
        size = data.randint(5, 11, 4)
        fed = [
            data.randint(0, 29, (4, 10)),
            size,
            (np.arange(10) >= size[:, None] // 2).astype(int),
            np.stack([np.sort(data.permutation(s)[:3]) for s in size]),
            data.randint(0, 29, (4, 3)),
            np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0], [1, 1, 1]], "f"),
            data.randint(0, 2, 4),
        ]
        return tuple(map(tensor, fed))

    decayed = groups(module, 0.01, lambda name: "norm" not in name and "bias" not in name)
    for group in decayed:
        group.setdefault("weight_decay", 0.0)  # AdamW's own is not zero.
    optimizer = torch.optim.AdamW(decayed, 0.02, eps=1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - min(step, 30) / 30)
    return Training(
        module, [batch() for _ in range(3)], Update(loss, optimizer, clip_norm(module, 1.0), schedule)
    )


class GPTBlock(nn.Module):
    """Causal attention and two dense layers, each after its normalization."""

    def __init__(self, width, count):
        super().__init__()
        self.count, self.norm1, self.norm2 = count, nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.dense = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        parts = self.attention(self.norm1(x)).chunk(3, -1)
        x = x + self.projection(attend(*parts, self.count, causal=True))
        return x + self.dense(self.norm2(x))


class GPT(nn.Module):
    """A decoder whose embedding is also its head."""

    def __init__(self, vocabulary=23, width=16):
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(8, width)
        self.blocks = nn.Sequential(GPTBlock(width, 4), GPTBlock(width, 4))
        self.norm = nn.LayerNorm(width)
        for table in (self.tokens, self.places):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        return F.linear(self.norm(self.blocks(x)), self.tokens.weight)


@twin
def gpt(data):
    """GPT-2 in small: causal attention, tied embeddings, Adam."""
    module = GPT()

    def loss(tokens):
        return F.cross_entropy(module(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())

    batches = [(tensor(data.randint(0, 23, (3, size))),) for size in (9, 9, 7)]
    optimizer = torch.optim.Adam(module.parameters(), 1e-3, betas=(0.9, 0.98), eps=1e-4)
    return Training(module, batches, Update(loss, optimizer, clip=clip_norm(module, 1.0)))


class Attention(nn.Module):
    """Attention, a residual and normalization."""

    def __init__(self, width, count):
        super().__init__()
        self.count = count
        self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.norm = nn.LayerNorm(width, eps=1e-6)

    def forward(self, queries, memory, mask):
        merged = attend(self.q(queries), self.k(memory), self.v(memory), self.count, mask)
        return self.norm(merged + queries)


class FeedForward(nn.Module):
    """Two layers at each position, a residual and normalization."""

    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(width, 2 * width), nn.ReLU(), nn.Linear(2 * width, width))
        self.norm = nn.LayerNorm(width, eps=1e-6)

    def forward(self, x):
        return self.norm(self.layers(x) + x)


def positions(length, width):
    """Sinusoids, as rows."""
    angle = np.arange(length)[:, None] / np.power(10000.0, 2 * (np.arange(width) // 2) / width)
    angle[:, 0::2] = np.sin(angle[:, 0::2])
    angle[:, 1::2] = np.cos(angle[:, 1::2])
    return tensor(angle)


class Transformer(nn.Module):
    """The encoder and the decoder, two blocks each; the target's embedding is also the head."""

    def __init__(self, source=19, target=17, width=16, count=2):
        super().__init__()
        self.scale = width**0.5
        self.source, self.target = nn.Embedding(source, width), nn.Embedding(target, width)
        self.encoder = nn.ModuleList(
            [nn.ModuleList([Attention(width, count), FeedForward(width)]) for _ in range(2)]
        )
        self.decoder = nn.ModuleList(
            [
                nn.ModuleList([Attention(width, count), Attention(width, count), FeedForward(width)])
                for _ in range(2)
            ]
        )
        self.register_buffer("positions", positions(12, width))

    def forward(self, source, source_mask, target, target_mask):
        x = self.source(source) * self.scale + self.positions[: source.shape[1]]
        source_mask = source_mask[:, None, None]
        for attention, dense in self.encoder:
            x = dense(attention(x, x, source_mask))
        length = target.shape[1]
        table = torch.cat([torch.zeros_like(self.target.weight[:1]), self.target.weight[1:]])
        inputs = F.pad(target[:, :-1], (1, 0), value=1)
        y = F.embedding(inputs, table) * self.scale + self.positions[:length]
        causal = torch.ones(length, length, dtype=torch.bool).tril() & target_mask[:, None, None]
        for own, cross, dense in self.decoder:
            y = dense(cross(own(y, y, causal), x, source_mask))
        return y @ table.T


@twin
def transformer(data):
    """The Transformer: masks from lengths, label smoothing, the Noam schedule."""
    module = Transformer()

    def loss(source, source_lengths, target, target_lengths):
        real = mask_of(target_lengths, target.shape[1])
        logits = module(source, mask_of(source_lengths, source.shape[1]), target, real)
        each = F.cross_entropy(logits.transpose(1, 2), target, reduction="none", label_smoothing=0.1)
        return (each * real).sum() / (real.sum() + 1e-7)

    def batch(size, length):
        lengths, others = data.randint(2, length + 1, size), data.randint(2, length, size)
        lengths[0], others[0] = length, length - 1
        source = data.randint(1, 19, (size, length)) * (np.arange(length) < lengths[:, None])
        target = data.randint(1, 17, (size, length - 1)) * (np.arange(length - 1) < others[:, None])
        return tensor(source), tensor(lengths), tensor(target), tensor(others)

    optimizer = torch.optim.Adam(module.parameters(), 0.02, betas=(0.9, 0.98), eps=1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) * 4.0**-1.5, (step + 1) ** -0.5)
    )
    update = Update(loss, optimizer, schedule=schedule)
    return Training(module, [batch(3, 7), batch(3, 5), batch(4, 7)], update)


class MemoryNetwork(nn.Module):
    """Three hops over a memory of sentences; the word 0 is zero in all tables."""

    def __init__(self, words=14, width=6, hops=3, memories=5, sentence=4):
        super().__init__()
        self.tables = nn.ParameterList([0.1 * torch.randn(words - 1, width) for _ in range(hops + 1)])
        self.times = nn.ParameterList([0.1 * torch.randn(memories, width) for _ in range(hops + 1)])
        place, unit = np.arange(1, sentence + 1)[:, None], np.arange(1, width + 1)[None]
        weights = 1 + 4 * (unit - (width + 1) / 2) * (place - (sentence + 1) / 2) / width / sentence
        self.register_buffer("encoding", tensor(weights))

    def forward(self, stories, queries):
        tables = [F.pad(table, (0, 0, 1, 0)) for table in self.tables]
        u = (F.embedding(queries, tables[0]) * self.encoding).sum(1)
        for hop in range(len(tables) - 1):
            memory = (F.embedding(stories, tables[hop]) * self.encoding).sum(2) + self.times[hop]
            probabilities = torch.softmax((memory @ u[:, :, None])[:, :, 0], 1)
            output = (F.embedding(stories, tables[hop + 1]) * self.encoding).sum(2) + self.times[hop + 1]
            u = u + (probabilities[:, None] @ output)[:, 0]
            if hop == 1:
                u = F.relu(u)
        return u @ tables[-1].T


@twin
def memory_network(data):
    """An end-to-end memory network, gradient descent with each gradient clipped."""
    module = MemoryNetwork()

    def loss(stories, queries, answers):
        return F.cross_entropy(module(stories, queries), answers, reduction="sum")

    def batch():
        story = data.randint(1, 14, (3, 5, 4))
        story[:, -1, 2:] = 0
        return tensor(story), tensor(data.randint(0, 14, (3, 4))), tensor(data.randint(1, 14, 3))

    optimizer = torch.optim.SGD(module.parameters(), 0.05)
    return Training(module, [batch() for _ in range(3)], Update(loss, optimizer, clip=clip_each(module, 2.0)))
