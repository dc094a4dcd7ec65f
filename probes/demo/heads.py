"""What each head looks at on a repeated random sequence: three scores a head."""

import random

import torch

import language


@torch.inference_mode()
def head_scores(model, encoder, count=50, length=40, seed=7):
    """{"previous", "duplicate", "induction"} → [layers heads], on begin + `length` different words
    + the same words again; means over the rows of the second copy. The words carry no frame."""
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        words = [encoder.one(" " + word) for word in rng.sample(language.LIST_WORDS, length)]
        rows.append([0] + words + words)
    patterns = []
    model(torch.tensor(rows), patterns)
    queries = torch.arange(length + 1, 2 * length + 1)
    offsets = {"previous": -1, "duplicate": -length, "induction": 1 - length}
    stacked = torch.stack(patterns)  # [l b h q k]
    return {name: stacked[:, :, :, queries, queries + offset].mean((1, 3))
            for name, offset in offsets.items()}
