#!/usr/bin/env python3
"""Measure the ratios that the README states, each against its rival in one run, and write a table.

    run_bench.py --build build/release [--sweeps | --engines | --long] [--models DIR] [--hf PYTHON] [--tl PYTHON]
                 [--nnsight PYTHON] [--runs 5] [-o FILE]

--sweeps  only the experiments' sweeps (SWEEPS.md; else RESULTS.md has all the rest); each once
--engines only attention engines (ENGINES.md)
--long    only captures of long prompts (LONG.md), each once; takes --prompts, a folder with
          2048.jsonl to 131072.jsonl, one prompt {"ids": […]} of as many tokens each
--models  a folder with smollm2/ (else ATTNSCOPE_MODELS); without it only the small model is timed;
          sweeps and engines also take gpt2-size/, a GPT-2 of 12 layers of 12 heads with random
          weights, and --long takes window/, a Mistral of 6 layers of 8 heads with a window of 1,024
--hf      a Python with torch, transformers and h5py      (else the rows against it are left out)
--tl      a Python with torch and transformer-lens 4
--nnsight a Python with torch and nnsight
Every rival pair is run alternately, so that a change in the machine's speed meets both, and each
timed run follows an untimed one of the same command. A figure is the median; CPU seconds are user + system of the whole process.
"""
import argparse
import json
import os
import pathlib
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time

from engines_bench import EngineBench
from long_bench import LongBench
from sweep_bench import SweepBench

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "tests" / "bench" / "peers"
TEXT = "When Mary and John went to the store, John gave a drink to the old man"


class Run:
    """One process: wall and CPU seconds, peak memory in MiB."""

    def __init__(self, command, env=None):
        begin = time.perf_counter()
        process = subprocess.Popen(command, env={**os.environ, **(env or {})},
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.wall = time.perf_counter() - begin
        self.cpu = usage.ru_utime + usage.ru_stime
        self.peak = usage.ru_maxrss / 1024
        if process.returncode != 0:
            sys.exit(f"{' '.join(map(str, command))}\n{output.decode(errors='replace')}")


class Bench:
    def __init__(self, args):
        self.args = args
        self.attnscope = str(pathlib.Path(args.build) / "bin" / "attnscope")
        self.rows = []
        self.tmp = tempfile.mkdtemp(prefix="attnscope-bench-")

    def pair(self, ours, theirs):
        """Alternating runs of several commands; each a callable that returns a Run."""
        runs = [[] for _ in (ours, *theirs)]
        for _ in range(self.args.runs):
            for samples, command in zip(runs, (ours, *theirs)):
                # Untimed: memory that a larger process just gave back is dear to get again, and
                # who comes after whom must not matter.
                command()
                samples.append(command())
        return runs

    def add(self, what, ours, rival, ratio, bar):
        self.rows.append((what, ours, rival, ratio, bar))
        print(f"{what}: {ours} | {rival} | {ratio} | bar {bar}", flush=True)

    def process(self, words):
        return Run([self.attnscope, *words])

    def capture(self, model, out, *options, env=None):
        path = os.path.join(self.tmp, out)
        return Run([self.attnscope, "capture", "-m", str(model), "-o", path, "--force", "--quiet",
                    *options], env)

    def first_map(self, name, model, bars):
        def ours():
            return self.capture(model, "first.h5", "--prompt", TEXT, "--hooks", "pattern",
                                "--threads", "1")

        def cold():
            return self.capture(model, "first.h5", "--prompt", TEXT, "--hooks", "pattern",
                                "--threads", "1",
                                env={"ATTNSCOPE_CACHE": tempfile.mkdtemp(dir=self.tmp)})

        ours()
        rivals = [(tool, python) for tool, python in (("hf", self.args.hf), ("tl", self.args.tl))
                  if python and tool in bars]
        runs = self.pair(ours, [cold] + [
            lambda t=tool, p=python: Run([p, str(PEERS / "first_map.py"), t, str(model), TEXT])
            for tool, python in rivals])
        cpu = [statistics.median(r.cpu for r in samples) for samples in runs]
        label = f"first map, {name}, CPU s of the whole process"
        self.add(label + ", weight hash cold", f"{cpu[1]:.2f}", "", "", "report")
        for (tool, _), seconds in zip(rivals, cpu[2:]):
            long = {"hf": "plain transformers script", "tl": "TransformerLens 4"}[tool]
            self.add(f"{label} against {long}", f"{cpu[0]:.2f}", f"{seconds:.2f}",
                     f"{seconds / cpu[0]:.1f} x", bars[tool])
        if not rivals:
            self.add(label, f"{cpu[0]:.2f}", "", "", "report")

    def all_maps(self, model):
        ids = ",".join(str((i * 7919 + 13) % 40000 + 5) for i in range(512))
        ours_file, theirs_file = (os.path.join(self.tmp, f) for f in ("maps.h5", "peer.h5"))

        def ours():
            return self.capture(model, "maps.h5", "--ids", ids, "--hooks", "pattern", "--threads",
                                "1")

        def plain():
            return self.capture(model, "stats.h5", "--ids", ids, "--stats-only", "--threads", "1")

        commands = [plain]
        if self.args.hf:
            commands.append(lambda: Run([self.args.hf, str(PEERS / "dump_maps.py"), str(model), ids,
                                         theirs_file]))
        runs = self.pair(ours, commands)
        wall = [statistics.median(r.wall for r in samples) for samples in runs]
        peak = statistics.median(r.peak for r in runs[0])
        weights = sum(f.stat().st_size for f in pathlib.Path(model).glob("*.safetensors")) / 2**20
        self.add("peak memory, all maps at n = 512, MiB over the weights", f"{peak - weights:.0f}",
                 f"weights {weights:.0f}", "", "<= 300")
        self.add("all maps against statistics only, n = 512, wall s, whole process",
                 f"{wall[0]:.2f}", f"{wall[1]:.2f}", f"{wall[0] / wall[1]:.2f}", "report")
        if self.args.hf:
            import h5py
            with h5py.File(ours_file) as f:
                stored = sum(f[f"prompts/p000000/cache/{k}"].id.get_storage_size()
                             for k in f["prompts/p000000/cache"])
            theirs = os.path.getsize(theirs_file)
            self.add("all maps to HDF5, n = 512, wall s, against transformers eager + h5py gzip-4",
                     f"{wall[0]:.2f}", f"{wall[2]:.2f}", f"{wall[2] / wall[0]:.1f} x", ">= 3 x")
            self.add("map datasets, MB, against that file", f"{stored / 1e6:.1f}",
                     f"{theirs / 1e6:.1f}", f"{stored / theirs:.2f}", "<= 0.6")
            whole = os.path.getsize(ours_file)
            self.add("whole file, MB, against that file", f"{whole / 1e6:.1f}",
                     f"{theirs / 1e6:.1f}", f"{whole / theirs:.2f}", "<= 0.7")

    def start_up(self, model):
        for name, command in (("--help", ["--help"]), ("inspect, 500 MB model",
                                                       ["inspect", str(model)])):
            runs = [Run([self.attnscope, *command]) for _ in range(self.args.runs)]
            self.add(f"{name}, wall s", f"{statistics.median(r.wall for r in runs):.3f}", "", "",
                     "< 0.2")

    def inside(self):
        """The ratios that need a process of their own inside: codec, caching, capture on and off."""
        program = pathlib.Path(self.args.build) / "tests" / "bench" / "ratios"
        if not program.exists():
            return
        command = [str(program)] + ([str(self.models / "smollm2")] if self.models else [])
        for line in subprocess.run(command, check=True, capture_output=True, text=True
                                   ).stdout.splitlines():
            self.add(*line.split("\t"))

    def write(self):
        commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT,
                                capture_output=True, text=True).stdout.strip()
        flags = next((line for line in open("/proc/cpuinfo") if line.startswith("flags")), "")
        isa = next((i for i in ("avx512f", "avx2", "sse4_2") if i in flags), platform.machine())
        title, option, how = {
            "SWEEPS.md": ("sweeps", " --sweeps", "One run each"),
            "ENGINES.md": ("attention engines", " --engines",
                           "Best of alternating rounds in one process; medians of "
                           f"{self.args.runs} alternating runs of whole processes"),
            "LONG.md": ("captures of long prompts", " --long", "One run each, two compute threads"),
            None: ("ratios", "", f"Medians of {self.args.runs} alternating runs"),
        }[self.args.table]
        lines = [f"# Measured {title}", "",
                 f"`./run bench{option}` writes this table. {how}; commit {commit}, {isa}, {os.cpu_count()} cores, "
                 "one compute thread unless said. A ratio below 1.3 means nothing on a shared "
                 "machine.", "",
                 self.args.head, "|---|---|---|---|---|"]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        pathlib.Path(self.args.out).write_text("\n".join(lines) + "\n")
        print(f"wrote {self.args.out}")

    @property
    def models(self):
        folder = self.args.models or os.environ.get("ATTNSCOPE_MODELS")
        return pathlib.Path(folder) if folder else None


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=str(ROOT / "build" / "release"))
    parser.add_argument("--models")
    parser.add_argument("--hf")
    parser.add_argument("--tl")
    parser.add_argument("--nnsight")
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--sweeps", action="store_const", const="SWEEPS.md", dest="table")
    only.add_argument("--engines", action="store_const", const="ENGINES.md", dest="table")
    only.add_argument("--long", action="store_const", const="LONG.md", dest="table")
    parser.add_argument("--prompts")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("-o", "--out")
    args = parser.parse_args()
    if not args.out:
        args.out = str(ROOT / "tests" / "bench" / (args.table or "RESULTS.md"))
    args.head = "| what | attnscope | rival | ratio | bar |"
    if args.table == "LONG.md":
        args.head = "| what | wall | CPU | peak memory | file |"
    bench = Bench(args)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if args.table:
        only = {"SWEEPS.md": lambda: SweepBench(bench), "LONG.md": lambda: LongBench(bench),
                "ENGINES.md": lambda: EngineBench(bench, Run)}
        only[args.table]().run()
        bench.write()
        return
    tiny = ROOT / "tests" / "fixtures" / "models" / "tiny-random-gpt2"
    bench.first_map("tiny model", tiny, {"tl": ">= 9 x"})
    if bench.models:
        smollm2 = bench.models / "smollm2"
        bench.first_map("SmolLM2-135M", smollm2, {"hf": ">= 6 x", "tl": ">= 7 x"})
        bench.all_maps(smollm2)
        bench.start_up(smollm2)
    bench.inside()
    bench.write()


if __name__ == "__main__":
    main()
