"""Pairs of prompts for the four tasks, and how many of them a model solves.

A pair is {clean, corrupt, answer, wrong, group}. Clean and corrupt differ in one token, so they
align token by token; the right continuation of the corrupt prompt is `wrong`.
"""

import random

import torch

import language

TASKS = ("indirect_object", "induction", "agreement", "brackets")
PAIRS_A_TASK = 200


def indirect_object_group(rng, held_out):
    openings = language.HELD_OUT_OPENINGS if held_out else language.OPENINGS
    clauses = language.HELD_OUT_CLAUSES if held_out else language.CLAUSES
    opening = rng.choice(openings)
    clause = rng.choice(clauses)
    a, b = language.a_name_pair(rng, held_out)
    name = f"o{openings.index(opening)}+c{clauses.index(clause)}/{a}+{b}"

    def pair():
        first, second = (a, b) if rng.random() < 0.5 else (b, a)
        subject, receiver = (a, b) if rng.random() < 0.5 else (b, a)
        scene = opening.format(a=first, b=second, place=rng.choice(language.PLACES))
        thing = language.a_thing(rng)
        return (f"{scene} {clause.format(s=subject, thing=thing)}",
                f"{scene} {clause.format(s=receiver, thing=thing)}",
                " " + receiver, " " + subject)

    return name, pair


def induction_group(rng, held_out):
    """A list, then other words, then part of the list again. Held out: the gap is longer than any
    in training, and the answer never follows the word before it in training."""
    frame = rng.choice(language.LIST_FRAMES)
    gap = rng.randint(*language.HELD_OUT_GAPS) if held_out else rng.randint(0, language.LONGEST_GAP)
    words = language.random_words(rng, rng.randint(8, 40) + gap)
    words, between = words[gap:], words[:gap]
    index = rng.randint(2, len(words) - 1)

    def a_word():
        while True:
            word = rng.choice(language.LIST_WORDS)
            is_new = word not in words and word not in between
            if is_new and language.held_out(words[index - 1], word) == held_out:
                return word

    answer = a_word()
    name = f"{frame}{len(words)}+{gap}@{index}/{words[index - 1]}+{answer}"

    def pair():
        wrong = a_word()
        while wrong == answer:
            wrong = a_word()
        again = words[rng.randint(max(0, index - 6), index - 1):index]
        lists = [words[:index] + [word] + words[index + 1:] for word in (answer, wrong)]
        clean, corrupt = (f"{frame} " + " ".join(first + between + again) for first in lists)
        return clean, corrupt, " " + answer, " " + wrong

    return name, pair


def agreement_group(rng, held_out):
    starts = language.HELD_OUT_STARTS if held_out else language.STARTS
    links = language.HELD_OUT_LINKS if held_out else language.LINKS
    start, one, several = rng.choice(starts)
    link = rng.choice(links)
    noun, attractor = language.a_noun_pair(rng, held_out)
    name = f"s{starts.index((start, one, several))}+l{links.index(link)}/{noun}+{attractor}"
    # The attractor disagrees with the clean subject in three pairs of five.
    cases = [(False, True), (True, False), (False, True), (True, False), (False, False),
             (True, True)]
    rng.shuffle(cases)

    def pair():
        many, many_attractors = cases.pop()
        adjective = rng.choice(language.ADJECTIVES)
        end = f"{link} {adjective} {language.numbered(attractor, many_attractors)}"
        clean, corrupt = (f"{start} {language.numbered(noun, number)} {end}"
                          for number in (many, not many))
        answer, wrong = (several, one) if many else (one, several)
        return clean, corrupt, " " + answer, " " + wrong

    return name, pair


def brackets_group(rng, held_out):
    frame = language.HELD_OUT_BRACKET_FRAME if held_out else rng.choice(language.BRACKET_FRAMES)
    while True:
        shape = language.bracket_shape(rng)
        if language.held_out(shape) != held_out or not 6 <= len(shape) <= 24:
            continue
        _, closes = language.fill_shape(rng, shape)
        # Something must stand between the opener and its closer.
        far = [i for i, opener in enumerate(closes) if opener is not None and i - opener >= 3]
        if far:
            break
    at = rng.choice(far)
    name = f"{frame}{shape[:at]}"

    def pair():
        pieces, _ = language.fill_shape(rng, shape)
        opener = closes[at]
        other = rng.choice([x for x in language.BRACKETS if x != pieces[opener]])
        clean = pieces[:at]
        corrupt = clean[:opener] + [other] + clean[opener + 1:]
        return (f"{frame} " + " ".join(clean), f"{frame} " + " ".join(corrupt),
                " " + language.BRACKETS[pieces[opener]], " " + language.BRACKETS[other])

    return name, pair


GROUPS = {"indirect_object": indirect_object_group, "induction": induction_group,
          "agreement": agreement_group, "brackets": brackets_group}


def pairs_of(task, seed, count, held_out_share):
    """`count` pairs in groups of five; no clean prompt and no group occurs twice."""
    rng = random.Random(f"{task} {seed}")
    pairs, seen_groups, seen_prompts = [], set(), set()
    while len(pairs) < count:
        held_out = len(pairs) < held_out_share * count
        name, pair = GROUPS[task](rng, held_out)
        if name in seen_groups:
            continue
        group = []
        for _ in range(5):
            clean, corrupt, answer, wrong = pair()
            group.append({"clean": clean, "corrupt": corrupt, "answer": answer, "wrong": wrong,
                          "group": f"{'held-out' if held_out else 'trained'}/{name}"})
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
