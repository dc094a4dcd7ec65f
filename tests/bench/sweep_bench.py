"""The experiments' sweeps against their operations, the naive loop and other tools; for run_bench.py."""
import json
import os
import pathlib
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEERS = ROOT / "tests" / "bench" / "peers"
TOKENS = 64
# Cells that another tool is timed on; the cost of a cell does not depend on which.
PEER_CELLS = {"heads": 100, "residuals": 200, "head-positions": 200}
LABELS = {"heads": "head ablation", "residuals": "residual patching",
          "head-positions": "head × position ablation (one head a layer)"}


def token_ids(offset):
    return [(i * 7919 + offset) % 40000 for i in range(TOKENS)]


class SweepModel:
    """A model folder with its bars against TransformerLens."""

    def __init__(self, name, folder, bars):
        self.name, self.folder, self.bars = name, folder, bars
        config = json.loads((pathlib.Path(folder) / "config.json").read_text())
        self.layers = config.get("num_hidden_layers", config.get("n_layer"))
        self.heads = config.get("num_attention_heads", config.get("n_head"))

    def cells(self, what):
        return self.layers * (self.heads if what == "heads" else TOKENS)


class PeerLoop:
    """Another tool's loop over some cells of a sweep: seconds a cell, and of all else it does."""

    def __init__(self, python, script, what, model, threads, isa=None):
        cells = min(PEER_CELLS[what], model.cells(what))
        env = {**os.environ, **({"ATEN_CPU_CAPABILITY": isa} if isa else {})}
        begin = time.perf_counter()
        words = subprocess.run(
            [python, str(PEERS / script), what, str(model.folder), str(TOKENS), str(cells),
             str(threads)], check=True, capture_output=True, text=True, env=env).stdout.split()
        self.version, self.cells = words[0], int(words[1])
        self.cpu, self.wall, self.rest_cpu = (float(word) for word in words[2:5])
        self.rest_wall = time.perf_counter() - begin - self.wall * self.cells


class SweepBench:
    def __init__(self, bench):
        self.bench, self.args, self.tmp = bench, bench.args, pathlib.Path(bench.tmp)

    def run(self):
        self.demo()
        folder = self.bench.models
        if folder is None:
            return
        models = [
            SweepModel("SmolLM2-135M", folder / "smollm2",
                       {"heads": ">= 3.6 x", "residuals": ">= 6.5 x", "head-positions": ">= 6.5 x",
                        "wall": ">= 4.5 x"})]
        if (folder / "gpt2-size").exists():
            models.append(SweepModel("12 x 12, d 768, random weights", folder / "gpt2-size",
                                     {"heads": ">= 4.5 x", "residuals": ">= 8 x",
                                      "head-positions": ">= 8 x", "wall": "report"}))
        for model in models:
            for what in LABELS:
                self.in_process(model, what)
            self.wall(model)
        for model in models:
            for what in ("heads", "residuals"):
                self.limits(model, what, 2 * TOKENS)
                self.in_process(model, what, isa="avx2")

    def limits(self, model, what, length, isa=None):
        """The rows that the program `sweeps` prints: its own cost, and the naive loop's."""
        program = pathlib.Path(self.args.build) / "tests" / "bench" / "sweeps"
        env = {**os.environ, **({"ATEN_CPU_CAPABILITY": isa} if isa else {})}
        rows = [line.split("\t") for line in subprocess.run(
            [str(program), what, str(length), model.name, str(model.folder)], check=True,
            capture_output=True, text=True, env=env).stdout.splitlines()]
        for row in rows:
            self.bench.add(row[0] + (f", {isa}" if isa else ""), *row[1:])
        return float(rows[0][1])

    def in_process(self, model, what, isa=None):
        """One thread, CPU s: against the limit, the naive loop and other tools' loops."""
        ours = self.limits(model, what, TOKENS, isa)
        cells = model.cells(what)
        label = f"{model.name}, {LABELS[what]}, n = {TOKENS}" + (f", {isa}" if isa else "")
        if self.args.tl:
            peer = PeerLoop(self.args.tl, "sweep.py", what, model, 1, isa)
            self.against(f"{label}, CPU s of {cells} cells, against TransformerLens {peer.version} "
                         f"({peer.cells} random cells, extrapolated)", ours, peer.cpu * cells,
                         model.bars[what])
            if isa is None and what != "head-positions":
                whole = self.whole_process(model, what, 1)
                self.against(f"{label}, whole process, CPU s, against TransformerLens "
                             f"{peer.version} ({peer.cells} random cells, extrapolated)", whole.cpu,
                             peer.rest_cpu + peer.cpu * cells, "report")
        if self.args.nnsight and what == "heads" and isa is None:
            peer = PeerLoop(self.args.nnsight, "sweep_nnsight.py", what, model, 1)
            self.against(f"{label}, CPU s of {cells} cells, against nnsight {peer.version}, a "
                         f"layer's heads as one batch ({peer.cells} cells, extrapolated)", ours,
                         peer.cpu * cells, ">= 2.4 x")

    def against(self, label, ours, theirs, bar):
        self.bench.add(label, f"{ours:.1f}", f"{theirs:.1f}", f"{theirs / ours:.1f} x", bar)

    def whole_process(self, model, what, threads):
        pairs = self.tmp / "sweep.jsonl"
        pairs.write_text(json.dumps({"clean_ids": token_ids(13), "corrupt_ids": token_ids(104743),
                                     "answer_id": 5, "wrong_id": 7}) + "\n")
        verb = ["ablate"] if what == "heads" else ["patch", "--site", "resid_pre"]
        return self.bench.process([*verb, "-m", str(model.folder), "--pairs", str(pairs),
                                   "--threads", str(threads), "--verify", "0", "--json"])

    def wall(self, model):
        """Head ablation as whole processes on all cores, wall s."""
        cores = os.cpu_count()
        run = self.whole_process(model, "heads", cores)
        label = (f"{model.name}, head ablation, n = {TOKENS}, whole process, wall s on {cores} "
                 "cores")
        if not self.args.tl:
            self.bench.add(label, f"{run.wall:.1f}", "", "", "report")
            return
        peer = PeerLoop(self.args.tl, "sweep.py", "heads", model, cores)
        self.against(f"{label}, against TransformerLens {peer.version} ({peer.cells} random cells, "
                     "extrapolated)", run.wall, peer.rest_wall + peer.wall * model.cells("heads"),
                     model.bars["wall"])

    def demo(self):
        """All heads of the demo's model, three methods, 1,000 prompts."""
        demo = ROOT / "probes" / "demo"
        pairs = self.tmp / "thousand.jsonl"
        lines = [line for task in sorted((demo / "pairs").glob("*.jsonl"))
                 for line in task.read_text().splitlines()]
        pairs.write_text("\n".join((lines * 2)[:1000]) + "\n")
        run = self.bench.process(["ablate", "-m", str(demo / "tiny-english"), "--pairs", str(pairs),
                                  "--method", "zero,mean,resample", "--skip-misaligned", "--json"])
        self.bench.add("demo model, all heads, 3 methods, 1,000 prompts, wall s on all cores",
                       f"{run.wall:.1f}", "", "", "< 120")
