#!/usr/bin/env python3
"""Intervals of means that few groups carry: the figures of the section "Choices" in src/stats/README.md,
and the independent figures of tests/verdict/calibrate.py. Written from the text there with numpy alone.

    few_groups.py [--figures]     the table (a minute), or one line a figure: name, share, repeats
"""
import statistics
import sys

import numpy as np

DRAWS, LEAST_ERROR = 999, 0.25
NORMAL = statistics.NormalDist()
# Two-sided 95 % points of Student's t, df = groups − 1.
STUDENT = {12: 2.2010, 40: 2.0227}


def exponential(rng, shape):
    return rng.exponential(size=shape) - 1, 0


def half_zero(rng, shape):
    return (rng.random(shape) < 0.5) * rng.exponential(size=shape), 0.5


def one_in_six(rng, shape):
    carries = rng.random(shape) < 1 / 6
    return carries * (10 + rng.standard_normal(shape)) + 0.1 * rng.standard_normal(shape), 10 / 6


WORLDS = {"exponential": exponential, "half-zero": half_zero, "one-in-six": one_in_six}


class Sample:
    """x [units, groups] and what the bootstrap makes of its means."""

    def __init__(self, x, rng):
        self.x, self.n = x, x.shape[-1]
        self.mean = x.mean(-1)
        self.se = x.std(-1, ddof=1) / self.n ** 0.5
        residual = x - self.mean[:, None]
        weights = rng.multinomial(self.n, np.full(self.n, 1 / self.n), size=DRAWS).astype(float)
        self.deviation = weights @ residual.T / self.n
        variance = weights @ (residual ** 2).T / self.n - self.deviation ** 2
        self.drawn_se = np.sqrt(variance.clip(0) / (self.n - 1))
        self.few = (self.drawn_se < LEAST_ERROR * self.se).mean(0) > 0.025
        order = np.sort(x, -1)
        same = (order[:, :, None] == order[:, None, :]).sum(-1).max(-1)
        self.few |= self.n - same < 10
        self.range = x.min(-1), x.max(-1)

    def statistic(self, least):
        """Draws [draw, unit] in standard errors of the draw; a draw without spread counts as one with
        a billionth of it in the plain form."""
        least_se = np.where(self.se > 0, max(least, 1e-9) * self.se, 1)
        return self.deviation / np.maximum(self.drawn_se, least_se)

    def studentised(self, least):
        low, high = np.quantile(self.statistic(least), [0.025, 0.975], axis=0)
        return self.mean - high * self.se, self.mean - low * self.se

    def bounded(self):
        low, high = self.studentised(LEAST_ERROR)
        return np.maximum(low, self.range[0]), np.minimum(high, self.range[1])

    def student(self):
        return self.mean - STUDENT[self.n] * self.se, self.mean + STUDENT[self.n] * self.se

    def bca(self):
        """Of the first unit (Efron 1987)."""
        draws, x = np.sort(self.deviation[:, 0]), self.x[0]
        below = np.clip((draws < -1e-12).sum() + 0.5 * (np.abs(draws) <= 1e-12).sum(), 0.5, DRAWS - 0.5)
        bias = NORMAL.inv_cdf(below / DRAWS)
        left_out = x - x.mean()
        a = (left_out ** 3).sum() / (6 * (left_out ** 2).sum() ** 1.5)
        ends = []
        for p in (0.025, 0.975):
            z = bias + NORMAL.inv_cdf(p)
            ends.append(self.mean[0] + np.quantile(draws, NORMAL.cdf(bias + z / (1 - a * z))))
        return np.array(ends[:1]), np.array(ends[1:])

    def simultaneous(self, least, units):
        """Ends for the units of the mask, which alone decide how wide."""
        if not units.any():
            return self.mean[units], self.mean[units]
        critical = np.quantile(np.abs(self.statistic(least)[:, units]).max(1), 0.95)
        half = critical * self.se[units]
        return self.mean[units] - half, self.mean[units] + half


def pointwise(world, groups, repeats, seed):
    """Coverage, and median and largest width in ranges of the data, by construction; share marked as
    carried by few groups."""
    rng = np.random.default_rng(seed)
    covered, widths, few = {}, {}, 0
    for _ in range(repeats):
        x, truth = WORLDS[world](rng, (1, groups))
        if x.std() == 0:
            continue
        sample = Sample(x, rng)
        few += sample.few[0]
        for name, (low, high) in (("plain", sample.studentised(0)), ("bounded", sample.bounded()),
                                  ("BCa", sample.bca()), ("Student t", sample.student())):
            covered[name] = covered.get(name, 0) + (low[0] <= truth <= high[0])
            widths.setdefault(name, []).append((high[0] - low[0]) / np.ptp(x))
    return ({name: count / repeats for name, count in covered.items()},
            {name: (np.median(w), max(w)) for name, w in widths.items()}, few / repeats)


def together(world, groups, repeats, seed, units=32):
    """Share of repeats in which all simultaneous intervals hold, and their mean half width in standard
    errors, plain and bounded."""
    rng = np.random.default_rng(seed)
    covered, half = np.zeros(2), np.zeros(2)
    for _ in range(repeats):
        x, truth = WORLDS[world](rng, (units, groups))
        sample = Sample(x, rng)
        varies = sample.se > 0
        for i, (least, mask) in enumerate(((0, varies), (LEAST_ERROR, varies & ~sample.few))):
            low, high = sample.simultaneous(least, mask)
            covered[i] += ((low <= truth) & (truth <= high)).all()
            half[i] += ((high - low) / 2 / sample.se[mask]).mean() if mask.any() else 0
    return covered / repeats, half / repeats


def figures():
    for world in WORLDS:
        for groups in (12, 40):
            covered, _, few = pointwise(world, groups, 2000, 31)
            print(f"few_{world}_{groups} {covered['bounded']:.6f} 2000", flush=True)
            print(f"marked_{world}_{groups} {few:.6f} 2000", flush=True)
        covered, _ = together(world, 40, 1000, 32)
        print(f"together_{world}_40 {covered[1]:.6f} 1000", flush=True)


def table():
    print("| groups | values | plain | bounded | BCa | Student t | widest plain | widest bounded "
          "| few groups |\n|---|---|---|---|---|---|---|---|---|")
    for groups in (12, 40):
        for world in WORLDS:
            covered, widths, few = pointwise(world, groups, 2000, 31)
            shares = " | ".join(f"{covered[n]:.3f}" for n in ("plain", "bounded", "BCa", "Student t"))
            print(f"| {groups} | {world} | {shares} | {widths['plain'][1]:.3g} "
                  f"| {widths['bounded'][1]:.2f} | {few:.3f} |", flush=True)
    print("\n| groups | values | all 32 covered: plain | bounded | half width: plain | bounded |\n"
          "|---|---|---|---|---|---|")
    for groups in (12, 40):
        for world in WORLDS:
            covered, half = together(world, groups, 500, 32)
            print(f"| {groups} | {world} | {covered[0]:.3f} | {covered[1]:.3f} | {half[0]:.3g} "
                  f"| {half[1]:.2f} |", flush=True)


if __name__ == "__main__":
    figures() if "--figures" in sys.argv else table()
