"""Trains the demo model and writes its folder and the pairs files.

    python probes/demo/train.py --out probes/demo

While it trains it prints how many prompts of the dev split are solved; check.py has the test split.
One thread and a fixed seed: the same machine type and PyTorch version give the same weights.
"""

import argparse
import json
import math
import os
import random
import sys
import time

import torch
from torch.nn import functional

import language
import tasks
import tokens
from model import CONFIG, FOLDER, DemoModel

SEED = 20
STEPS = 3200
PEAK_RATE = 3e-3
SHORT, LONG = 64, 256
SHORT_ROWS, LONG_ROWS = 48, 12
FORESEEN_WEIGHT = 5.0


class Stream:
    """Rows of token ids and of weights, one for each token to predict."""

    def __init__(self, encoder, seed):
        self.encoder = encoder
        self.rng = random.Random(seed)

    def row(self, length, progress):
        text = language.document(self.rng, length, progress)
        ids, weights = [0], [0.0]
        for index, part in enumerate(text.split("*")):
            part_ids = self.encoder.encode(part)
            ids += part_ids
            weights += [FORESEEN_WEIGHT if index else 1.0] + [1.0] * (len(part_ids) - 1)
        while len(ids) < length + 1:
            more = " " + language.filler(self.rng)
            ids += self.encoder.encode(more)
            weights += [1.0] * (len(ids) - len(weights))
        return ids[: length + 1], weights[: length + 1]

    def batch(self, rows, length, progress):
        made = [self.row(length, progress) for _ in range(rows)]
        return (torch.tensor([ids for ids, _ in made]),
                torch.tensor([weights for _, weights in made]))


def learning_rate(step, steps):
    warm = min(1.0, (step + 1) / 200)
    return PEAK_RATE * warm * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * step / steps)))


def train(model, encoder, options):
    stream = Stream(encoder, SEED)
    decayed = [p for p in model.parameters() if p.dim() == 2]
    plain = [p for p in model.parameters() if p.dim() == 1]
    optimizer = torch.optim.AdamW([{"params": decayed, "weight_decay": 0.1},
                                   {"params": plain, "weight_decay": 0.0}],
                                  lr=PEAK_RATE, betas=(0.9, 0.98))
    began, running = time.time(), None
    for step in range(options.steps):
        is_long = step % 5 == 4
        rows, length = (LONG_ROWS, LONG - 1) if is_long else (SHORT_ROWS, SHORT)
        ids, weights = stream.batch(rows, length, step / options.steps)
        logits = model(ids[:, :-1])
        losses = functional.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(),
                                          reduction="none")
        weight = weights[:, 1:].flatten()
        loss = (losses * weight).sum() / weight.sum()
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, options.steps)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if not is_long:
            foreseen = losses.detach()[weight > 1].mean().item()
            running = foreseen if running is None else 0.95 * running + 0.05 * foreseen
        if step % 100 == 0 or step == options.steps - 1:
            print(f"step {step:5d}  loss {loss.item():.3f}  foreseen {running:.4f}  "
                  f"{time.time() - began:.0f} s", flush=True)
        if step % 200 == 199:
            model.save(os.path.join(options.out, FOLDER))
            accuracies = {task: tasks.solve(model, encoder, tasks.pairs_of(task, "dev", 1, 200))
                          for task in tasks.TASKS}
            print("  dev: " + "  ".join(f"{task} {100 * found['first']:.0f} %"
                                             for task, found in accuracies.items()), flush=True)


def write_tokenizer(folder):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "tokenizer.json"), "w", encoding="utf-8") as file:
        json.dump(tokens.tokenizer_json(), file, ensure_ascii=False, indent=1)
        file.write("\n")
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": tokens.BEGIN,
                "add_bos_token": True, "model_max_length": CONFIG["max_position_embeddings"],
                "clean_up_tokenization_spaces": False}
    with open(os.path.join(folder, "tokenizer_config.json"), "w", encoding="utf-8") as file:
        json.dump(settings, file, indent=2)
        file.write("\n")


def write_pairs(folder):
    os.makedirs(folder, exist_ok=True)
    for task in tasks.TASKS:
        with open(os.path.join(folder, f"{task}.jsonl"), "w", encoding="utf-8") as file:
            for pair in (tasks.pairs_of(task, "test", 0, 120) +
                         tasks.pairs_of(task, "train", 0, 80)):
                file.write(json.dumps(pair) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", required=True, help="folder that gets tiny-english/ and pairs/")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--texts-only", action="store_true",
                        help="write tokenizer and pairs, train nothing")
    options = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    write_tokenizer(os.path.join(options.out, FOLDER))
    write_pairs(os.path.join(options.out, "pairs"))
    if options.texts_only:
        return 0
    encoder = tokens.Encoder()
    model = DemoModel({**CONFIG, "vocab_size": len(encoder.vocabulary)})
    print(f"{sum(p.numel() for p in model.parameters())} parameters, "
          f"{len(encoder.vocabulary)} pieces")
    train(model, encoder, options)
    model.save(os.path.join(options.out, FOLDER))
    return 0


if __name__ == "__main__":
    sys.exit(main())
