"""Pairs of prompts for the four tasks, and how many of them a model solves.

A pair is {clean, corrupt, answer, wrong, group}. Clean and corrupt differ in one token, so they
align token by token; the right continuation of the corrupt prompt is `wrong`.
"""

import random

import torch

import language
from templates import TEMPLATES

TASKS = ("indirect_object", "induction", "agreement", "brackets")
GROUP_NAMES = {"train": "trained", "dev": "dev", "test": "held-out"}


def indirect_object_group(rng, split):
    opening = rng.choice(TEMPLATES["opening"][split])
    clause = rng.choice(TEMPLATES["clause"][split])
    a, b = language.a_pair(rng, language.NAMES, split)
    name = f"{opening} {clause}".format(a=a, b=b, s="?", place="?", noun="?", adjective="?",
                                        thing="?")

    def pair():
        first, second = (a, b) if rng.random() < 0.5 else (b, a)
        subject, receiver = (a, b) if rng.random() < 0.5 else (b, a)
        scene = language.fill(rng, opening, first, second)
        ends = language.fill(rng, clause, first, second, s="{s}")
        return (f"{scene} {ends.format(s=subject)}", f"{scene} {ends.format(s=receiver)}",
                " " + receiver, " " + subject)

    return name, pair


def induction_group(rng, split):
    """A sequence, and its repeat up to a word whose successor in the sequence is the answer. The
    two never stand side by side in another split."""
    template, separator = rng.choice(TEMPLATES["list frame"][split])
    a, b = language.a_pair(rng, language.NAMES, split)
    start, end = template.split("{two}")[0].split("{one}")
    start = language.fill(rng, start, a, b)
    words = language.random_words(rng, rng.randint(5, 30), avoid=(a, b))
    gap = []
    if "{gap}" in template:
        gap = language.random_words(rng, rng.randint(0, language.LONGEST_GAP),
                                    avoid=(*words, a, b), after=words[-1])
    middle = language.fill(rng, end, a, b, gap=" ".join(gap)).replace("  ", " ")
    index = rng.randint(2, len(words) - 1)

    def a_word():
        while True:
            word = rng.choice(language.LIST_WORDS)
            is_new = word not in words and word not in gap and word not in (a, b)
            if is_new and language.split_of(words[index - 1], word) == split:
                return word

    answer = a_word()
    name = f"{template.format(one='?', two='?', gap=len(gap), a=a, b=b)} {len(words)}@{index} " + \
        f"{words[index - 1]}+{answer}"

    def pair():
        wrong = a_word()
        while wrong == answer:
            wrong = a_word()
        again = words[rng.randint(max(0, index - 6), index - 1):index]
        lists = [words[:index] + [word] + words[index + 1:] for word in (answer, wrong)]
        clean, corrupt = (start + language.join_words(first, separator) + middle +
                          language.join_words(again, separator) + separator for first in lists)
        return clean, corrupt, " " + answer, " " + wrong

    return name, pair


def agreement_group(rng, split):
    start, one, several = rng.choice(TEMPLATES["start"][split])
    link = rng.choice(TEMPLATES["link"][split])
    noun, attractor = language.a_pair(rng, language.NOUNS, split)
    name = f"{start} {noun} {link} {attractor}".format(a="?")
    # The attractor disagrees with the clean subject in three pairs of five.
    cases = [(False, True), (True, False), (False, True), (True, False), (False, False),
             (True, True)]
    rng.shuffle(cases)

    def pair():
        many, many_attractors = cases.pop()
        begin = language.fill(rng, start)
        attractors = language.numbered(attractor, many_attractors)
        end = f"{language.fill(rng, link)} {rng.choice(language.ADJECTIVES)} {attractors}"
        clean, corrupt = (f"{begin} {language.numbered(noun, number)} {end}"
                          for number in (many, not many))
        answer, wrong = (several, one) if many else (one, several)
        return clean, corrupt, " " + answer, " " + wrong

    return name, pair


def brackets_group(rng, split):
    """A shape that is cut before a bracket that closes. The words inside never stand side by side
    in another split."""
    frame = language.fill(rng, rng.choice(TEMPLATES["bracket frame"][split]))
    while True:
        shape = language.bracket_shape(rng)
        if language.split_of(shape) != split or not 6 <= len(shape) <= 24:
            continue
        closes = language.openers_of(shape)
        # Something must stand between the opener and its closer.
        far = [i for i, opener in enumerate(closes) if opener is not None and i - opener >= 3]
        if far:
            break
    at = rng.choice(far)
    words = language.random_words(rng, shape.count("w"), split=split)
    name = f"{frame} {shape[:at]} {'+'.join(words[:shape[:at].count('w')])}"

    def pair():
        pieces = language.fill_shape(rng, shape, words)
        opener = closes[at]
        other = rng.choice([x for x in language.BRACKETS if x != pieces[opener]])
        clean = pieces[:at]
        corrupt = clean[:opener] + [other] + clean[opener + 1:]
        return (f"{frame} " + " ".join(clean), f"{frame} " + " ".join(corrupt),
                " " + language.BRACKETS[pieces[opener]], " " + language.BRACKETS[other])

    return name, pair


GROUPS = {"indirect_object": indirect_object_group, "induction": induction_group,
          "agreement": agreement_group, "brackets": brackets_group}


def pairs_of(task, split, seed, count):
    """`count` pairs in groups of five; no clean prompt and no group occurs twice."""
    rng = random.Random(f"{task} {split} {seed}")
    pairs, seen_groups, seen_prompts = [], set(), set()
    while len(pairs) < count:
        name, pair = GROUPS[task](rng, split)
        if name in seen_groups:
            continue
        group = []
        for _ in range(5):
            clean, corrupt, answer, wrong = pair()
            group.append({"clean": clean, "corrupt": corrupt, "answer": answer, "wrong": wrong,
                          "group": f"{GROUP_NAMES[split]}/{name}"})
        prompts = {(item["clean"], item["answer"], item["wrong"]) for item in group}
        if len(prompts) < 5 or prompts & seen_prompts:
            continue
        seen_groups.add(name)
        seen_prompts |= prompts
        pairs += group
    return pairs[:count]


@torch.inference_mode()
def solve(model, encoder, pairs):
    """Shares of pairs: first on the clean prompt, answer above wrong, and wrong above answer on
    the corrupt prompt; and the mean difference of the two logits, clean and corrupt."""
    rows = {}
    for pair in pairs:
        clean, corrupt = encoder.prompt(pair["clean"]), encoder.prompt(pair["corrupt"])
        changed = sum(x != y for x, y in zip(clean, corrupt))
        if len(clean) != len(corrupt) or changed != 1:
            raise ValueError(f"pair does not align: {pair}")
        ids = (encoder.one(pair["answer"]), encoder.one(pair["wrong"]))
        rows.setdefault(len(clean), []).append((clean, corrupt, ids))
    first = above = follows = 0
    difference = corrupt_difference = 0.0
    for same_length in rows.values():
        clean = model(torch.tensor([row[0] for row in same_length]))[:, -1]
        corrupt = model(torch.tensor([row[1] for row in same_length]))[:, -1]
        answer, wrong = torch.tensor([row[2] for row in same_length]).t()
        each = torch.arange(len(same_length))
        first += int((clean.argmax(-1) == answer).sum())
        delta = clean[each, answer] - clean[each, wrong]
        corrupt_delta = corrupt[each, answer] - corrupt[each, wrong]
        above += int((delta > 0).sum())
        follows += int((corrupt_delta < 0).sum())
        difference += float(delta.sum())
        corrupt_difference += float(corrupt_delta.sum())
    count = len(pairs)
    return {"first": first / count, "above": above / count, "follows": follows / count,
            "difference": difference / count, "corrupt_difference": corrupt_difference / count}
