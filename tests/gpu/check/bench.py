"""The benchmark table: what device_times prints."""
import json

import gpt2_size
from run import Failed, finish, started

# Left of the step's time, to end in good order.
SPARE = 8
SHORTEST = 10


def measure(context):
    """The fused pass, the statistics pass, maps, a GPT-2-size model with and without statistics."""
    context.need_gpu()
    program = context.built("tests/gpu/device_times")
    model = gpt2_size.write(context.work / "gpt2-size")
    seconds = max(SHORTEST, context.seconds_left() - SPARE)
    rows = []
    with started(program, "--model", model, "--seconds", f"{seconds:.0f}") as process:
        # What was measured before time is up counts.
        try:
            done = finish(process, context.seconds_left(), context.out / "times.jsonl")
        except Failed as error:
            rows = read_rows((context.out / "times.jsonl").read_text())
            if not rows:
                raise
            return {"rows": rows, "cut": str(error)}
    rows = read_rows(done.out)
    if done.code != 0 or not rows:
        raise Failed(f"ended with {done.code}: {done.last_lines()}")
    return {"rows": rows}


def read_rows(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{") and
            line.endswith("}")]


def megabytes(n_bytes):
    return f"{n_bytes / 1e6:.0f}"


def tables(rows):
    """Text of the two tables."""
    lines = ["", "Attention of one causal layer. fused: LibTorch's pass alone; statistics: every "
             "statistic and top-8 from q, k and",
             "the log-sum-exp; ratio: the second over the first; + map: with the tiles of one "
             "head's map; TFLOP/s count causal",
             "products; MB: device memory beyond q, k, v; CPU: cpu_tiled, forward and all "
             "statistics, float32.", "",
             f"{'n':>6} {'heads':>7} {'type':>5} {'fused ms':>9} {'TFLOP/s':>8} "
             f"{'statistics ms':>14} {'TFLOP/s':>8} {'ratio':>6} {'+ map ms':>9} {'fused MB':>9} "
             f"{'stat. MB':>9} {'CPU ms':>9}"]
    for row in rows:
        if row["kind"] != "layer":
            continue
        cpu = f"{row['cpu_tiled_ms']:.0f}" if "cpu_tiled_ms" in row else ""
        heads = f"{row['heads']}x{row['d_head']}"
        lines.append(f"{row['n']:>6} {heads:>7} {row['dtype']:>5} {row['fused_ms']:>9.3f} "
                     f"{row['fused_tflops']:>8.1f} {row['statistics_ms']:>14.3f} "
                     f"{row['statistics_tflops']:>8.1f} {row['ratio']:>6.2f} "
                     f"{row['one_map_ms']:>9.3f} {megabytes(row['fused_peak_bytes']):>9} "
                     f"{megabytes(row['statistics_bytes']):>9} {cpu:>9}")
    lines += ["", "A forward pass of a GPT-2-size model, with all statistics on the host, over one "
              "without any.", "",
              f"{'n':>6} {'type':>5} {'without ms':>11} {'with ms':>9} {'ratio':>6} "
              f"{'peak MB':>8} {'with':>6}  engines"]
    for row in rows:
        if row["kind"] == "model":
            lines.append(f"{row['n']:>6} {row['dtype']:>5} {row['without_ms']:>11.2f} "
                         f"{row['with_ms']:>9.2f} {row['ratio']:>6.2f} "
                         f"{megabytes(row['without_peak_bytes']):>8} "
                         f"{megabytes(row['with_peak_bytes']):>6}  {', '.join(row['engines'])}")
    return lines
