"""The device check: steps in their order, each with a limit of time and a verdict."""
import argparse
import dataclasses
import pathlib
import signal
import sys
import time
import typing

import bench
import builds
import captures
import machine
import parity
import report
from run import ROOT, Context, Failed, Skip, kill

SECONDS = 360


@dataclasses.dataclass
class Step:
    name: str
    limit: float  # seconds of the 360; a longer --seconds stretches it
    work: typing.Callable

    @property
    def what(self):
        return " ".join((self.work.__doc__ or "").split())


# What shows most comes first; the benchmark gets the time that is left.
STEPS = [
    Step("look", 20, builds.look),
    Step("build", 215, builds.build),
    Step("kernels compile", 60, builds.kernels),
    Step("kernels", 30, parity.kernels),
    Step("parity", 60, parity.on_device),
    Step("statistics", 45, parity.statistics),
    Step("capture", 45, captures.on_device),
    Step("dense", 45, captures.against_dense),
    Step("memory", 40, captures.out_of_memory),
    Step("resume", 40, captures.resumed),
    Step("capture on CPU", 40, captures.on_cpu),
    Step("dense on CPU", 40, captures.dense_on_cpu),
    Step("parity on CPU", 60, parity.on_cpu),
    Step("benchmark", SECONDS, bench.measure),
]
# Kept of the time for the benchmark, while the other steps run.
KEPT_FOR_BENCHMARK = 45


def run_step(context, step, scale):
    begin = time.monotonic()
    kept = 0 if step.work is bench.measure else KEPT_FOR_BENCHMARK * scale
    context.step_deadline = min(begin + step.limit * scale, context.deadline - kept)
    entry = {"name": step.name, "what": step.what, "reason": "", "details": {}}
    try:
        if context.seconds_left() <= 0:
            raise Skip("no time left")
        entry["details"] = step.work(context)
        entry["verdict"] = "passed"
    except Skip as reason:
        entry.update(verdict="skipped", reason=str(reason))
    except Failed as reason:
        entry.update(verdict="failed", reason=str(reason))
    except Exception as error:  # a step that breaks must not end the others
        entry.update(verdict="failed", reason=f"{type(error).__name__}: {error}")
    entry["seconds"] = round(time.monotonic() - begin, 1)
    print(f"{step.name:<18} {entry['verdict']:<8} {entry['seconds']:>6.1f} s  {entry['reason']}",
          flush=True)
    return entry


def arguments():
    parser = argparse.ArgumentParser(prog="check.sh", description=__doc__)
    parser.add_argument("--carry", type=pathlib.Path, default=ROOT / "build/gpu/carry",
                        help="folder with the archive of bundle.py (default: build/gpu/carry)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/gpu/result",
                        help="where result.json, result.txt and the logs go")
    parser.add_argument("--torch", default="", help="LibTorch folder (default: python3's torch)")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build/gpu/check",
                        help="where it builds and writes files")
    parser.add_argument("--seconds", type=float, default=SECONDS,
                        help="time for all (default: 360)")
    parser.add_argument("--dry-run", action="store_true", help="print the steps, then stop")
    return parser.parse_args()


def main():
    options = arguments()
    if options.dry_run:
        for step in STEPS:
            print(f"{step.name:<18} {step.limit:>4.0f} s  {step.what}")
        return 0
    begin = time.monotonic()
    for folder in (options.out, options.work):
        folder.mkdir(parents=True, exist_ok=True)
    context = Context(machine.look(options.torch), options.carry.resolve(), options.out.resolve(),
                      options.work.resolve(), begin + options.seconds)
    scale = max(1.0, options.seconds / SECONDS)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        steps = [run_step(context, step, scale) for step in STEPS]
    finally:
        if "kernels process" in context.background:
            kill(context.background["kernels process"])
    result = report.document(context.machine, steps, time.monotonic() - begin)
    report.write(context.out, result)
    print("\n" + report.text(result) + f"\nwritten: {context.out / 'result.json'}")
    return 1 if any(step["verdict"] == "failed" for step in steps) else 0


if __name__ == "__main__":
    sys.exit(main())
