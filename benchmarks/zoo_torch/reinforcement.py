"""Twins of the losses of agents."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from zoo_torch.training import DIFFERENT, Training, Update, clip_each, clip_norm, images, tensor, twin


class Dueling(nn.Module):
    """Convolutions and two streams: the value, and advantages less their mean."""

    def __init__(self, actions=4):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(2, 4, 3, 2, padding=1), nn.ReLU(), nn.Conv2d(4, 6, 2), nn.ReLU(), nn.Flatten()
        )
        self.value = nn.Sequential(nn.Linear(24, 8), nn.ReLU(), nn.Linear(8, 1))
        self.advantage = nn.Sequential(nn.Linear(24, 8), nn.ReLU(), nn.Linear(8, actions))

    def forward(self, x):
        h = self.features(x.float() / 255)
        advantage = self.advantage(h)
        return self.value(h) + advantage - advantage.mean(1, keepdim=True)


@twin
def dqn(data):
    """Double, dueling Q-learning: Huber loss, each gradient clipped, a target network that follows."""
    online, target = Dueling(), Dueling()

    def loss(before, after, action, reward, done, importance):
        selected = online(before).gather(1, action[:, None])[:, 0]
        with torch.no_grad():
            best = target(after).gather(1, online(after).argmax(1, keepdim=True))[:, 0]
            expected = reward + 0.99 * (1 - done) * best
        return (importance * F.smooth_l1_loss(selected, expected, reduction="none")).mean()

    @torch.no_grad()
    def follow():
        for own, other in zip(online.parameters(), target.parameters()):
            other.lerp_(own, 0.1)

    def batch():
        return (
            images(data.randint(0, 256, (5, 6, 6, 2))).byte(),
            images(data.randint(0, 256, (5, 6, 6, 2))).byte(),
            tensor(data.randint(0, 4, 5)),
            torch.tensor([0.0, 1, -1, 3, 0]),
            torch.tensor([0.0, 0, 1, 0, 0]),
            tensor(data.uniform(0.5, 1, 5)),
        )

    optimizer = torch.optim.Adam(online.parameters(), 1e-3, eps=1e-4)
    return Training(
        nn.ModuleDict({"online": online, "target": target}),
        [batch() for _ in range(3)],
        Update(loss, optimizer, clip=clip_each(online, 0.1)),
        after=follow,
    )


class Gaussian(nn.Module):
    """A policy with a mean by a network and a scale of its own."""

    def __init__(self):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 2))
        self.log_std = nn.Parameter(torch.full((2,), -0.5))

    def forward(self, x):
        return torch.distributions.Normal(self.mean(x), self.log_std.exp())


@twin
def ppo(data):
    """Proximal policy optimization: clipped ratio, clipped value, entropy, an Adam for each network."""
    policy = Gaussian()
    value = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1))
    clip = 0.2

    def actor(x, a, advantage, returns, old_logp, old_value):
        pi = policy(x)
        normed = (advantage - advantage.mean()) / (advantage.std(unbiased=False) + 1e-8)
        ratio = torch.exp(pi.log_prob(a).sum(1) - old_logp)
        clipped = ratio.clamp(1 - clip, 1 + clip) * normed
        return -torch.min(ratio * normed, clipped).mean() - 0.01 * pi.entropy().sum(1).mean()

    def critic(x, a, advantage, returns, old_logp, old_value):
        found = value(x)[:, 0]
        clipped = old_value + (found - old_value).clamp(-clip, clip)
        return 0.5 * torch.max((found - returns).square(), (clipped - returns).square()).mean()

    def batch(size):
        return (
            tensor(data.randn(size, 5)),
            tensor(data.randn(size, 2)),
            tensor(data.randn(size)),
            tensor(data.randn(size)),
            tensor(-2 + data.randn(size)),
            tensor(data.randn(size) * 0.3),
        )

    updates = [
        Update(loss, torch.optim.Adam(m.parameters(), 3e-3, eps=1e-4), clip=clip_norm(m, 0.5))
        for loss, m in ((actor, policy), (critic, value))
    ]
    module = nn.ModuleDict({"policy": policy, "value": value})
    return Training(module, [batch(8), batch(8), batch(5)], *updates)


ENVIRONMENTS, STEPS = 2, 5


class ActorCritic(nn.Module):
    """A recurrent policy, whose state a mask resets where an episode has ended."""

    def __init__(self):
        super().__init__()
        self.dense, self.cell = nn.Linear(6, 7), nn.LSTMCell(7, 6)
        self.pi, self.vf = nn.Linear(6, 3), nn.Linear(6, 1)
        nn.init.orthogonal_(self.dense.weight, math.sqrt(2))
        self.state = (torch.zeros(ENVIRONMENTS, 6), torch.zeros(ENVIRONMENTS, 6))

    def forward(self, x, masks):
        rows = F.relu(self.dense(x)).view(ENVIRONMENTS, STEPS, -1)
        kept = 1 - masks.view(ENVIRONMENTS, STEPS, 1)
        (h, c), outputs = self.state, []
        for step in range(STEPS):
            h, c = self.cell(rows[:, step], (h * kept[:, step], c * kept[:, step]))
            outputs.append(h)
        self.state = (h.detach(), c.detach())
        flat = torch.stack(outputs, 1).flatten(0, 1)
        return self.pi(flat), self.vf(flat)[:, 0]


@twin
def a2c_lstm(data):
    """Advantage actor-critic: entropy, RMSProp, a linear schedule."""
    module = ActorCritic()

    def loss(x, masks, actions, advantages, rewards):
        logits, value = module(x, masks)
        log_p = F.log_softmax(logits, -1)
        entropy = -(log_p.exp() * log_p).sum(-1).mean()
        policy = (advantages * F.nll_loss(log_p, actions, reduction="none")).mean()
        return policy - 0.01 * entropy + 0.5 * F.mse_loss(value, rewards)

    def batch():
        count = ENVIRONMENTS * STEPS
        return (
            tensor(data.randn(count, 6)),
            tensor((data.rand(count) < 0.25).astype("f")),
            tensor(data.randint(0, 3, count)),
            tensor(data.randn(count)),
            tensor(data.randn(count)),
        )

    optimizer = torch.optim.RMSprop(module.parameters(), 7e-3, alpha=0.99, eps=1e-3)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step % DIFFERENT / 40)
    update = Update(loss, optimizer, clip_norm(module, 0.5), schedule)
    return Training(module, [batch() for _ in range(3)], update)
