#!/usr/bin/env python3
"""Logit lens of five families, by numpy from the references' residual streams and the weights.

    make_lens_numbers.py > lens_numbers.json

The residual streams are those of tests/fixtures/families/*/oracle.npz (another implementation, in
float64); norm, head and all statistics are written out here.
"""
import json
import math
import pathlib

import numpy as np
from safetensors.numpy import load_file

FAMILIES = pathlib.Path(__file__).resolve().parents[1] / "fixtures" / "families"
TARGETS = [7, 30]
TOP = 3


def layer_norm(x, weight, bias, eps):
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred ** 2).mean(-1, keepdims=True) + eps) * weight + bias


def rms_norm(x, weight, eps):
    return x / np.sqrt((x ** 2).mean(-1, keepdims=True) + eps) * weight


def head_of(family, w, config):
    def get(name):
        return w[name].astype(np.float64)
    if family == "gpt2":
        return lambda x: layer_norm(x, get("transformer.ln_f.weight"), get("transformer.ln_f.bias"),
                                    config["layer_norm_epsilon"]) @ get("transformer.wte.weight").T
    if family == "gpt_neox":
        return lambda x: layer_norm(x, get("gpt_neox.final_layer_norm.weight"),
                                    get("gpt_neox.final_layer_norm.bias"),
                                    config["layer_norm_eps"]) @ get("embed_out.weight").T
    if family == "llama":
        return lambda x: rms_norm(x, get("model.norm.weight"),
                                  config["rms_norm_eps"]) @ get("lm_head.weight").T
    if family == "gemma2":
        def gemma(x):
            cap = config["final_logit_softcapping"]
            y = rms_norm(x, 1 + get("model.norm.weight"), config["rms_norm_eps"])
            return cap * np.tanh(y @ get("model.embed_tokens.weight").T / cap)
        return gemma

    def bert(x):
        p = "cls.predictions."
        y = x @ get(p + "transform.dense.weight").T + get(p + "transform.dense.bias")
        y = 0.5 * y * (1 + np.vectorize(math.erf)(y / math.sqrt(2)))
        y = layer_norm(y, get(p + "transform.LayerNorm.weight"), get(p + "transform.LayerNorm.bias"),
                       config["layer_norm_eps"])
        return y @ get("bert.embeddings.word_embeddings.weight").T + get(p + "bias")
    return bert


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def numbers_of(family):
    folder = FAMILIES / family
    arrays = np.load(folder / "oracle.npz")
    config = json.loads((folder / "config.json").read_text())
    head = head_of(family, load_file(folder / "model.safetensors"), config)
    end = "hook_normalized_resid_post" if family == "bert" else "hook_resid_post"
    stages = [arrays["seq1/blocks.0.hook_resid_pre"][0]]
    layer = 0
    while f"seq1/blocks.{layer}.{end}" in arrays:
        stages.append(arrays[f"seq1/blocks.{layer}.{end}"][0])
        layer += 1
    says = [log_softmax(head(x)) for x in stages]
    error = np.abs(says[-1] - log_softmax(arrays["seq1/logits"][0])).max()
    assert error < 1e-9, (family, error)
    out = {"ids": arrays["seq1/input_ids"][0].tolist(), "top_id": [], "top_prob": [], "rank": [],
           "log_prob": [], "kl": []}
    for p in says:
        top = np.argsort(-p, axis=-1)[:, :TOP]
        of_targets = p[:, TARGETS]
        best = of_targets.max(-1, keepdims=True)
        out["top_id"].append(top.tolist())
        out["top_prob"].append(np.exp(np.take_along_axis(p, top, -1)).tolist())
        out["rank"].append((p > best).sum(-1).tolist())
        out["log_prob"].append(of_targets.mean(-1).tolist())
        out["kl"].append((np.exp(says[-1]) * (says[-1] - p)).sum(-1).tolist())
    return out


def main():
    families = ["bert", "gemma2", "gpt2", "gpt_neox", "llama"]
    print(json.dumps({"targets": TARGETS, "families": {f: numbers_of(f) for f in families}}))


if __name__ == "__main__":
    main()
