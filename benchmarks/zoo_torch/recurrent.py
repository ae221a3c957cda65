"""Twins of models over sequences: recurrent and temporal convolutions."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations, rnn

from zoo_torch.training import DIFFERENT, Training, Update, clip_norm, clip_value, mask_of, tensor, twin


def over_lengths(layer, x, lengths):
    """A recurrent layer, batch first, over padded sequences; also its last state."""
    packed = rnn.pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    outputs, state = layer(packed)
    return rnn.pad_packed_sequence(outputs, batch_first=True, total_length=x.shape[1])[0], state


class Tagger(nn.Module):
    """Two bidirectional layers of GRU; both with tanh, for nn.GRU has no ReLU."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(20, 6)
        self.layers = nn.GRU(6, 5, num_layers=2, batch_first=True, bidirectional=True)
        self.head = nn.Sequential(nn.Linear(10, 8), nn.ReLU(), nn.Linear(8, 5))

    def forward(self, words, lengths):
        return self.head(over_lengths(self.layers, self.embedding(words), lengths)[0])


@twin
def bidirectional_gru(data):
    """A tagger of padded sentences, Adadelta."""
    module = Tagger()

    def loss(words, tags, lengths):
        real = mask_of(lengths, words.shape[1])
        return F.cross_entropy(module(words, lengths)[real], tags[real])

    def batch(size, longest):
        many = data.randint(2, longest + 1, size)
        many[0] = longest
        words = data.randint(0, 20, (size, longest)) * (np.arange(longest) < many[:, None])
        return tensor(words), tensor(data.randint(0, 5, (size, longest))), tensor(many)

    batches = [batch(3, 6), batch(3, 8), batch(3, 6), batch(2, 5)]
    optimizer = torch.optim.Adadelta(module.parameters(), 1.0, rho=0.9, eps=1e-4)
    return Training(module, batches, Update(loss, optimizer))


class CharacterModel(nn.Module):
    """Two layers of LSTM, whose state is kept, with dropout after each."""

    def __init__(self, batch):
        super().__init__()
        self.lstm = nn.LSTM(16, 8, num_layers=2, batch_first=True, dropout=0.25)
        self.dropout, self.softmax = nn.Dropout(0.25), nn.Linear(8, 16)
        self.state = (torch.zeros(2, batch, 8), torch.zeros(2, batch, 8))

    def forward(self, inputs):
        outputs, state = self.lstm(F.one_hot(inputs, 16).float(), self.state)
        self.state = tuple(part.detach() for part in state)
        return self.softmax(self.dropout(outputs))


@twin
def char_rnn(data):
    """A character model that carries its state, Nesterov's momentum, every third step without dropout."""
    module = CharacterModel(4)
    text = data.randint(0, 16, (4, 36))

    def loss(inputs, targets, training):
        module.train(training)
        return F.cross_entropy(module(inputs).flatten(0, 1), targets.flatten())

    batches = [
        (tensor(text[:, at : at + 7]), tensor(text[:, at + 1 : at + 8]), step % 3 > 0)
        for step, at in enumerate(k % 5 * 7 for k in range(DIFFERENT))
    ]
    optimizer = torch.optim.SGD(module.parameters(), 0.3, momentum=0.9, nesterov=True)
    return Training(module, batches, Update(loss, optimizer, clip=clip_norm(module, 5.0)))


class LanguageModel(nn.Module):
    """An embedding, an LSTM, a softmax at each step."""

    def __init__(self):
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(18, 8), nn.LSTM(8, 8, batch_first=True)
        self.softmax = nn.Linear(8, 18)

    def forward(self, ids):
        return self.softmax(self.lstm(self.embedding(ids))[0])


@twin
def static_rnn(data):
    """A language model of 25 steps, gradients clipped by value."""
    module = LanguageModel()
    text = data.randint(0, 18, (3, 101))

    def loss(ids, targets):
        return F.cross_entropy(module(ids).flatten(0, 1), targets.flatten())

    batches = [(tensor(text[:, at : at + 25]), tensor(text[:, at + 1 : at + 26])) for at in range(0, 100, 25)]
    optimizer = torch.optim.Adagrad(module.parameters(), 0.2, initial_accumulator_value=0.1)
    return Training(module, batches, Update(loss, optimizer, clip=clip_value(module, 0.02)))


class Attend(nn.Module):
    """A weighted mean of vectors by similarity to a context that is learned."""

    def __init__(self, width):
        super().__init__()
        self.projection, self.context = nn.Linear(width, width), nn.Parameter(0.3 * torch.randn(width))

    def forward(self, h, mask):
        scores = torch.tanh(self.projection(h)) @ self.context
        weights = torch.softmax(scores + (1 - mask.float()) * -1e4, 1)
        return (h * weights[:, :, None]).sum(1)


class HierarchicalAttention(nn.Module):
    """Words to sentences to documents; a length of zero is read as one, and masked."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(18, 5)
        self.words = nn.GRU(5, 4, batch_first=True, bidirectional=True)
        self.sentences = nn.GRU(8, 4, batch_first=True, bidirectional=True)
        self.of_words, self.of_sentences, self.classes = Attend(8), Attend(8), nn.Linear(8, 3)

    def forward(self, documents, sentence_lengths, word_lengths):
        count, sentences, words = documents.shape
        many = word_lengths.flatten()
        rows = self.embedding(documents).flatten(0, 1)
        h, _ = over_lengths(self.words, rows, many.clamp(min=1))
        vectors = self.of_words(h, mask_of(many, words)).view(count, sentences, -1)
        h, _ = over_lengths(self.sentences, vectors, sentence_lengths)
        return self.classes(self.of_sentences(h, mask_of(sentence_lengths, sentences)))


@twin
def hierarchical_attention(data):
    """Documents of sentences of words, attention twice, Adam."""
    module = HierarchicalAttention()

    def loss(documents, sentence_lengths, word_lengths, labels):
        return F.cross_entropy(module(documents, sentence_lengths, word_lengths), labels)

    def batch(size, longest, widest):
        many = data.randint(1, longest + 1, size)
        many[0] = longest
        each = data.randint(1, widest + 1, (size, longest)) * (np.arange(longest) < many[:, None])
        each[0, 0] = widest
        inside = np.arange(widest) < each[:, :, None]
        documents = data.randint(0, 18, (size, longest, widest)) * inside
        return tensor(documents), tensor(many), tensor(each), tensor(data.randint(0, 3, size))

    optimizer = torch.optim.Adam(module.parameters(), 5e-3, eps=1e-3)
    update = Update(loss, optimizer, clip=clip_norm(module, 0.5))
    return Training(module, [batch(3, 3, 5), batch(2, 4, 4)], update)


class TemporalBlock(nn.Module):
    """Two causal dilated convolutions with weight normalization and dropout of channels, and a residual."""

    def __init__(self, inputs, channels, dilation):
        super().__init__()
        self.padding = (2 * dilation, 0)
        self.conv1 = parametrizations.weight_norm(nn.Conv1d(inputs, channels, 3, dilation=dilation))
        self.conv2 = parametrizations.weight_norm(nn.Conv1d(channels, channels, 3, dilation=dilation))
        self.dropout = nn.Dropout1d(0.2)
        self.down = nn.Conv1d(inputs, channels, 1) if inputs != channels else nn.Identity()

    def forward(self, x):
        h = self.dropout(F.relu(self.conv1(F.pad(x, self.padding))))
        h = self.dropout(F.relu(self.conv2(F.pad(h, self.padding))))
        return F.relu(h + self.down(x))


@twin
def tcn(data):
    """A temporal convolutional network, RMSProp."""
    module = nn.Sequential(
        TemporalBlock(3, 6, 1), TemporalBlock(6, 6, 2), TemporalBlock(6, 6, 4), nn.Conv1d(6, 1, 1)
    )

    def loss(x, y):
        return F.mse_loss(module(x)[:, 0, 2:], y[:, 2:])

    def batch(size):
        x = data.randn(size, 12, 3)
        return tensor(np.moveaxis(x, -1, 1)), tensor(np.roll(x[:, :, 0], 2, axis=1))

    optimizer = torch.optim.RMSprop(module.parameters(), 5e-3, alpha=0.9, momentum=0.5, eps=1e-3)
    return Training(module, [batch(4), batch(4), batch(3)], Update(loss, optimizer))


class Translation(nn.Module):
    """A bidirectional encoder and a decoder with Bahdanau's attention, a step after the other."""

    def __init__(self, source=15, target=13, width=6, units=8):
        super().__init__()
        self.source, self.target = nn.Embedding(source, width), nn.Embedding(target, width)
        self.encoder = nn.GRU(width, units, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * units, units)
        self.cell = nn.GRUCell(width + 2 * units, units)
        self.keys, self.query = (
            nn.Linear(2 * units, units, bias=False),
            nn.Linear(units, units, bias=False),
        )
        self.v = nn.Parameter(0.3 * torch.randn(units))
        self.g, self.b = nn.Parameter(torch.tensor(units**-0.5)), nn.Parameter(torch.zeros(units))
        self.attention = nn.Linear(3 * units, units, bias=False)
        self.output = nn.Linear(units, target, bias=False)

    def forward(self, source, lengths, target):
        memory, last = over_lengths(self.encoder, self.source(source), lengths)
        state = torch.tanh(self.bridge(torch.cat([last[0], last[1]], 1)))
        inputs = self.target(F.pad(target[:, :-1], (1, 0)))
        keys, mask = self.keys(memory) + self.b, mask_of(lengths, source.shape[1])
        vector = self.g * F.normalize(self.v, dim=0)
        context, seen = memory.new_zeros(len(source), memory.shape[2]), []
        for x in inputs.unbind(1):
            state = self.cell(torch.cat([x, context], 1), state)
            scores = torch.tanh(keys + self.query(state)[:, None]) @ vector
            weights = torch.softmax(scores.masked_fill(~mask, -1e9), 1)
            context = (weights[:, None] @ memory)[:, 0]
            seen.append(torch.cat([state, context], 1))
        return self.output(torch.tanh(self.attention(torch.stack(seen, 1))))


@twin
def nmt(data):
    """Translation with attention, gradient descent with decay."""
    module = Translation()

    def loss(source, lengths, target, target_lengths):
        logits = module(source, lengths, target)
        each = F.cross_entropy(logits.transpose(1, 2), target, reduction="none")
        return (each * mask_of(target_lengths, target.shape[1])).sum() / len(target)

    def batch(size, longest):
        many, others = data.randint(1, longest + 1, size), data.randint(1, longest, size)
        many[-1], others[0] = longest, longest - 1
        source = data.randint(0, 15, (size, longest))
        target = data.randint(1, 13, (size, longest - 1))
        return tensor(source), tensor(many), tensor(target), tensor(others)

    optimizer = torch.optim.SGD(module.parameters(), 0.1)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.5)
    update = Update(loss, optimizer, clip_norm(module, 5.0), schedule)
    return Training(module, [batch(3, 6), batch(3, 5), batch(2, 7)], update)


class ConditionalField(nn.Module):
    """A bidirectional LSTM under a linear chain; gives the log likelihood of tags."""

    def __init__(self, words=17, tags=4, width=5, units=5):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, units, batch_first=True, bidirectional=True)
        self.projection = nn.Linear(2 * units, tags)
        self.transitions = nn.Parameter(0.3 * torch.randn(tags, tags))

    def forward(self, words, tags, lengths):
        unary = self.projection(over_lengths(self.lstm, self.embedding(words), lengths)[0])
        mask = mask_of(lengths, words.shape[1])
        single = (unary.gather(2, tags[:, :, None])[:, :, 0] * mask).sum(1)
        pairs = (self.transitions[tags[:, :-1], tags[:, 1:]] * mask[:, 1:]).sum(1)
        alpha = unary[:, 0]
        for time in range(1, words.shape[1]):
            after = torch.logsumexp(alpha[:, :, None] + self.transitions, 1) + unary[:, time]
            alpha = torch.where(mask[:, time, None], after, alpha)
        return single + pairs - torch.logsumexp(alpha, 1)


@twin
def crf(data):
    """A tagger under a conditional random field, Nesterov's momentum."""
    module = ConditionalField()

    def batch(size, longest):
        many = data.randint(1, longest + 1, size)
        many[0] = longest
        inside = np.arange(longest) < many[:, None]
        words = data.randint(0, 17, (size, longest)) * inside
        return tensor(words), tensor(data.randint(0, 4, (size, longest)) * inside), tensor(many)

    optimizer = torch.optim.SGD(module.parameters(), 0.05, momentum=0.9, nesterov=True)
    update = Update(lambda *fed: -module(*fed).mean(), optimizer, clip=clip_norm(module, 1.0))
    return Training(module, [batch(3, 6), batch(3, 4), batch(2, 7)], update)


SLOTS, WIDTH, UNITS, BITS = 5, 4, 6, 3


def address(parameters, memory, before):
    """Content, gate, shift and sharpening."""
    key, rest = torch.tanh(parameters[:, :WIDTH]), parameters[:, WIDTH:]
    beta, gate = F.softplus(rest[:, 0:1]) + 1, torch.sigmoid(rest[:, 1:2])
    shift, gamma = torch.softmax(rest[:, 2:5], 1), F.softplus(rest[:, 5:6]) + 1
    norms = memory.norm(dim=2) * key.norm(dim=1, keepdim=True)
    content = torch.softmax(beta * (memory @ key[:, :, None])[:, :, 0] / (norms + 1e-6), 1)
    gated = gate * content + (1 - gate) * before
    turned = sum(shift[:, i : i + 1] * gated.roll(i - 1, 1) for i in range(3))
    sharp = (turned + 1e-6) ** gamma
    return sharp / sharp.sum(1, keepdim=True)


class TuringMachine(nn.Module):
    """The controller, its heads and the memory at the start."""

    def __init__(self):
        super().__init__()
        self.controller = nn.LSTMCell(BITS + 1 + WIDTH, UNITS)
        self.heads = nn.Linear(UNITS, 2 * (WIDTH + 6) + 2 * WIDTH)
        self.output = nn.Linear(UNITS + WIDTH, BITS)
        self.memory = nn.Parameter(0.3 * torch.randn(1, SLOTS, WIDTH))

    def forward(self, x):
        batch, at = len(x), WIDTH + 6
        memory = self.memory.expand(batch, -1, -1)
        read = write = x.new_full((batch, SLOTS), 1 / SLOTS)
        state, found, outputs = None, x.new_zeros(batch, WIDTH), []
        for inputs in x.unbind(1):
            state = self.controller(torch.cat([inputs, found], 1), state)
            parameters = self.heads(state[0]).clamp(-20, 20)
            read = address(parameters[:, :at], memory, read)
            write = address(parameters[:, at : 2 * at], memory, write)
            erase, add = parameters[:, 2 * at :].chunk(2, 1)
            memory = memory * (1 - write[:, :, None] * torch.sigmoid(erase)[:, None])
            memory = memory + write[:, :, None] * torch.tanh(add)[:, None]
            found = (read[:, None] @ memory)[:, 0]
            outputs.append(self.output(torch.cat([state[0], found], 1)))
        return torch.stack(outputs, 1)


@twin
def neural_turing_machine(data):
    """The copy task, centered RMSProp with clipped values."""
    module = TuringMachine()

    def loss(x, y):
        return F.binary_cross_entropy_with_logits(module(x)[:, 3:], y)

    def batch():
        bits = data.randint(0, 2, (2, 2, BITS)).astype("f")
        shown = np.zeros((2, 5, BITS + 1), "f")
        shown[:, :2, :BITS] = bits
        shown[:, 2, BITS] = 1
        return tensor(shown), tensor(bits)

    optimizer = torch.optim.RMSprop(
        module.parameters(), 1e-2, alpha=0.95, momentum=0.9, eps=1e-3, centered=True
    )
    return Training(module, [batch() for _ in range(2)], Update(loss, optimizer, clip=clip_value(module, 10)))
