"""Re-evaluates the demo model from its files and prints the tables of the README.

    python probes/demo/check.py

Exit status 1 when a task is solved on fewer than 95 % of the held-out prompts or of the pairs, or
when a held-out part is found in training texts.
"""

import json
import os
import sys

import torch

import audit
import heads
import tasks
import tokens
from model import FOLDER, DemoModel

PASS = 0.95
HELD_OUT_PROMPTS = 500


def read_pairs(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def task_table(model, encoder, folder):
    print("| task | prompts | first choice | answer above wrong | follows corrupt | "
          "logit difference clean / corrupt |")
    print("|---|---|---|---|---|---|")
    worst = 1.0
    for task in tasks.TASKS:
        sets = {
            "held out, new": tasks.pairs_of(task, "test", 1, HELD_OUT_PROMPTS),
            "pairs file": read_pairs(os.path.join(folder, "pairs", f"{task}.jsonl")),
        }
        for name, pairs in sets.items():
            found = tasks.solve(model, encoder, pairs)
            worst = min(worst, found["first"], found["above"], found["follows"])
            print(f"| {task} | {name}: {len(pairs)} | {100 * found['first']:.1f} % | "
                  f"{100 * found['above']:.1f} % | {100 * found['follows']:.1f} % | "
                  f"{found['difference']:+.1f} / {found['corrupt_difference']:+.1f} |")
    return worst


def head_table(model, encoder):
    scores = heads.head_scores(model, encoder)
    layers, count = next(iter(scores.values())).shape
    print("\n| head | previous token | duplicate token | induction |")
    print("|---|---|---|---|")
    for layer in range(layers):
        for head in range(count):
            values = [scores[name][layer, head].item()
                      for name in ("previous", "duplicate", "induction")]
            cells = " | ".join(f"**{v:.2f}**" if v >= 0.5 else f"{v:.2f}" for v in values)
            print(f"| {layer}.{head} | {cells} |")


def report(folder):
    torch.set_num_threads(1)
    audit.require_matches()
    leaks = audit.findings()
    if leaks:
        print(f"check: held-out parts are in training texts: {leaks[:3]}", file=sys.stderr)
        return 1
    model = DemoModel.load(os.path.join(folder, FOLDER))
    encoder = tokens.Encoder(os.path.join(folder, FOLDER, "tokenizer.json"))
    worst = task_table(model, encoder, folder)
    head_table(model, encoder)
    if worst < PASS:
        print(f"check: a task is solved on {100 * worst:.1f} % only, {100 * PASS:.0f} % needed",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(report(os.path.dirname(os.path.abspath(__file__))))
