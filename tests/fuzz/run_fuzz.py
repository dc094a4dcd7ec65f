#!/usr/bin/env python3
"""Run the fuzz targets for a fixed time each and say how many inputs each one took.

    run_fuzz.py --build build/fuzz [--seconds 60] [--jobs 2] [--keep DIR] [TARGET ...]

Exit 1 on a finding; its input is then in BUILD/findings/TARGET, to be fixed and added to corpus/.
With --keep what the fuzzer learns is stored in DIR and taken up again by the next run.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
# Where the words of a target's input stand in the source: they make its dictionary.
WORDS = {
    "config": ["src/checkpoint/families/*.cpp", "src/checkpoint/choose_family.cpp"],
    "safetensors_header": ["src/checkpoint/safetensors_header.cpp", "src/sites/tensor_view.cpp"],
    "tokenizer_json": ["src/tokenizer/*.cpp"],
    "spec_json": ["src/spec/fields.h", "src/spec/choices.cpp"],
    "pairs": ["src/data/pairs.cpp", "src/data/pair_reader.cpp", "src/data/pair_columns.cpp",
              "src/data/answer_encoder.cpp"],
    "prompts": ["src/data/prompt_reader.cpp"],
    "selectors": ["src/sites/site.cpp"],
    "http_request": ["src/serve/*.cpp"],
    "shard_manifest": ["src/storage/output.cpp"],
}
LONGEST = {"tokenizer_json": 4096, "config": 2048, "safetensors_header": 2048}


def dictionary(target, folder):
    words = set()
    for pattern in WORDS.get(target, []):
        for path in SOURCE.glob(pattern):
            words.update(re.findall(r'"([A-Za-z0-9_.\[\]<>#:{}-]{2,40})"', path.read_text()))
    if not words:
        return []
    path = folder / f"{target}.dict"
    path.write_text("".join(f'"{word}"\n' for word in sorted(words)))
    return [f"-dict={path}"]


def run(target, arguments, folder):
    binary = next(arguments.build.rglob(f"fuzz_{target}"))
    findings = arguments.build / "findings" / target
    findings.mkdir(parents=True, exist_ok=True)
    learned = (arguments.keep or folder) / target
    learned.mkdir(parents=True, exist_ok=True)
    command = [binary, f"-max_total_time={arguments.seconds}", "-timeout=10", "-rss_limit_mb=2048",
               "-print_final_stats=1", f"-max_len={LONGEST.get(target, 512)}",
               f"-artifact_prefix={findings}/", *dictionary(target, folder), learned,
               HERE / "corpus" / target]
    begin = time.monotonic()
    # Freed memory is kept back for a while to catch its use; little of it, so that pages stay warm.
    environment = os.environ | {"ASAN_OPTIONS": "quarantine_size_mb=16"}
    process = subprocess.run(command, capture_output=True, check=False, text=True, errors="replace",
                             env=environment)
    seconds = time.monotonic() - begin
    last = {}
    for name in ("number_of_executed_units", "slowest_unit_time_sec", "peak_rss_mb"):
        found = re.search(rf"stat::{name}:\s+(\d+)", process.stderr)
        last[name] = int(found.group(1)) if found else 0
    edges = re.findall(r"cov: (\d+)", process.stderr)
    inputs = last["number_of_executed_units"]
    print(f"{target:20} {inputs:>10} inputs {inputs / seconds:>8.0f}/s  "
          f"{edges[-1] if edges else '?':>5} edges  {last['peak_rss_mb']:>4} MiB  {seconds:.0f} s"
          + ("" if process.returncode == 0 else f"  FINDING, see {findings}"), flush=True)
    if process.returncode != 0:
        sys.stderr.write(process.stderr[-6000:])
    return process.returncode == 0, inputs


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("targets", nargs="*")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    names = sorted(folder.name for folder in (HERE / "corpus").iterdir())
    unknown = set(arguments.targets) - set(names)
    if unknown:
        parser.error(f"no target {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        jobs = [pool.submit(run, name, arguments, pathlib.Path(folder))
                for name in arguments.targets or names]
        results = [job.result() for job in jobs]
    print(f"{sum(n for _, n in results)} inputs in all")
    return 0 if all(ok for ok, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
