"""Attention engines against LibTorch's, and whole captures against other tools; for run_bench.py."""
import os
import pathlib
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "tests" / "bench" / "peers"
TOKENS = 1024


def id_list(count):
    return ",".join(str((i * 7919 + 13) % 40000 + 5) for i in range(count))


class EngineBench:
    def __init__(self, bench, run):
        self.bench, self.args, self.process = bench, bench.args, run

    def run(self):
        for isa in ("default", "avx2"):
            self.inside(isa)
        folder = self.bench.models
        if folder is None:
            return
        if (folder / "gpt2-size").exists():
            self.inside("default", folder / "gpt2-size")
        self.whole_process(folder / "smollm2")

    def inside(self, isa, model=None):
        """What needs one process: kernels against each other, or a captured forward pass."""
        program = pathlib.Path(self.args.build) / "tests" / "bench" / "engines"
        env = {**os.environ, **({} if isa == "default" else {"ATEN_CPU_CAPABILITY": isa})}
        command = [str(program)] + (["--model", str(model)] if model else [])
        output = subprocess.run(command, check=True, capture_output=True, text=True, env=env).stdout
        for line in output.splitlines():
            what, *rest = line.split("\t")
            self.bench.add(f"{what} [{isa}]", *rest)

    def whole_process(self, model):
        """All maps of one prompt to HDF5 on all cores, and what the statistics of the maps cost."""
        ids = id_list(TOKENS)
        maps = os.path.join(self.bench.tmp, "peer.h5")

        def ours():
            return self.bench.capture(model, "maps.h5", "--ids", ids, "--hooks", "pattern")

        if not self.args.hf:
            run = ours()
            self.bench.add(f"all maps to HDF5, SmolLM2-135M, n = {TOKENS}, wall s",
                           f"{run.wall:.2f}", "", "", "report")
            return
        threads = {"BENCH_THREADS": str(os.cpu_count())}
        runs = self.bench.pair(ours, [lambda: self.process(
            [self.args.hf, str(PEERS / "dump_maps.py"), str(model), ids, maps], threads)])
        label = f"all maps to HDF5, SmolLM2-135M, n = {TOKENS}, {os.cpu_count()} cores"
        figures = [[statistics.median(getattr(r, key) for r in samples) for samples in runs]
                   for key in ("wall", "cpu", "peak")]
        (wall, their_wall), (cpu, their_cpu), (peak, their_peak) = figures
        rival = "against transformers eager + h5py gzip-4"
        self.bench.add(f"{label}, wall s, {rival}", f"{wall:.2f}", f"{their_wall:.2f}",
                       f"{their_wall / wall:.1f} x", ">= 5 x")
        self.bench.add(f"{label}, CPU s, {rival}", f"{cpu:.2f}", f"{their_cpu:.2f}",
                       f"{their_cpu / cpu:.1f} x", ">= 4 x")
        self.bench.add(f"{label}, peak MiB, {rival}", f"{peak:.0f}", f"{their_peak:.0f}",
                       f"{peak / their_peak:.2f}", "<= 0.4")
        self.added_time(model, maps)

    def added_time(self, model, maps):
        program = pathlib.Path(self.args.build) / "tests" / "bench" / "engines"
        ours = float(subprocess.run([str(program), "--added", str(model), str(TOKENS)], check=True,
                                    capture_output=True, text=True).stdout)
        theirs = float(subprocess.run([self.args.hf, str(PEERS / "numpy_statistics.py"), maps],
                                      check=True, capture_output=True, text=True,
                                      env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}).stdout)
        self.bench.add(f"time that all statistics and top-8 add to a forward pass, SmolLM2-135M, "
                       f"n = {TOKENS}, s, against numpy on the dumped maps", f"{ours:.3f}",
                       f"{theirs:.2f}", f"{theirs / ours:.0f} x", ">= 10 x")
