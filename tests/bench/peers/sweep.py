"""Another tool's loop over the cells of a sweep: TransformerLens' bridge, one run with a hook a cell,
as its own patching functions do.

    sweep.py heads|residuals|head-positions MODEL_DIR LENGTH CELLS THREADS

Times CELLS random cells after two that are not timed, and prints the tool's version, the number of
cells, CPU s and wall s a cell, and CPU s of everything else of the process. head-positions takes the
first head of every layer.
"""
import importlib.metadata
import os
import random
import sys
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")
what, folder = sys.argv[1:3]
length, cells, threads = map(int, sys.argv[3:6])

import torch
from transformer_lens.model_bridge import TransformerBridge

torch.set_num_threads(threads)
model = TransformerBridge.boot_transformers(folder, device="cpu", dtype=torch.float32)
cfg = model.cfg
ids = torch.tensor([[(i * 7919 + 13) % cfg.d_vocab for i in range(length)]])
other = torch.tensor([[(i * 7919 + 104743) % cfg.d_vocab for i in range(length)]])
site = "hook_resid_pre" if what == "residuals" else "attn.hook_z"


def name(layer):
    return f"blocks.{layer}.{site}"


def run(cell, donor):
    layer, place = cell

    def hook(value, hook=None):
        value = value.clone()
        if what == "heads":
            view = value.view(1, length, cfg.n_heads, -1)
            view[:, :, place] = 0
        elif what == "head-positions":
            view = value.view(1, length, cfg.n_heads, -1)
            view[:, place, 0] = 0
        else:
            value[:, place] = donor[name(layer)][:, place]
        return value

    logits = model.run_with_hooks(ids, fwd_hooks=[(name(layer), hook)])
    return (logits[0, -1, 5] - logits[0, -1, 7]).item()


with torch.no_grad():
    donor = {}
    if what == "residuals":
        _, donor = model.run_with_cache(other, names_filter=lambda s: s.endswith(site))
        donor = {name(l): donor[name(l)] for l in range(cfg.n_layers)}
    places = cfg.n_heads if what == "heads" else length
    everything = [(l, p) for l in range(cfg.n_layers) for p in range(places)]
    chosen = random.Random(1).sample(everything, min(cells, len(everything)))
    for cell in chosen[:2]:
        run(cell, donor)
    cpu, wall = time.process_time(), time.perf_counter()
    total = sum(abs(run(cell, donor)) for cell in chosen)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
print(importlib.metadata.version("transformer-lens"), len(chosen), cpu / len(chosen), wall / len(chosen), time.process_time() - cpu, total)
