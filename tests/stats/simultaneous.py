#!/usr/bin/env python3
"""Which construction of simultaneous intervals covers all units at once: the figures of the section
"Choices" in src/stats/README.md. Needs numpy; takes half a minute.

    simultaneous.py

For clusters × units of one shape: share of 300 repeats in which 95 % intervals cover every unit, and
their mean half width in standard errors, by sign flips of the residuals and by the bootstrap's |t*|.
"""
import numpy as np

REPEATS, DRAWS = 300, 600


def largest_t(x):
    return np.abs(x.mean(-1) / (x.std(-1, ddof=1) / x.shape[-1] ** 0.5)).max()


def by_flips(residuals, rng):
    n = residuals.shape[1]
    total = (rng.integers(0, 2, (DRAWS, n)) * 2.0 - 1) @ residuals.T
    spread = (residuals ** 2).sum(-1) - total ** 2 / n
    return np.quantile(np.abs(total / n / np.sqrt(spread.clip(1e-12) / (n - 1) / n)).max(1), 0.95)


def by_bootstrap(residuals, rng):
    n = residuals.shape[1]
    weights = rng.multinomial(n, np.full(n, 1 / n), size=DRAWS).astype(float)
    mean = weights @ residuals.T / n
    variance = weights @ (residuals ** 2).T / n - mean ** 2
    return np.quantile(np.abs(mean / np.sqrt(variance.clip(1e-12) / (n - 1))).max(1), 0.95)


def main():
    rng = np.random.default_rng(1)
    loading = np.random.default_rng(9).standard_normal((300, 3)) / 2
    print("clusters units shape        flips: coverage width   bootstrap: coverage width")
    for clusters in (10, 20, 50, 100):
        for units in (32, 300):
            for shape in ("normal", "exponential"):
                covered, width = np.zeros(2), np.zeros(2)
                for _ in range(REPEATS):
                    if shape == "normal":
                        x = rng.standard_normal((units, clusters))
                        x += loading[:units] @ rng.standard_normal((3, clusters))
                    else:
                        x = rng.exponential(size=(units, clusters)) - 1
                    residuals = x - x.mean(-1, keepdims=True)
                    critical = np.array([by_flips(residuals, rng), by_bootstrap(residuals, rng)])
                    covered += largest_t(x) <= critical
                    width += critical
                c, w = covered / REPEATS, width / REPEATS
                print(f"{clusters:8} {units:5} {shape:11} {c[0]:16.3f} {w[0]:5.2f} {c[1]:21.3f} {w[1]:5.2f}",
                      flush=True)


if __name__ == "__main__":
    main()
