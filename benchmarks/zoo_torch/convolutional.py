"""Twins of the classifiers of images."""

import torch
from torch import nn
from torch.nn import functional as F

from zoo_torch.training import (
    DIFFERENT,
    Training,
    Update,
    groups,
    images,
    piecewise,
    tensor,
    twin,
)


@twin
def lenet(data):
    """LeNet on small images, momentum with decay."""
    module = nn.Sequential(
        nn.Conv2d(1, 6, 3, padding=1),
        nn.Sigmoid(),
        nn.AvgPool2d(2),
        nn.Conv2d(6, 8, 3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32, 16),
        nn.ReLU(),
        nn.Linear(16, 5),
    )
    optimizer = torch.optim.SGD(module.parameters(), 0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 5, 0.9)
    xs = [images(x) for x in data.uniform(size=(4, 8, 12, 12, 1))]
    ys = tensor(data.dirichlet([0.5] * 5, (4, 8)))
    update = Update(lambda x, y: F.cross_entropy(module(x), y), optimizer, schedule=schedule)
    return Training(module, list(zip(xs, ys)), update)


class PreactivatedBlock(nn.Module):
    """Two convolutions, each after its normalization, and a shortcut."""

    def __init__(self, inputs, filters, stride):
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, filters, 3, stride, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(filters)
        self.conv2 = nn.Conv2d(filters, filters, 3, padding=1, bias=False)
        changes = stride > 1 or inputs != filters
        self.shortcut = nn.Conv2d(inputs, filters, 1, stride, bias=False) if changes else None

    def forward(self, x):
        net = F.relu(self.norm1(x))
        shortcut = x if self.shortcut is None else self.shortcut(net)
        return self.conv2(F.relu(self.norm2(self.conv1(net)))) + shortcut


@twin
def resnet(data):
    """A residual network, pre-activated, with weight decay."""
    module = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1, bias=False),
        PreactivatedBlock(4, 4, 1),
        PreactivatedBlock(4, 8, 2),
        PreactivatedBlock(8, 8, 1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 5),
    )
    decayed = groups(module, 2e-3, lambda name: "norm" not in name and not name.startswith("4."))
    optimizer = torch.optim.SGD(decayed, 0.1, momentum=0.9)
    xs = [images(x) for x in data.normal(size=(2, 8, 8, 8, 3))]
    ys = tensor(data.randint(0, 5, (2, 8)))
    update = Update(
        lambda x, y: F.cross_entropy(module(x), y),
        optimizer,
        schedule=piecewise(optimizer, [6, 12], [1, 0.5, 0.1]),
    )
    return Training(module, list(zip(xs, ys)), update)


def normed(channels):
    """Batch normalization without moving averages, and ELU."""
    return nn.Sequential(nn.BatchNorm2d(channels, eps=1e-3, track_running_stats=False), nn.ELU())


class DenseLayer(nn.Module):
    """A bottleneck, a convolution and dropout by given noise."""

    def __init__(self, channels):
        super().__init__()
        self.layers = nn.Sequential(
            normed(channels),
            nn.Conv2d(channels, 8, 1, bias=False),
            normed(8),
            nn.Conv2d(8, 4, 3, padding=1, bias=False),
        )

    def forward(self, x, kept):
        return self.layers(x) * kept / 0.8


class DenseNet(nn.Module):
    """Two blocks in which each layer sees all before it."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 3, padding=1, bias=False)
        self.block0 = nn.ModuleList([DenseLayer(6 + 4 * depth) for depth in range(3)])
        self.transition = nn.Sequential(normed(18), nn.Conv2d(18, 8, 1, bias=False), nn.AvgPool2d(2))
        self.block1 = nn.ModuleList([DenseLayer(8 + 4 * depth) for depth in range(3)])
        self.last = normed(20)
        self.classes = nn.Linear(20, 5)

    @staticmethod
    def block(layers, net, kept):
        """The features of all layers."""
        for layer in layers:
            net = torch.cat([net, layer(net, kept)], 1)
        return net

    def forward(self, x, kept):
        net = self.transition(self.block(self.block0, self.stem(x), kept))
        net = self.last(self.block(self.block1, net, kept))
        return self.classes(net.mean((2, 3)))


@twin
def densenet(data):
    """DenseNet, Nesterov's momentum, dropout by fed noise."""
    module = DenseNet()
    optimizer = torch.optim.SGD(module.parameters(), 0.05, momentum=0.9, nesterov=True, weight_decay=1e-4)
    xs = [images(x) for x in data.normal(size=(2, 8, 8, 8, 3))]
    ys = tensor(data.dirichlet([0.3] * 5, (2, 8)))
    masks = [images(m) for m in data.uniform(size=(20, 8, 1, 1, 4)) < 0.8]
    batches = [(xs[k % 2], ys[k % 2], masks[k]) for k in range(DIFFERENT)]
    update = Update(lambda x, y, kept: F.cross_entropy(module(x, kept), y), optimizer)
    return Training(module, batches, update)


class NormedConv(nn.Sequential):
    """A convolution, normalization that shifts but does not scale, ReLU."""

    def __init__(self, inputs, filters, size, stride=1, padding="same"):
        norm = nn.BatchNorm2d(filters, eps=1e-3)
        norm.weight.requires_grad_(False)
        super().__init__(nn.Conv2d(inputs, filters, size, stride, padding, bias=False), norm, nn.ReLU())


class Mixed(nn.Module):
    """Four branches beside one another."""

    def __init__(self, inputs):
        super().__init__()
        self.branch0 = NormedConv(inputs, 4, 1)
        self.branch1 = nn.Sequential(
            NormedConv(inputs, 3, 1), NormedConv(3, 4, (1, 5)), NormedConv(4, 4, (5, 1))
        )
        self.branch2 = NormedConv(inputs, 3, 1)
        self.branch2a, self.branch2b = NormedConv(3, 2, (1, 3)), NormedConv(3, 2, (3, 1))
        self.branch3 = nn.Sequential(
            nn.AvgPool2d(3, 1, padding=1, count_include_pad=False), NormedConv(inputs, 2, 1)
        )

    def forward(self, x):
        two = self.branch2(x)
        branches = [self.branch0(x), self.branch1(x), self.branch2a(two), self.branch2b(two), self.branch3(x)]
        return torch.cat(branches, 1)


class Inception(nn.Module):
    """Two mixed layers and an auxiliary head."""

    def __init__(self):
        super().__init__()
        self.stem = NormedConv(3, 6, 3, 2, padding="valid")
        self.mixed2, self.mixed3 = Mixed(6), Mixed(14)
        self.auxiliary = nn.Sequential(nn.AvgPool2d(5), nn.Conv2d(14, 5, 1), nn.Flatten())
        self.pool = nn.MaxPool2d(3, 2, padding=1)
        self.head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(14, 5, 1), nn.Flatten())

    def forward(self, x):
        net = self.mixed2(self.stem(x))
        return self.head(self.mixed3(self.pool(net))), self.auxiliary(net)


@twin
def inception(data):
    """Inception: parallel branches, an auxiliary head, smoothed labels."""
    module = Inception()
    convolutions = {f"{name}.weight" for name, m in module.named_modules() if isinstance(m, nn.Conv2d)}
    convolutions.discard("head.1.weight")
    optimizer = torch.optim.RMSprop(
        groups(module, 4e-4, lambda name: name in convolutions), 0.01, alpha=0.9, momentum=0.9, eps=1.0
    )

    def loss(x, y):
        logits, auxiliary = module(x)
        return F.cross_entropy(logits, y, label_smoothing=0.1) + 0.4 * F.cross_entropy(
            auxiliary, y, label_smoothing=0.1
        )

    xs = [images(x) for x in data.uniform(-1, 1, (4, 4, 12, 12, 3))]
    ys = tensor(data.randint(0, 5, (4, 4)))
    return Training(module, list(zip(xs, ys)), Update(loss, optimizer))


class InvertedResidual(nn.Module):
    """Expands, convolves each channel alone, projects."""

    def __init__(self, channels, expansion, filters, stride):
        super().__init__()
        inner = channels * expansion
        self.layers = nn.Sequential(
            nn.Conv2d(channels, inner, 1, bias=False),
            nn.BatchNorm2d(inner, eps=1e-3, momentum=0.05),
            nn.ReLU6(),
            nn.Conv2d(inner, inner, 3, stride, padding=1, groups=inner, bias=False),
            nn.BatchNorm2d(inner, eps=1e-3, momentum=0.05),
            nn.ReLU6(),
            nn.Conv2d(inner, filters, 1, bias=False),
            nn.BatchNorm2d(filters, eps=1e-3, momentum=0.05),
        )
        self.residual = stride == 1 and channels == filters

    def forward(self, x):
        return x + self.layers(x) if self.residual else self.layers(x)


@twin
def mobilenet(data):
    """MobileNet: depthwise and pointwise convolutions, inverted residuals, pictures of bytes."""
    module = nn.Sequential(
        nn.Conv2d(3, 6, 3, 2, padding=1, groups=3, bias=False),
        nn.Conv2d(6, 4, 1),
        nn.ReLU6(),
        InvertedResidual(4, 2, 4, 1),
        InvertedResidual(4, 3, 6, 2),
        nn.AvgPool2d(3),
        nn.Flatten(),
        nn.Linear(6, 5),
    )
    optimizer = torch.optim.RMSprop(module.parameters(), 3e-3, alpha=0.9, eps=0.1)
    xs = [images(x).byte() for x in data.randint(0, 256, (2, 8, 12, 12, 3))]
    ys = tensor(data.randint(0, 5, (2, 8)))
    update = Update(lambda x, y: F.cross_entropy(module(x.float() / 127.5 - 1), y), optimizer)
    return Training(module, list(zip(xs, ys)), update)


def squash(vectors, axis):
    """Keeps the direction of capsules and their lengths below one."""
    squared = vectors.square().sum(axis, keepdim=True)
    return squared / (1 + squared) / torch.sqrt(squared + 1e-7) * vectors


class CapsNet(nn.Module):
    """Capsules with routing by agreement, and a decoder of the right one."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 8, 3, 2, padding=1)
        self.weights = nn.Parameter(0.1 * torch.randn(1, 32, 3, 6, 4))
        self.decoder = nn.Sequential(nn.Linear(18, 16), nn.ReLU(), nn.Linear(16, 64), nn.Sigmoid())

    def forward(self, x, one_hot):
        net = self.conv2(F.relu(self.conv1(x)))
        primary = squash(net.permute(0, 2, 3, 1).reshape(len(x), 32, 4), -1)
        votes = self.weights @ primary[:, :, None, :, None]
        stopped = votes.detach()
        agreement = x.new_zeros(len(x), 32, 3, 1, 1)
        for _ in range(2):
            coupling = torch.softmax(agreement, 2)
            found = squash((coupling * stopped).sum(1, keepdim=True), -2)
            agreement = agreement + stopped.transpose(-1, -2) @ found
        coupling = torch.softmax(agreement, 2)
        digits = squash((coupling * votes).sum(1), -2).squeeze(-1)
        lengths = torch.sqrt(digits.square().sum(-1) + 1e-9)
        return lengths, self.decoder((digits * one_hot[:, :, None]).flatten(1))


@twin
def capsnet(data):
    """A capsule network: three rounds of routing, margin loss, a masked decoder."""
    module = CapsNet()
    optimizer = torch.optim.Adam(module.parameters(), 1e-3)

    def loss(x, y):
        one_hot = F.one_hot(y, 3).float()
        lengths, decoded = module(x, one_hot)
        present, absent = F.relu(0.9 - lengths).square(), F.relu(lengths - 0.1).square()
        margin = (one_hot * present + 0.5 * (1 - one_hot) * absent).sum(1).mean()
        return margin + 0.392 * F.mse_loss(decoded, x.flatten(1))

    xs = [images(x) for x in data.uniform(size=(4, 3, 8, 8, 1))]
    ys = tensor(data.randint(0, 3, (4, 3)))
    return Training(module, list(zip(xs, ys)), Update(loss, optimizer))


class Embedding(nn.Module):
    """Images as points of a sphere."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 5)
        )

    def forward(self, x):
        return F.normalize(self.layers(x), dim=1)


def hardest(labels, v, margin):
    """For each anchor the farthest of its class and the nearest of the others."""
    dot = v @ v.T
    square = dot.diagonal()
    distances = F.relu(square[:, None] - 2 * dot + square[None])
    mask = (distances == 0).float()
    distances = torch.sqrt(distances + mask * 1e-16) * (1 - mask)
    same = labels[None] == labels[:, None]
    other = ~torch.eye(len(labels), dtype=torch.bool)
    positive = ((same & other) * distances).amax(1)
    negative = (distances + distances.amax(1, keepdim=True) * same).amin(1)
    return F.relu(positive - negative + margin).mean()


@twin
def triplet(data):
    """Siamese towers: a contrastive loss, then hard triplets."""
    module = Embedding()

    def contrastive(left, right, same, labels):
        distance = torch.sqrt((module(left) - module(right)).square().sum(1) + 1e-6)
        return (same * distance.square() + (1 - same) * F.relu(0.8 - distance).square()).mean()

    def triplets(left, right, same, labels):
        return hardest(labels, module(left), 0.5)

    first = torch.optim.SGD(module.parameters(), 0.1, momentum=0.9)
    second = torch.optim.SGD(module.parameters(), 0.1)
    factors = [1, 0.5, 0.1]  # Of the rate; both count the steps of both.
    batches = [
        (
            images(data.randn(size, 6, 6, 1)),
            images(data.randn(size, 6, 6, 1)),
            tensor(data.randint(0, 2, size).astype("f")),
            torch.arange(size) % 3,
        )
        for size in (7, 6)
    ]
    return Training(
        module,
        batches,
        Update(contrastive, first, schedule=piecewise(first, [4, 10], factors)),
        Update(triplets, second, schedule=piecewise(second, [4, 10], factors)),
    )
