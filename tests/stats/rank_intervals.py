#!/usr/bin/env python3
"""Which bootstrap interval of a rank correlation with noisy effects covers what is to be expected: the
figures of the section "Choices" in src/stats/README.md. Needs numpy; takes two minutes.

    rank_intervals.py

10 layers of 9 units, 100 clusters; effects 0.1 to 0.9 with noise; attention follows their order, follows
it in part, or not at all. For each case: the expected tau, the share of 120 intervals that hold it, and
what a perfect measure reaches beside what the ceiling, tau between the effects of two halves of the
clusters, predicts (probes/verdict/README.md).
"""
import numpy as np

LAYERS, HEADS, CLUSTERS, REPEATS, DRAWS = 10, 9, 100, 120, 300
UNITS = LAYERS * HEADS
PAIRS = np.array([(layer * HEADS + i, layer * HEADS + j)
                  for layer in range(LAYERS) for i in range(HEADS) for j in range(i)])


def tau(x, y):
    """Stratified tau-b over the last axis."""
    dx = np.sign(x[..., PAIRS[:, 0]] - x[..., PAIRS[:, 1]])
    dy = np.sign(y[..., PAIRS[:, 0]] - y[..., PAIRS[:, 1]])
    return (dx * dy).sum(-1) / np.sqrt((dx != 0).sum(-1) * (dy != 0).sum(-1))


def case(attention, noise, exponential, rng):
    mean = 0.1 * (np.tile(np.arange(HEADS), LAYERS) + 1)

    def sample(clusters=CLUSTERS):
        shape = (UNITS, clusters)
        x = rng.exponential(size=shape) - 1 if exponential else rng.standard_normal(shape)
        return mean[:, None] + noise * x

    def size(x):
        return np.abs(x.mean(1))

    expected = np.mean([tau(attention, size(sample())) for _ in range(400)])
    perfect = np.mean([tau(mean, size(sample())) for _ in range(400)])
    ceiling = np.mean([tau(size(sample(CLUSTERS // 2)), size(sample(CLUSTERS // 2))) for _ in range(400)])
    covered = np.zeros(3)
    for _ in range(REPEATS):
        x = sample()
        estimate = tau(attention, size(x))
        weights = rng.multinomial(CLUSTERS, np.full(CLUSTERS, 1 / CLUSTERS), size=DRAWS)
        draws = tau(attention[None], np.abs(weights @ x.T / CLUSTERS))
        low, high = np.quantile(draws, [0.025, 0.975])
        shift = estimate - draws.mean()
        intervals = [(low, high), (low + shift, high + shift), (2 * estimate - high, 2 * estimate - low)]
        covered += [a <= expected <= b for a, b in intervals]
    of_half = np.sin(np.pi / 2 * max(ceiling, 0))
    predicted = 2 / np.pi * np.arcsin(np.sqrt(2 * of_half / (1 + of_half)))
    return expected, covered / REPEATS, perfect, ceiling, predicted


def main():
    rng = np.random.default_rng(3)
    order = np.arange(HEADS)
    measures = {"equal": np.tile(order, LAYERS), "partial": np.tile(order * 5 % HEADS, LAYERS),
                "unrelated": np.random.default_rng(5).permutation(UNITS)}
    print("attention  noise shape        expected  percentile centred reflected   perfect ceiling predicted")
    for name, attention in measures.items():
        for noise in (0.3, 1.0, 3.0):
            for exponential in (False, True):
                expected, covered, perfect, ceiling, predicted = case(
                    attention.astype(float), noise, exponential, rng)
                print(f"{name:10} {noise:5} {'exponential' if exponential else 'normal':11} {expected:9.3f} "
                      f"{covered[0]:11.3f} {covered[1]:7.3f} {covered[2]:9.3f} {perfect:9.3f} "
                      f"{ceiling:7.3f} {predicted:9.3f}", flush=True)


if __name__ == "__main__":
    main()
