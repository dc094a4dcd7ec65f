"""Looks for held-out parts in training texts: there must be none."""

import random
import re

import language
import tasks
from templates import TEMPLATES, text_of

TEXTS = 500


def any_of(words):
    return "(?:" + "|".join(re.escape(word) for word in words) + ")"


NAME, PLACE, ADJECTIVE = (any_of(x) for x in (language.NAMES, language.PLACES,
                                               language.ADJECTIVES))
NOUN = any_of(language.NOUNS + language.PLURALS)
WORD = any_of(language.LIST_WORDS)
SLOTS = {"a": NAME, "b": NAME, "s": NAME, "place": PLACE, "noun": NOUN, "adjective": ADJECTIVE,
         "thing": rf"(?:the|a) (?:{ADJECTIVE} )?{any_of(language.OBJECTS)}"}
# What stands before and after a template of each kind.
BEGIN = r"(?:^|\. )"
AROUND = {"opening": (BEGIN, ""), "clause": (r"\b", " "), "start": (BEGIN, f" {NOUN}"),
          "link": (rf"\b{NOUN} ", f" (?:{ADJECTIVE} )?{NOUN}"),
          "bracket frame": (BEGIN, r" [(\[{<]"), "list frame": (BEGIN, "")}


def pattern_of(kind, template):
    slots = dict(SLOTS)
    if kind == "list frame":
        joint = re.escape(template[1])
        slots.update(one=rf"(?:{WORD}{joint} )*?(?P<again>{WORD})(?:{joint} {WORD})*",
                     gap=rf"(?:{WORD} ?)*?", two=r"(?P=again)\b")
    parts = re.split(r"\{(\w+)\}", text_of(template))
    body = "".join(slots[part] if index % 2 else re.escape(part)
                   for index, part in enumerate(parts))
    before, after = AROUND[kind]
    return re.compile(before + body + after)


def held_out_patterns():
    return {f"{kind} {text_of(template)!r}": pattern_of(kind, template)
            for kind, splits in TEMPLATES.items()
            for template in splits["dev"] + splits["test"]}


def training_texts(count):
    rng = random.Random("audit")
    for index in range(count):
        yield language.document(rng, rng.choice((64, 255)), index / count).replace("*", "")


def held_out_neighbours(text):
    """Pairs of content words side by side, or of names joined by "and", that are held out."""
    neighbours = rf"(?=\b({WORD}) ({WORD})\b)"
    # "Lamp Clara and Rosa said": here "and" joins two clauses.
    names = rf"(?=\b({NAME}) and ({NAME})\b(?! said))"
    return [pair for pattern in (neighbours, names) for pair in re.findall(pattern, text)
            if pair[0] != pair[1] and language.split_of(*pair) != "train"]


def findings(count=TEXTS):
    """What of the dev and test parts occurs in `count` training texts, in words."""
    patterns = held_out_patterns()
    found = set()
    for text in training_texts(count):
        found |= {f"{name} in {text!r}" for name, pattern in patterns.items()
                  if pattern.search(text)}
        found |= {f"{pair} in {text!r}" for pair in held_out_neighbours(text)}
    return sorted(found)


def require_matches():
    """Each pattern finds its template in a prompt that has it, or the search means nothing."""
    rng = random.Random("patterns")
    patterns = held_out_patterns()
    hits = set()
    for split in ("dev", "test"):
        for task in tasks.TASKS:
            for _ in range(400):
                text = tasks.GROUPS[task](rng, split)[1]()[0] + " Anna"
                hits |= {name for name, pattern in patterns.items() if pattern.search(text)}
    missed = sorted(set(patterns) - hits)
    if missed:
        raise AssertionError(f"these patterns find nothing: {missed}")
