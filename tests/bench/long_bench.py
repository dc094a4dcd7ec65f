"""Captures of long prompts, and where a script that holds every map stops; for run_bench.py."""
import os
import pathlib
import resource
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEER = ROOT / "tests" / "bench" / "peers" / "hold_maps.py"
PEER_LIMIT_GIB = 20


def mib(count):
    return f"{count / 2**20:.0f} MiB"


class LongBench:
    """Each row once: they take minutes."""

    def __init__(self, bench):
        self.bench, self.args = bench, bench.args

    def run(self):
        smollm2, window = self.bench.models / "smollm2", self.bench.models / "window"
        if self.args.hf:
            for tokens in (2048, 4096, 8192):
                self.peer(smollm2, tokens)
        for tokens in (2048, 4096, 8192, 32768):
            self.capture("SmolLM2-135M", smollm2, tokens, "--stats-only")
        self.capture("SmolLM2-135M", smollm2, 32768, "--heads", "3.1,7.2")
        for tokens in (8192, 32768):
            self.capture("6 layers, window 1024", window, tokens, "--stats-only")
        self.capture("6 layers, window 1024", window, 32768, "--heads", "2.1")
        self.capture("SmolLM2-135M", smollm2, 131072, "--stats-only", "--layers", "0-2")

    def capture(self, name, model, tokens, *options):
        prompts = pathlib.Path(self.args.prompts) / f"{tokens}.jsonl"
        run = self.bench.capture(model, "long.h5", "--prompts", str(prompts), "--beyond-context",
                                 *options)
        size = os.path.getsize(os.path.join(self.bench.tmp, "long.h5"))
        self.bench.add(f"{name}, {tokens} tokens, `{' '.join(options)}`", f"{run.wall:.0f} s",
                       f"{run.cpu:.0f} s", f"{run.peak:.0f} MiB", mib(size))

    def peer(self, model, tokens):
        prompts = pathlib.Path(self.args.prompts) / f"{tokens}.jsonl"

        def limit():
            bytes_allowed = PEER_LIMIT_GIB << 30
            resource.setrlimit(resource.RLIMIT_DATA, (bytes_allowed, bytes_allowed))

        begin = time.perf_counter()
        process = subprocess.Popen([self.args.hf, str(PEER), str(model), str(prompts)],
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   preexec_fn=limit)
        errors = process.stderr.read().decode(errors="replace")
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - begin
        ended = "nothing stored"
        if process.returncode != 0:
            reason = "out of memory" if "memory" in errors else f"exit {process.returncode}"
            ended = f"stopped: {reason}, limit {PEER_LIMIT_GIB} GiB"
        self.bench.add(f"transformers, eager, `output_attentions`, SmolLM2-135M, {tokens} tokens",
                       f"{wall:.0f} s", f"{usage.ru_utime + usage.ru_stime:.0f} s",
                       f"{usage.ru_maxrss / 1024:.0f} MiB", ended)
