#!/usr/bin/env python3
"""Write low_precision.json: how far Hugging Face's own bfloat16 and float16 runs are from float64.

    make_low_precision.py [MODELS MATERIAL]

For each family of tests/fixtures/families the model is run by transformers in each number type, with
eager and with fused (sdpa) attention, on the sequences of oracle.npz; the output of the last layer
and the logits are compared with the float64 arrays there. Of |difference| the root mean square and
the largest are kept, over all sequences. MODELS and MATERIAL, the folders that ATTNSCOPE_MODELS and
ATTNSCOPE_MATERIAL name, add the real models; without them their figures stay as they are.
Needs: pip install torch==2.13.0 transformers==4.57.6 numpy safetensors
"""
import json
import os
import pathlib
import sys

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
FAMILIES = HERE.parent / "fixtures" / "families"
REAL_MODELS = ("minilm", "smollm2")
DTYPES = {"bf16": torch.bfloat16, "f16": torch.float16}
# Where a model keeps its list of layers; ALBERT runs one layer several times.
LAYERS = ["transformer.h", "gpt_neox.layers", "model.layers", "encoder.layer", "transformer.layer",
          "encoder.albert_layer_groups.0.albert_layers"]


def last_layer(model):
    for root in (model, getattr(model, model.base_model_prefix, model)):
        for path in LAYERS:
            try:
                return root.get_submodule(path)[-1]
            except AttributeError:
                continue
    raise SystemExit(f"{type(model).__name__}: where are its layers?")


def output_of(result):
    # DistilBERT's layer gives its weights first.
    return result[-1] if isinstance(result, tuple) and result[0].dim() == 4 else \
        result[0] if isinstance(result, tuple) else result


def run(folder, oracle, dtype, attention):
    """Differences from the oracle, by kind."""
    config = transformers.AutoConfig.from_pretrained(folder)
    kind = getattr(transformers, config.architectures[0])
    columns = oracle["logit_ids"] if "logit_ids" in oracle.files else slice(None)
    model = kind.from_pretrained(folder, dtype=dtype, attn_implementation=attention).eval()
    kept = {}
    last_layer(model).register_forward_hook(lambda _, __, out: kept.update(hidden=output_of(out)))
    hidden = [name for name in oracle.files if name.startswith("seq0/blocks.") and
              name.endswith("resid_post")][-1].removeprefix("seq0/")
    differences = {"last_hidden": [], "logits": []}
    for case in ("seq0", "seq1", "seq2"):
        inputs = {name: torch.from_numpy(oracle[f"{case}/{name}"])
                  for name in ("input_ids", "attention_mask", "token_type_ids")
                  if f"{case}/{name}" in oracle.files}
        with torch.no_grad():
            result = model(**inputs, return_dict=True)
        got = {"last_hidden": kept["hidden"]}
        expected = {"last_hidden": oracle[f"{case}/{hidden}"]}
        if f"{case}/logits" in oracle.files:
            got["logits"] = result.logits[..., columns]
            expected["logits"] = oracle[f"{case}/logits"]
        for name, value in got.items():
            if value.dtype != dtype and name != "logits":
                raise SystemExit(f"{folder.name}: {name} is {value.dtype}")
            differences[name].append((value.double().numpy() - expected[name]).ravel())
    return {name: np.abs(np.concatenate(parts)) for name, parts in differences.items() if parts}


def figures(differences):
    return {name: {"rms": float(f"{np.sqrt(np.mean(d * d)):.4g}"), "max": float(f"{d.max():.4g}")}
            for name, d in differences.items()}


def errors_of(folder, oracle_path):
    oracle = np.load(oracle_path)
    # transformers itself runs soft-capped scores with eager attention only.
    attentions = ("eager",) if folder.name == "gemma2" else ("eager", "sdpa")
    return {name: {attention: figures(run(folder, oracle, dtype, attention))
                   for attention in attentions}
            for name, dtype in DTYPES.items()}


def main():
    torch.set_num_threads(1)
    table = {folder.name: errors_of(folder, folder / "oracle.npz")
             for folder in sorted(FAMILIES.iterdir())}
    if len(sys.argv) == 3:
        models, material = map(pathlib.Path, sys.argv[1:])
        real = {name: errors_of(models / name, material / "models" / name / "oracle.npz")
                for name in REAL_MODELS}
    else:
        real = json.loads((HERE / "low_precision.json").read_text())["real_models"]
    document = {
        "made_by": "tests/parity/make_low_precision.py",
        "transformers": transformers.__version__, "torch": torch.__version__.split("+")[0],
        "cpu_capability": torch.backends.cpu.get_cpu_capability(), "threads": 1,
        "reference": "oracle.npz of the model, float64", "families": table, "real_models": real}
    (HERE / "low_precision.json").write_text(json.dumps(document, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
