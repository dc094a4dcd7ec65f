"""The demo model in plain PyTorch: a Llama block stack with Hugging Face's numerics and names."""

import json
import math
import os

import torch
from torch import nn
from torch.nn import functional

import tensor_file

FOLDER = "tiny-english"
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 96,
    "intermediate_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "head_dim": 12,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "rope_scaling": None,
    "max_position_embeddings": 256,
    "attention_bias": False,
    "mlp_bias": False,
    "tie_word_embeddings": True,
    "bos_token_id": 0,
    "eos_token_id": None,
    "pad_token_id": None,
    "torch_dtype": "float32",
}


class RmsNorm(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(config["hidden_size"]))
        self.eps = config["rms_norm_eps"]

    def forward(self, x):
        return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


def rotate(x, cos, sin):
    half = x.shape[-1] // 2
    turned = torch.cat((-x[..., half:], x[..., :half]), -1)
    return x * cos + turned * sin


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        width = config["hidden_size"]
        self.heads = config["num_attention_heads"]
        self.q_proj = nn.Linear(width, width, bias=False)
        self.k_proj = nn.Linear(width, width, bias=False)
        self.v_proj = nn.Linear(width, width, bias=False)
        self.o_proj = nn.Linear(width, width, bias=False)

    def forward(self, x, cos, sin, patterns):
        batch, length, width = x.shape

        def split(y):
            return y.view(batch, length, self.heads, -1).transpose(1, 2)

        q = rotate(split(self.q_proj(x)), cos, sin)
        k = rotate(split(self.k_proj(x)), cos, sin)
        v = split(self.v_proj(x))
        if patterns is None:
            z = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
            masked = torch.ones(length, length, dtype=torch.bool).triu(1)
            pattern = scores.masked_fill(masked, -math.inf).softmax(-1)
            patterns.append(pattern)
            z = pattern @ v
        return self.o_proj(z.transpose(1, 2).reshape(batch, length, width))


class Mlp(nn.Module):
    def __init__(self, config):
        super().__init__()
        width, inner = config["hidden_size"], config["intermediate_size"]
        self.gate_proj = nn.Linear(width, inner, bias=False)
        self.up_proj = nn.Linear(width, inner, bias=False)
        self.down_proj = nn.Linear(inner, width, bias=False)

    def forward(self, x):
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Block(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.input_layernorm = RmsNorm(config)
        self.self_attn = Attention(config)
        self.post_attention_layernorm = RmsNorm(config)
        self.mlp = Mlp(config)

    def forward(self, x, cos, sin, patterns):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, patterns)
        return x + self.mlp(self.post_attention_layernorm(x))


class Backbone(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embed_tokens = nn.Embedding(config["vocab_size"], config["hidden_size"])
        self.layers = nn.ModuleList(Block(config) for _ in range(config["num_hidden_layers"]))
        self.norm = RmsNorm(config)


class DemoModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.config = config
        self.model = Backbone(config)
        deep = 0.05 / math.sqrt(2 * config["num_hidden_layers"])
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                small = name.endswith(("o_proj.weight", "down_proj.weight"))
                nn.init.normal_(weight, std=deep if small else 0.05)
        size = config["head_dim"]
        steps = torch.arange(0, size, 2, dtype=torch.float32) / size
        angles = torch.outer(torch.arange(config["max_position_embeddings"], dtype=torch.float32),
                             1.0 / config["rope_theta"] ** steps)
        self.cos = torch.cat((angles, angles), -1).cos()
        self.sin = torch.cat((angles, angles), -1).sin()

    def forward(self, ids, patterns=None):
        """Logits [b q v] of ids [b q]; each layer's pattern [b h q k] is appended to `patterns`."""
        cos, sin = self.cos[: ids.shape[1]], self.sin[: ids.shape[1]]
        x = self.model.embed_tokens(ids)
        for layer in self.model.layers:
            x = layer(x, cos, sin, patterns)
        return self.model.norm(x) @ self.model.embed_tokens.weight.t()

    def save(self, folder):
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as file:
            json.dump(self.config, file, indent=2)
            file.write("\n")
        tensor_file.save(self.state_dict(), os.path.join(folder, "model.safetensors"))

    @staticmethod
    def load(folder):
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            model = DemoModel(json.load(file))
        model.load_state_dict(tensor_file.load(os.path.join(folder, "model.safetensors")))
        return model.eval()
