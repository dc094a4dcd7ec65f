#!/usr/bin/env python3
"""The calibration table of probes/verdict/README.md. Takes about ten minutes; needs numpy.

    calibrate.py BUILD      BUILD is the build folder, with the target verdict_calibration built

Prints the table; exits with 1 if a figure misses what it must be.
"""
import math
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def figures(command):
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.split("\n")
    rows = [line.split() for line in lines if line]
    return {name: (float(share), int(repeats)) for name, share, repeats in rows}


def normal_power(z):
    below = lambda x: math.erfc(-x / math.sqrt(2)) / 2
    return below(z - 1.959964) + below(-z - 1.959964)


def around(share, repeats, other_repeats=math.inf):
    """Two standard deviations to either side; a share near 0 or 1 as if it were one repeat off it."""
    p = min(max(share, 1 / repeats), 1 - 1 / repeats)
    slack = 2 * math.sqrt(p * (1 - p) * (1 / repeats + 1 / other_repeats))
    return share - slack, share + slack


def main():
    ours = figures([str(pathlib.Path(sys.argv[1]) / "tests/verdict/verdict_calibration")])
    theirs = figures([sys.executable, str(HERE / "power.py")])
    theirs.update(figures([sys.executable, str(HERE.parent / "stats/few_groups.py"), "--figures"]))
    rows = [
        ("(a) p of one preset unit ≤ .05 under the null", "null_raw", None, (.028, .072)),
        ("(b) any p_adjusted ≤ .05 under the null", "null_adjusted", None, (0, .072)),
        ("(b) any simultaneous interval without 0 under the null", "null_simultaneous", None,
         (0, .072)),
    ]
    for z in ("2.0", "2.8"):
        expected = normal_power(float(z))
        rows.append((f"(c) power of p at {z} standard errors", f"raw_power_{z}", expected,
                     around(expected, ours[f"raw_power_{z}"][1])))
    for verdict, what in (("causal", "*causal*, effect 3δ"), ("no_effect", "*no effect*, effect 0")):
        for error in ("0.25", "0.40", "0.55"):
            name = f"{verdict}_{error}"
            expected, repeats = theirs[name]
            rows.append((f"(c) {what}, standard error {error} δ", name, expected,
                         around(expected, ours[name][1], repeats)))
    for shape in ("normal", "exponential"):
        rows.append((f"(d) coverage of studentised 95 % intervals, {shape}", f"coverage_{shape}", None,
                     (.93, .97)))
    for world, values in (("exponential", "exponential"), ("half-zero", "half of them 0"),
                          ("one-in-six", "one in six carries all")):
        for groups in (12, 40):
            for name, what in (("few", "covered"), ("marked", "marked *few groups*")):
                key = f"{name}_{world}_{groups}"
                expected, repeats = theirs[key]
                rows.append((f"(e) {what}, {groups} groups, {values}", key, expected,
                             around(expected, ours[key][1], repeats)))
            rows.append((f"(e) an end outside the values, {groups} groups, {values}",
                         f"beyond_{world}_{groups}", 0, (0, 0)))
        key = f"together_{world}_40"
        expected, repeats = theirs[key]
        rows.append((f"(e) all of 32 units covered at once, 40 groups, {values}", key, expected,
                     around(expected, ours[key][1], repeats)))
    print("| what | repeats | share | independent figure | must lie in |\n|---|---|---|---|---|")
    missed = 0
    for what, name, expected, (low, high) in rows:
        share, repeats = ours[name]
        inside = low <= share <= high
        missed += not inside
        other = "" if expected is None else f"{expected:.3f}"
        print(f"| {what} | {repeats} | {'' if inside else '**missed** '}{share:.3f} | {other} "
              f"| {max(low, 0):.3f} … {min(high, 1):.3f} |")
    designed = ours["causal_0.40"][0]
    print(f"\nThe 3δ design with a standard error of 0.40 δ is found in {100 * designed:.0f} % of the "
          "cases; 80 % are asked for.")
    return 1 if missed or designed < .8 else 0


if __name__ == "__main__":
    sys.exit(main())
