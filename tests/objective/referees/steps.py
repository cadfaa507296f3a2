"""Small random steps, as flat columns for Rollcall and as padded rectangles for the peers."""

import random

import torch

HORIZON = 10


class Step:
    """Columns of one step: per rollout (group, reward, length, ...) and per token, rollout after rollout."""

    def __init__(self, columns):
        self.columns = columns
        lengths = columns["length"]
        self.mask = torch.zeros(len(lengths), max(lengths), dtype=torch.float64)
        for i, n in enumerate(lengths):
            self.mask[i, :n] = 1

    def padded(self, name):
        """[B, T], zero where there is no token."""
        rectangle = torch.zeros_like(self.mask)
        rectangle[self.mask > 0] = torch.tensor(self.columns[name], dtype=torch.float64)
        return rectangle

    def flat(self, rectangle):
        return [float("%.10g" % x) for x in rectangle[self.mask > 0].tolist()]

    def per_rollout(self, name):
        return torch.tensor(self.columns[name], dtype=torch.float64)

    def token_reward(self):
        """[B, T], the reward at the last token; of a rollout without tokens, at the first place, which the mask hides."""
        rectangle = torch.zeros_like(self.mask)
        for i, reward in enumerate(self.columns["reward"]):
            rectangle[i, max(self.columns["length"][i] - 1, 0)] = reward
        return rectangle

    @property
    def has_group_of_one(self):
        groups = self.columns["group"]
        return any(groups.count(g) == 1 for g in groups)

    @property
    def tokens(self):
        return sum(self.columns["length"])


def random_step(seed, sizes, spread, lowest, far=False, empty=()):
    """Log-probabilities lie below 0; `spread` is the size of log-ratios, `far` adds some beyond 20; `empty` rollouts have no tokens."""
    dice = random.Random(seed)
    columns = {name: [] for name in ("group", "reward", "greedy_reward", "length", "now", "old", "rollout", "reference", "entropy", "sum_squares",
                                     "value", "value_now")}
    for g, size in enumerate(sizes):
        for _ in range(size):
            columns["group"].append(g)
            columns["length"].append(0 if len(columns["length"]) in empty else dice.randint(1, 5))
            columns["reward"].append(dice.choice([0.0, 1.0, 1.0, 0.25, 0.6]))
            columns["greedy_reward"].append(float(dice.randint(0, 1)))
    for _ in range(sum(columns["length"])):
        old = dice.uniform(lowest, -0.3)
        for name in ("now", "rollout", "reference"):
            jump = dice.choice([0, 0, -30, 26]) if far else 0
            columns[name].append(round(min(old + spread * dice.gauss(0, 1) + jump, -0.01), 3))
        columns["old"].append(round(old, 3))
        columns["entropy"].append(round(dice.uniform(0.1, 3), 3))
        columns["sum_squares"].append(round(min(1.0, torch.tensor(2 * old).exp().item() + dice.uniform(0.001, 0.1)), 3))
        columns["value"].append(round(dice.uniform(0, 1), 3))
        columns["value_now"].append(round(columns["value"][-1] + dice.gauss(0, 0.4), 3))
    for name in ("component/correct", "component/format"):
        columns[name] = [float(dice.randint(0, 1)) for _ in columns["group"]]
    columns["horizon"] = HORIZON
    return Step(columns)


def make():
    return {
        "even": random_step(1, [3, 3, 3], 0.25, -4),
        "large": random_step(2, [3, 3, 3], 2.0, -8),
        # Groups of any size, one of a single rollout, and rollouts in which the policy said nothing.
        "uneven": random_step(3, [4, 1, 2, 3], 0.5, -4, empty=(2, 8)),
        # Log-ratios beyond the bounds that keep everything finite.
        "far": random_step(4, [3, 3, 2], 0.5, -32, far=True),
    }
