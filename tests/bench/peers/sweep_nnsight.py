"""nnsight's head ablation, all heads of a layer as the invocations of one trace, which it runs as one
batch.

    sweep_nnsight.py heads MODEL_DIR LENGTH CELLS THREADS

Times whole layers of about CELLS cells after one that is not timed, and prints the tool's version,
the number of cells, CPU s and wall s a cell, and CPU s of everything else of the process.
"""
import importlib.metadata
import os
import sys
import time

os.environ.setdefault("HF_HUB_OFFLINE", "1")
folder = sys.argv[2]
length, cells, threads = map(int, sys.argv[3:6])

import tokenizers
import torch
import transformers
from nnsight import LanguageModel

torch.set_num_threads(threads)
torch.set_grad_enabled(False)
hf = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
# The loop runs on ids; nnsight wants a tokenizer all the same.
try:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
except (ImportError, OSError, ValueError):
    words = tokenizers.models.WordLevel({"a": 0}, unk_token="a")
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizers.Tokenizer(words), pad_token="a")
model = LanguageModel(hf, tokenizer=tokenizer)
heads = hf.config.num_attention_heads
layers = hf.config.num_hidden_layers
d_head = hf.config.hidden_size // heads
if hasattr(hf, "transformer"):
    outputs = [block.attn.c_proj for block in model.transformer.h]
else:
    outputs = [block.self_attn.o_proj for block in model.model.layers]
ids = torch.tensor([[(i * 7919 + 13) % hf.config.vocab_size for i in range(length)]])


def run(layer):
    total = 0
    with model.trace() as tracer:
        found = list().save()
        for head in range(heads):
            with tracer.invoke(ids):
                outputs[layer].input[:, :, head * d_head:(head + 1) * d_head] = 0.0
                found.append(model.lm_head.output[0, -1])
    for logits in found:
        total += abs((logits[5] - logits[7]).item())
    return total


chosen = [i * layers // max(1, cells // heads) for i in range(max(1, cells // heads))]
run(0)
cpu, wall = time.process_time(), time.perf_counter()
total = sum(run(layer) for layer in chosen)
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
count = len(chosen) * heads
print(importlib.metadata.version("nnsight"), count, cpu / count, wall / count,
      time.process_time() - cpu, total)
