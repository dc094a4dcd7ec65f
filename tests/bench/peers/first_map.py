"""Another tool's way to the first attention map of a prompt, as a whole process.

    first_map.py hf|tl MODEL_DIR TEXT

hf: transformers, eager attention, no library. tl: TransformerLens' bridge with a cache filter.
"""
import os
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
tool, folder, text = sys.argv[1:4]
if tool == "hf":
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    torch.set_num_threads(1)
    ids = torch.tensor([AutoTokenizer.from_pretrained(folder)(text)["input_ids"]])
    model = AutoModelForCausalLM.from_pretrained(folder, attn_implementation="eager",
                                                 dtype=torch.float32)
    with torch.no_grad():
        maps = model(ids, output_attentions=True, use_cache=False).attentions
    print(len(maps), tuple(maps[0].shape))
else:
    import torch
    from transformer_lens.model_bridge import TransformerBridge
    torch.set_num_threads(1)
    model = TransformerBridge.boot_transformers(folder, device="cpu", dtype=torch.float32)
    ids = model.tokenizer(text, return_tensors="pt")["input_ids"]
    with torch.no_grad():
        _, cache = model.run_with_cache(ids, names_filter=lambda s: s.endswith("hook_pattern"))
    print(len(cache), tuple(cache["blocks.0.attn.hook_pattern"].shape))
