#!/usr/bin/env python3
"""How often the verdict is right, simulated with numpy alone and from the text of the rule: shares no
code and no random numbers with the C++ it is compared with.

    power.py [REPEATS]     prints one line a figure: name, share, repeats
"""
import sys

import numpy as np

UNITS, CLUSTERS, PER_CLUSTER, METHODS, CONDITIONS = 32, 100, 5, 3, 5
PLANTED, IDLE = 5, 9
SHARED, OF_UNIT, OF_METHOD, OF_PROMPT, EXTRA = 0.5, 0.4 ** 0.5, 0.15 ** 0.5, 1.0, 0.2
DRAWS = 999


def t_table(df):
    """t and P(T < t), by the trapezoidal rule in theta with t = sqrt(df) tan(theta), whose density is
    cos(theta)^(df-1)."""
    theta = np.linspace(-np.pi / 2, np.pi / 2, 200001)[1:-1]
    density = np.cos(theta) ** (df - 1)
    below = np.concatenate([[0], np.cumsum((density[1:] + density[:-1]) / 2)])
    return df ** 0.5 * np.tan(theta), below / below[-1]


T_VALUES, T_BELOW = t_table(CLUSTERS - 1)


def mean_and_error(x):
    """x [..., clusters]: mean and standard error over clusters."""
    return x.mean(-1), x.std(-1, ddof=1) / x.shape[-1] ** 0.5


def simultaneous(x, rng):
    """x [units, clusters]: the bootstrap's largest |t*| gives one half width for all units."""
    mean, error = mean_and_error(x)
    weights = rng.multinomial(CLUSTERS, np.full(CLUSTERS, 1 / CLUSTERS), size=DRAWS).astype(float)
    centred = x - mean[:, None]
    first = weights @ centred.T / CLUSTERS
    second = weights @ (centred ** 2).T / CLUSTERS
    drawn_error = np.sqrt((second - first ** 2) / (CLUSTERS - 1))
    critical = np.quantile(np.abs(first / drawn_error).max(1), 0.95)
    return mean - critical * error, mean + critical * error


def holm_rejects(p):
    """The units whose p is rejected at 5 % by Holm's step-down procedure."""
    rejected = np.zeros(len(p), bool)
    for step, unit in enumerate(np.argsort(p)):
        if p[unit] > 0.05 / (len(p) - step):
            break
        rejected[unit] = True
    return rejected


def one_repeat(error, rng):
    """Whether the planted unit (3 delta, delta = 1) is causal, and whether the idle one has no effect."""
    scale = error * CLUSTERS ** 0.5

    def normal(*shape):
        return rng.standard_normal(shape)

    # Means of the clusters; a prompt's own part is averaged over the prompts of its cluster.
    total = scale * (SHARED * normal(1, 1, CLUSTERS) + OF_UNIT * normal(1, UNITS, CLUSTERS)
                     + OF_METHOD * normal(METHODS, UNITS, CLUSTERS)
                     + OF_PROMPT / PER_CLUSTER ** 0.5 * normal(METHODS, UNITS, CLUSTERS))
    total[:, PLANTED] += 3
    own = scale * EXTRA / PER_CLUSTER ** 0.5
    direct = total + own * normal(METHODS, UNITS, CLUSTERS)
    given = total[0] + own * normal(CONDITIONS, UNITS, CLUSTERS)

    above = below = 0
    for method in range(METHODS):
        low, high = simultaneous(total[method], rng)
        above += low[PLANTED] > 1
        below += high[PLANTED] < -1
    causal = (above >= 2 and below == 0) or (below >= 2 and above == 0)

    mean, spread = mean_and_error(np.concatenate([total, direct, given]))
    p = 1 - np.interp((1 - np.abs(mean)) / spread, T_VALUES, T_BELOW)
    for condition in range(CONDITIONS):  # given itself: nothing to remove
        p[2 * METHODS + condition, condition] = 0
    rejected = holm_rejects(p.max(0))
    return causal, rejected[IDLE]


def main():
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    for error in (0.40, 0.55, 0.25):
        rng = np.random.default_rng(20)
        hits = np.array([one_repeat(error, rng) for _ in range(repeats)]).mean(0)
        print(f"causal_{error:.2f} {hits[0]:.6f} {repeats}", flush=True)
        print(f"no_effect_{error:.2f} {hits[1]:.6f} {repeats}", flush=True)


if __name__ == "__main__":
    main()
