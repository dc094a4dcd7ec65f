"""Steps that run the command: captures to HDF5, again, against dense, out of memory, resumed."""
import contextlib
import hashlib
import json
import math
import random
import shutil
import sys
import time

import gpt2_size
from run import FIXTURES, Failed, Skip, started

SMALL = FIXTURES / "models/tiny-random-gpt2"
STATISTICS = ["entropy", "max", "self", "distance", "effective_keys", "norm_weighted",
              "learned_sink", "entropy_norm", "sink", "previous", "next", "duplicate", "induction"]
# Largest |difference| of two float32 runs, each of which may be off by 1e-5 (maps) from the true one:
# maps, heads' outputs, and statistics as a part of max(1, |x|).
MAP_TOLERANCE, OUTPUT_TOLERANCE, STATISTICS_TOLERANCE = 2e-5, 1e-4, 5e-5


def write_prompts(path, count, length, vocabulary):
    """Token ids in which some tokens come back, so that duplicate and induction mass exist."""
    source = random.Random(length)
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(count):
            half = [source.randrange(3, vocabulary) for _ in range((length + 1) // 2)]
            file.write(json.dumps({"ids": (half + half)[:length]}) + "\n")
    return path


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def capture_twice(context, device, dtype, options):
    paths = [context.work / f"{device}-{dtype}-{i}.h5" for i in (1, 2)]
    told = [context.capture(path, SMALL, device, "--dtype", dtype, "--force", *options)
            for path in paths]
    if digest(paths[0]) != digest(paths[1]):
        raise Failed(f"two runs in {dtype} on {device} gave different files")
    context.verify(paths[0])
    return {"engine": told[0]["engine"], "reason": told[0]["engine_reason"], "bytes": paths[0].stat().st_size,
            "sha256": digest(paths[0])}


def same_bytes(context, device):
    prompts = write_prompts(context.work / "prompts.jsonl", 6, 400, 1000)
    options = ["--prompts", prompts, "--hooks", "pattern,z,resid_post"]
    return {dtype: capture_twice(context, device, dtype, options)
            for dtype in ("f32", "bf16", "f16")}


def on_cpu(context):
    """Captures to HDF5 on the CPU, verified; run again, the file has the same bytes."""
    return same_bytes(context, "cpu")


def on_device(context):
    """The same on the GPU: maps, outputs and statistics to HDF5, verified, the same bytes again."""
    context.need_gpu()
    return same_bytes(context, "cuda")


def head_statistics(context, path):
    values = {}
    for name in STATISTICS:
        done = context.run(context.attnscope, "stats", path, "--sort", name, "--json")
        if done.code != 0:
            raise Failed(f"stats of {path.name} ended with {done.code}: {done.err.strip()}")
        values[name] = json.loads(done.out)["values"]
    return values


def largest_part(a, b):
    """The largest |a − b| as a part of max(1, |b|); infinite where only one is missing."""
    if isinstance(a, list):
        if not isinstance(b, list) or len(a) != len(b):
            return math.inf
        return max(map(largest_part, a, b), default=0.0)
    if a is None or b is None:
        return 0.0 if a == b else math.inf
    return abs(a - b) / max(1.0, abs(b))


def compare_with_reference(context, model, length, vocabulary, device):
    """Statistics and tiles of `device` against explicit maps on the CPU, both in float32."""
    prompts = write_prompts(context.work / "dense.jsonl", 3, length, vocabulary)
    options = ["--prompts", prompts, "--hooks", "pattern,z", "--dtype", "f32", "--map-dtype", "f32",
               "--force"]
    dense, ours = context.work / "dense.h5", context.work / "device.h5"
    context.capture(dense, model, "cpu", "--engine", "reference", *options)
    told = context.capture(ours, model, device, *options)
    done = context.run(context.attnscope, "diff", dense, ours, "--json")
    if done.code != 0:
        raise Failed(f"diff ended with {done.code}: {done.err.strip()}")
    report = json.loads(done.out)
    if report["only_a"] or report["only_b"] or report["other_shape"] or not report["changes"]:
        raise Failed(f"{model.name}: the files do not hold the same sites")
    largest = {"pattern": 0.0, "z": 0.0}
    for change in report["changes"]:
        if change["undefined"]:
            raise Failed(f"{model.name}: {change['site']} is NaN in one of the two")
        kind = "pattern" if change["site"].endswith("pattern") else "z"
        largest[kind] = max(largest[kind], change["largest"])
    mine, theirs = head_statistics(context, ours), head_statistics(context, dense)
    statistics = {name: largest_part(mine[name], theirs[name]) for name in STATISTICS}
    largest["statistics"] = max(statistics.values())
    for kind, allowed in (("pattern", MAP_TOLERANCE), ("z", OUTPUT_TOLERANCE),
                          ("statistics", STATISTICS_TOLERANCE)):
        if not largest[kind] <= allowed:
            worst = max(statistics, key=statistics.get) if kind == "statistics" else kind
            raise Failed(f"{model.name}: {worst} differs by {largest[kind]:.1e}, allowed "
                         f"{allowed:.0e}")
    return {**largest, "engine": told["engine"], "reason": told["engine_reason"]}


def all_against_dense(context, device):
    models = [(SMALL, 500, 1000), (FIXTURES / "models/stories260k/hf", 500, 512),
              (FIXTURES / "families/gemma2", 60, 263), (FIXTURES / "families/mistral", 60, 269),
              (FIXTURES / "families/bert", 60, 271)]
    return {str(model.relative_to(FIXTURES)): compare_with_reference(context, model, length,
                                                                    vocabulary, device)
            for model, length, vocabulary in models}


def against_dense(context):
    """Captured statistics and tiles of the GPU against explicit maps on the CPU, float32."""
    context.need_gpu()
    return all_against_dense(context, "cuda")


def dense_on_cpu(context):
    """Captured statistics and tiles of the CPU's fastest engine against explicit maps, float32."""
    return all_against_dense(context, "cpu")


# A process that takes the device's memory but for what is named, says so, and waits.
HOLD = """
import signal, sys, torch
free, _ = torch.cuda.mem_get_info()
held = torch.empty(max(1, free - int(sys.argv[1])), dtype=torch.uint8, device="cuda")
print("held", flush=True)
signal.pause()
"""


def expect_out_of_memory(context, what, options, env):
    path = context.work / "too-large.h5"
    path.unlink(missing_ok=True)
    model = gpt2_size.write(context.work / "gpt2-size")
    done = context.run(context.attnscope, "capture", "-m", model, "-o", path, "--device", "cuda",
                       "--quiet", *options, env=env)
    lines = done.err.strip().split("\n")
    if done.code != 4 or len(lines) != 1 or not lines[0].startswith("attnscope: error ["):
        raise Failed(f"{what}: expected exit 4 and one line, got {done.code}: {done.last_lines()}")
    if path.exists():
        raise Failed(f"{what}: a file was left behind")
    return lines[0]


@contextlib.contextmanager
def memory_held_but(context, left):
    with started(sys.executable, "-c", HOLD, left) as process:
        if process.stdout.readline().strip() != "held":
            raise Skip("no Python with torch that could fill the device's memory")
        yield


def out_of_memory(context):
    """Weights, and a batch, that do not fit into the device's memory: exit 4 and one line."""
    context.need_gpu()
    total = context.machine.gpu.memory_bytes
    prompts = write_prompts(context.work / "large.jsonl", 64, gpt2_size.CONTEXT, 50000)

    def limit(n_bytes):
        return {"PYTORCH_CUDA_ALLOC_CONF": f"per_process_memory_fraction:{n_bytes / total:.8f}"}

    batch = ["--prompts", prompts, "--batch", "64", "--stats-only"]
    said = {"weights": expect_out_of_memory(context, "weights", ["--ids", "5,17,3"],
                                            limit(gpt2_size.BYTES // 2)),
            "batch": expect_out_of_memory(context, "batch", batch,
                                          limit(gpt2_size.BYTES + (200 << 20)))}
    with memory_held_but(context, gpt2_size.BYTES + (900 << 20)):
        said["memory of others"] = expect_out_of_memory(context, "memory of others", batch, {})
    return said


def parts_of(path):
    return path.with_name(path.name + ".parts")


def interrupt(context, path, command):
    """Kills a capture when its first shard is there; says how many were."""
    with started(*command) as process:
        while context.seconds_left() > 0:
            shards = len(list(parts_of(path).glob("*.h5")))
            if shards:
                return shards
            if process.poll() is not None:
                raise Failed(f"the capture ended with {process.returncode} before it could be "
                             "killed: " + process.communicate()[1].strip())
            time.sleep(0.002)
    raise Failed("no shard was written in time")


def kill_and_resume(context, device, n_prompts):
    """A prompt is 0.21 TFLOP, a shard holds at most 2."""
    model = gpt2_size.write(context.work / "gpt2-size")
    prompts = write_prompts(context.work / "many.jsonl", n_prompts, gpt2_size.CONTEXT, 50000)
    options = ["--prompts", prompts, "--stats-only"]
    whole, broken = context.work / "whole.h5", context.work / "broken.h5"
    for file in (broken, broken.with_suffix(".json")):
        file.unlink(missing_ok=True)
    shutil.rmtree(parts_of(broken), ignore_errors=True)
    context.capture(whole, model, device, "--force", *options)
    shards = interrupt(context, broken, [context.attnscope, "capture", "-m", model, "-o", broken,
                                         "--quiet", "--device", device, *options])
    told = context.capture(broken, model, device, "--resume", *options)
    context.verify(broken)
    if told["shards_kept"] < 1:
        raise Failed("--resume did all the work again")
    if digest(whole) != digest(broken):
        raise Failed("the resumed file differs from the unbroken one")
    return {"shards": told["shards"], "there when killed": shards, "kept": told["shards_kept"],
            "engine": told["engine"], "bytes": whole.stat().st_size}


def resumed(context):
    """A capture of many prompts, killed in its middle and resumed: the bytes of an unbroken one."""
    context.need_gpu()
    return kill_and_resume(context, "cuda", 64)
