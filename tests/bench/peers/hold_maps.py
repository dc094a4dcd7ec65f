"""All attention maps of one prompt in memory the usual way: transformers eager; nothing is stored.

    hold_maps.py MODEL_DIR PROMPTS.jsonl
"""
import json
import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
import torch
from transformers import AutoModelForCausalLM

folder, prompts = sys.argv[1:3]
with open(prompts) as lines:
    ids = torch.tensor([json.loads(lines.readline())["ids"]])
torch.set_num_threads(os.cpu_count())
model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager",
                                             dtype=torch.float32)
with torch.no_grad():
    maps = model(ids, output_attentions=True, use_cache=False).attentions
print(len(maps), tuple(maps[0].shape))
