"""All attention maps of one prompt to HDF5 the usual way: transformers eager + h5py, shuffle, gzip 4.

    dump_maps.py MODEL_DIR IDS OUT.h5
"""
import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import h5py
import torch
from transformers import AutoModelForCausalLM

folder, ids, out = sys.argv[1:4]
torch.set_num_threads(int(os.environ.get("BENCH_THREADS", "1")))
ids = torch.tensor([[int(i) for i in ids.split(",")]])
model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager",
                                             dtype=torch.float32)
with torch.no_grad():
    maps = model(ids, output_attentions=True, use_cache=False).attentions
n, heads = ids.shape[1], maps[0].shape[1]
with h5py.File(out, "w") as f:
    data = f.create_dataset("attention", (len(maps), heads, n, n), "f4", chunks=(1, 1, n, n),
                            compression="gzip", compression_opts=4, shuffle=True)
    for layer, pattern in enumerate(maps):
        data[layer] = pattern[0].numpy()
