"""Twins of models that make images or sound, or label each of their points."""

import torch
from torch import nn
from torch.nn import functional as F

from zoo_torch.training import DIFFERENT, Training, Update, clip_value, groups, images, tensor, twin


class Autoencoder(nn.Module):
    """An encoder to means and variances, and a decoder of what is drawn from them."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(24, 16), nn.Softplus())
        self.mean, self.log_variance = nn.Linear(16, 4), nn.Linear(16, 4)
        self.decoder = nn.Sequential(nn.Linear(4, 16), nn.Softplus(), nn.Linear(16, 24))

    def forward(self, x):
        hidden = self.encoder(x)
        mean, log_variance = self.mean(hidden), self.log_variance(hidden)
        z = mean + torch.exp(0.5 * log_variance) * torch.randn_like(mean)
        return self.decoder(z), mean, log_variance


@twin
def vae(data):
    """A variational autoencoder, Bernoulli likelihood, Adam."""
    module = Autoencoder()

    def loss(x):
        logits, mean, log_variance = module(x)
        entropy = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
        divergence = -0.5 * (1 + log_variance - mean.square() - log_variance.exp()).sum()
        return (entropy + divergence) / len(x)

    xs = tensor(data.uniform(size=(4, 16, 24)) < torch.linspace(0.1, 0.9, 24).numpy())
    optimizer = torch.optim.Adam(module.parameters(), 2e-3)
    return Training(module, [(x,) for x in xs], Update(loss, optimizer))


def norm(channels):
    """DCGAN's normalization."""
    return nn.BatchNorm2d(channels, eps=1e-5, momentum=0.1)


def adversaries(generator, discriminator):
    """Both networks as one module."""
    return nn.ModuleDict({"generator": generator, "discriminator": discriminator})


@twin
def dcgan(data):
    """DCGAN: transposed convolutions, normalization in both networks, two Adams in turn."""
    generator = nn.Sequential(
        nn.Linear(6, 72, bias=False),
        nn.Unflatten(1, (8, 3, 3)),
        norm(8),
        nn.ReLU(),
        nn.ConvTranspose2d(8, 4, 4, 2, padding=1, bias=False),
        norm(4),
        nn.ReLU(),
        nn.ConvTranspose2d(4, 1, 4, 2, padding=1),
        nn.Tanh(),
    )
    discriminator = nn.Sequential(
        nn.Conv2d(1, 4, 4, 2, padding=1),
        nn.LeakyReLU(0.2),
        nn.Conv2d(4, 8, 4, 2, padding=1, bias=False),
        norm(8),
        nn.LeakyReLU(0.2),
        nn.Flatten(),
        nn.Linear(72, 1),
    )

    def entropy(logits, label):
        return F.binary_cross_entropy_with_logits(logits, torch.full_like(logits, label))

    def discriminator_loss(noise, real):
        fake = generator(noise).detach()
        return entropy(discriminator(real), 1.0) + entropy(discriminator(fake), 0.0)

    def generator_loss(noise, real):
        return entropy(discriminator(generator(noise)), 1.0)

    drawn = tensor(data.uniform(-1, 1, (20, 4, 6)))
    xs = [images(x) for x in data.uniform(-1, 1, (4, 4, 12, 12, 1))]
    optimizers = [
        torch.optim.Adam(m.parameters(), 1e-3, betas=(0.5, 0.999), eps=1e-4)
        for m in (discriminator, generator)
    ]
    return Training(
        adversaries(generator, discriminator),
        [(drawn[k], xs[k % 4]) for k in range(DIFFERENT)],
        Update(discriminator_loss, optimizers[0]),
        Update(generator_loss, optimizers[1]),
    )


@twin
def wgan_gp(data):
    """WGAN with a gradient penalty: two steps of the critic, one of the generator."""
    generator = nn.Sequential(
        nn.Linear(6, 64),
        nn.ReLU(),
        nn.Unflatten(1, (4, 4, 4)),
        nn.Upsample(scale_factor=2),
        nn.Conv2d(4, 1, 3, padding=1),
        nn.Tanh(),
    )
    critic = nn.Sequential(
        nn.Conv2d(1, 4, 3, 2, padding=1),
        nn.Softplus(),
        nn.Conv2d(4, 6, 3, 2, padding=1),
        nn.GroupNorm(1, 6),
        nn.ELU(),
        nn.Flatten(),
        nn.Linear(24, 1, bias=False),
    )

    def critic_loss(noise, real, mixture):
        fake = generator(noise).detach()
        between = (real + mixture * (fake - real)).requires_grad_()
        (slopes,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        penalty = (slopes.square().sum((1, 2, 3)).sqrt() - 1).square().mean()
        return critic(fake).mean() - critic(real).mean() + 10 * penalty

    def generator_loss(noise, real, mixture):
        return -critic(generator(noise)).mean()

    drawn = tensor(data.normal(size=(20, 4, 6)))
    shares = tensor(data.uniform(size=(20, 4, 1, 1, 1)))
    xs = [images(x) for x in data.uniform(-1, 1, (4, 4, 8, 8, 1))]
    of_critic = torch.optim.RMSprop(critic.parameters(), 1e-3, alpha=0.9, eps=1e-3, centered=True)
    of_generator = torch.optim.RMSprop(generator.parameters(), 1e-3, alpha=0.9, eps=1e-3)
    train_critic = Update(critic_loss, of_critic)
    return Training(
        adversaries(generator, critic),
        [(drawn[k], xs[k % 4], shares[k]) for k in range(DIFFERENT)],
        train_critic,
        train_critic,
        Update(generator_loss, of_generator),
    )


class Translator(nn.Module):
    """CycleGAN's generator."""

    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(2, 4, 3, padding=1, padding_mode="reflect", bias=False),
            nn.InstanceNorm2d(4, eps=1e-3, affine=True),
            nn.ReLU(),
            nn.Conv2d(4, 6, 3, 2, padding=1, bias=False),
            nn.InstanceNorm2d(6, eps=1e-3, affine=True),
            nn.ReLU(),
        )
        self.residual = nn.Sequential(
            nn.Conv2d(6, 6, 3, padding=1, padding_mode="replicate", bias=False),
            nn.InstanceNorm2d(6, eps=1e-3, affine=True),
        )
        self.up = nn.Sequential(
            nn.ConvTranspose2d(6, 4, 3, 2, padding=1, output_padding=1, bias=False),
            nn.InstanceNorm2d(4, eps=1e-3, affine=True),
            nn.ReLU(),
            nn.Conv2d(4, 2, 3, padding=1),
            nn.Tanh(),
        )

    def forward(self, x):
        net = self.down(x)
        return self.up(net + self.residual(net))


def judge():
    """CycleGAN's discriminator."""
    return nn.Sequential(
        nn.Conv2d(2, 4, 4, 2, padding=1),
        nn.LeakyReLU(0.2),
        nn.Conv2d(4, 6, 4, 2, padding=1, bias=False),
        nn.InstanceNorm2d(6, eps=1e-3, affine=True),
        nn.LeakyReLU(0.2),
        nn.Conv2d(6, 1, 1),
    )


@twin
def cyclegan(data):
    """CycleGAN: four networks, instance norm, least squares and cycle losses, two Adams."""
    generators = nn.ModuleDict({"a2b": Translator(), "b2a": Translator()})
    discriminators = nn.ModuleDict({"a": judge(), "b": judge()})

    def squares(judged, target):
        return (judged - target).square().mean()

    def generator_loss(a, b):
        fake_b, fake_a = generators["a2b"](a), generators["b2a"](b)
        again_a, again_b = generators["b2a"](fake_b), generators["a2b"](fake_a)
        cycle = 10 * F.l1_loss(again_a, a) + 10 * F.l1_loss(again_b, b)
        judged = squares(discriminators["b"](fake_b), 1) + squares(discriminators["a"](fake_a), 1)
        return judged + cycle

    def discriminator_loss(a, b):
        with torch.no_grad():
            fake_b, fake_a = generators["a2b"](a), generators["b2a"](b)
        of_a = squares(discriminators["a"](a), 1) + squares(discriminators["a"](fake_a), 0)
        of_b = squares(discriminators["b"](b), 1) + squares(discriminators["b"](fake_b), 0)
        return 0.5 * (of_a + of_b)

    xs = [images(x) for x in data.uniform(-1, 1, (4, 2, 8, 8, 2))]
    ys = [images(x) for x in data.uniform(-1, 1, (4, 2, 8, 8, 2))]
    optimizers = [
        torch.optim.Adam(m.parameters(), 1e-3, betas=(0.5, 0.999), eps=1e-4)
        for m in (generators, discriminators)
    ]
    return Training(
        adversaries(generators, discriminators),
        list(zip(xs, ys)),
        Update(generator_loss, optimizers[0]),
        Update(discriminator_loss, optimizers[1]),
    )


class MaskedConv(nn.Conv2d):
    """A convolution that sees pixels above and to the left, of kind "b" also the pixel itself."""

    def __init__(self, inputs, filters, size, kind):
        super().__init__(inputs, filters, size, padding=size // 2)
        mask = torch.ones(size, size)
        mask[size // 2, size // 2 + (kind == "b") :] = 0
        mask[size // 2 + 1 :] = 0
        self.register_buffer("mask", mask)

    def forward(self, x):
        return F.conv2d(x, self.weight * self.mask, self.bias, padding=self.padding)


class PixelCNN(nn.Module):
    """Three gated layers with residuals and skips."""

    def __init__(self, levels=4, channels=6):
        super().__init__()
        self.input = MaskedConv(1, channels, 5, "a")
        self.masked = nn.ModuleList([MaskedConv(channels, 2 * channels, 3, "b") for _ in range(3)])
        self.skips = nn.ModuleList([nn.Conv2d(channels, channels, 1) for _ in range(3)])
        self.residuals = nn.ModuleList([nn.Conv2d(channels, channels, 1) for _ in range(2)])
        self.output = nn.Sequential(
            nn.ReLU(), nn.Conv2d(channels, channels, 1), nn.ReLU(), nn.Conv2d(channels, levels, 1)
        )

    def forward(self, x):
        net, total = self.input(x), 0
        for number, (masked, skip) in enumerate(zip(self.masked, self.skips)):
            one, gate = masked(net).chunk(2, 1)
            out = torch.tanh(one) * torch.sigmoid(gate)
            total = total + skip(out)
            if number < 2:
                net = net + self.residuals[number](out)
        return self.output(total)


@twin
def pixelcnn(data):
    """PixelCNN: masked convolutions, clipped gradients, a softmax a pixel."""
    module = PixelCNN()

    def loss(pixels):
        return F.cross_entropy(module((pixels.float() / 3 - 0.5)[:, None]), pixels)

    xs = tensor(data.randint(0, 4, (4, 4, 8, 8)))
    optimizer = torch.optim.RMSprop(module.parameters(), 1e-2, alpha=0.9, eps=1e-2)
    return Training(module, [(x,) for x in xs], Update(loss, optimizer, clip=clip_value(module, 0.02)))


class WaveNet(nn.Module):
    """Gated, dilated causal convolutions over a signal in eight levels."""

    def __init__(self, quantized=8, residual=4, skip=6):
        super().__init__()
        self.dilations = (1, 2, 4, 1, 2)
        self.causal = nn.Conv1d(quantized, residual, 2, bias=False)
        self.filters = nn.ModuleList([nn.Conv1d(residual, residual, 2, dilation=d) for d in self.dilations])
        self.gates = nn.ModuleList(
            [nn.Conv1d(residual, residual, 2, dilation=d, bias=False) for d in self.dilations]
        )
        self.skips = nn.ModuleList([nn.Conv1d(residual, skip, 1, bias=False) for _ in self.dilations])
        self.dense = nn.ModuleList([nn.Conv1d(residual, residual, 1, bias=False) for _ in range(4)])
        self.output = nn.Sequential(
            nn.ReLU(), nn.Conv1d(skip, skip, 1, bias=False), nn.ReLU(), nn.Conv1d(skip, quantized, 1)
        )

    def forward(self, encoded):
        net, total = self.causal(F.pad(encoded, (1, 0))), 0
        for number, dilation in enumerate(self.dilations):
            padded = F.pad(net, (dilation, 0))
            out = torch.tanh(self.filters[number](padded)) * torch.sigmoid(self.gates[number](padded))
            total = total + self.skips[number](out)
            if number < 4:
                net = net + self.dense[number](out)
        return self.output(total)


@twin
def wavenet(data):
    """WaveNet: dilated causal convolutions, gated units with residuals and skips, a softmax over mu-law levels."""
    module = WaveNet()
    mu = torch.tensor(7.0)

    def loss(audio):
        magnitude = torch.log1p(mu * audio.abs().clamp(max=1)) / torch.log1p(mu)
        codes = ((audio.sign() * magnitude + 1) / 2 * mu + 0.5).long()
        encoded = F.one_hot(codes, 8).float().transpose(1, 2)
        return F.cross_entropy(module(encoded[:, :, :-1]), codes[:, 1:])

    waves = tensor(data.uniform(-1, 1, (2, 2, 24)))
    optimizer = torch.optim.Adam(groups(module, 1e-3, lambda name: "bias" not in name), 3e-3, eps=1e-4)
    return Training(module, [(wave,) for wave in waves], Update(loss, optimizer))


class Down(nn.Module):
    """Two convolutions, the first without padding."""

    def __init__(self, inputs, *filters):
        super().__init__()
        layers = []
        for number, size in enumerate(filters):
            layers += [nn.Conv2d(inputs, size, 3, padding=int(number > 0)), nn.LeakyReLU(0.1)]
            inputs = size
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)


def crop_and_concat(one, other):
    """The middle of one, and the other."""
    height, width = other.shape[2:]
    top, left = (one.shape[2] - height) // 2, (one.shape[3] - width) // 2
    return torch.cat([one[:, :, top : top + height, left : left + width], other], 1)


class UNet(nn.Module):
    """A contracting and an expanding path."""

    def __init__(self):
        super().__init__()
        self.down1, self.down2, self.bottom = Down(1, 4, 4), Down(4, 6, 6), Down(6, 8)
        self.up2, self.conv2 = nn.ConvTranspose2d(8, 6, 2, 2), nn.Conv2d(12, 6, 3, padding=1)
        self.up1, self.conv1 = nn.ConvTranspose2d(6, 4, 2, 2), nn.Conv2d(8, 4, 3, padding=1)
        self.mask = nn.Conv2d(4, 1, 1)

    def forward(self, x):
        skip1 = self.down1(F.pad(x, (3, 3, 3, 3), mode="reflect"))
        skip2 = self.down2(F.max_pool2d(skip1, 2))
        net = self.bottom(F.max_pool2d(skip2, 2))
        net = F.relu(self.conv2(crop_and_concat(skip2, F.relu(self.up2(net)))))
        net = F.relu(self.conv1(crop_and_concat(skip1, F.relu(self.up1(net)))))
        return self.mask(net)


@twin
def unet(data):
    """U-Net: transposed convolutions, cropped skips, cross entropy and Dice."""
    module = UNet()

    def loss(x, masks):
        logits = module(x)
        probabilities = torch.sigmoid(logits)
        intersection = (probabilities * masks).sum((1, 2, 3))
        union = probabilities.sum((1, 2, 3)) + masks.sum((1, 2, 3))
        dice = 1 - ((2 * intersection + 1) / (union + 1)).mean()
        return F.binary_cross_entropy_with_logits(logits, masks) + dice

    xs = [images(x) for x in data.uniform(size=(2, 4, 16, 16, 1))]
    ys = [images(y) for y in data.uniform(size=(2, 4, 8, 8, 1)) < 0.4]
    optimizer = torch.optim.Adam(module.parameters(), 3e-3)
    return Training(module, list(zip(xs, ys)), Update(loss, optimizer))
