"""The small English that the demo model is trained on, and what is held out of training.

Every sentence comes from a template. Templates and word pairs whose hash falls into one fifth of
the range are held out: they never occur in training, in any sentence.
"""

import random
import zlib

NAMES = (
    "Anna Tom Mary John Emma Jack Lucy Sam Kate Paul Nina Leo Sara Max Julia Ben Alice Mark Clara "
    "Peter Helen David Laura Simon Rosa Adam Eva Oscar Diana Felix Irene Hugo Molly Frank Grace "
    "Victor Ruth Henry Olga Martin").split()
PLACES = (
    "shop park school library station garden market museum beach office kitchen theater hotel "
    "church bridge lake zoo farm harbor cafe").split()
OBJECTS = (
    "book ball letter ring cup coat hat lamp map pen bag box coin flower pear cake drink phone "
    "ticket guitar watch camera gift").split()
NOUNS = (
    "key cabinet door picture teacher student dog cat boy girl house car tree bird doctor friend "
    "table window road river wall chair horse writer farmer artist").split()
ADJECTIVES = (
    "red blue green old new small big clean dirty open closed ready quiet cold warm bright dark "
    "heavy light round").split()
PLURALS = [noun + "s" for noun in NOUNS]
BRACKETS = {"(": ")", "[": "]", "{": "}", "<": ">"}

# The words of random lists: all words that carry content.
LIST_WORDS = NAMES + PLACES + OBJECTS + NOUNS + PLURALS + ADJECTIVES


def held_out(*parts):
    """True for one fifth of all word pairs and bracket shapes, whatever the seed of a run."""
    return zlib.crc32("|".join(parts).encode()) % 5 == 0


def held_out_pair(first, second):
    """The same for an unordered pair."""
    return held_out(*sorted((first, second)))


# --- indirect object ------------------------------------------------------------------------------
OPENINGS = [
    "When {a} and {b} went to the {place},",
    "After {a} and {b} went to the {place},",
    "While {a} and {b} were at the {place},",
    "When {a} and {b} arrived at the {place},",
    "Because {a} and {b} were friends,",
    "Then {a} and {b} had a long talk, and",
    "{a} and {b} met at the {place}, and",
    "Yesterday {a} and {b} walked to the {place}, and later",
    "One day {a} met {b} at the {place}, and",
    "In the morning {a} and {b} left the {place}, and",
    "{a} saw {b} near the {place}, and then",
    "At the {place} {a} talked with {b}, and",
]
CLAUSES = [
    "{s} gave {thing} to",
    "{s} handed {thing} to",
    "{s} passed {thing} to",
    "{s} sent {thing} to",
    "{s} wanted to give {thing} to",
    "{s} decided to hand {thing} to",
    "{s} showed {thing} to",
    "{s} brought {thing} back to",
    "{s} offered {thing} to",
    "{s} said hello to",
]
# Only known words, in sentences that are never trained on.
HELD_OUT_OPENINGS = [
    "When {a} met {b} near the {place},",
    "After {a} and {b} left the {place},",
    "Later {a} and {b} talked at the {place}, and then",
    "In the morning {a} saw {b} at the {place}, and",
    "While {a} walked with {b} to the {place},",
]
HELD_OUT_CLAUSES = [
    "{s} wanted to hand {thing} to",
    "{s} gave {thing} back to",
    "{s} decided to offer {thing} to",
    "{s} handed {thing} back to",
]


def a_thing(rng):
    adjective = rng.choice(ADJECTIVES) + " " if rng.random() < 0.3 else ""
    return f"{rng.choice(('the', 'a'))} {adjective}{rng.choice(OBJECTS)}"


def a_name_pair(rng, want_held_out):
    while True:
        pair = rng.sample(NAMES, 2)
        if held_out_pair(*pair) == want_held_out:
            return pair


def indirect_object(rng):
    a, b = a_name_pair(rng, False)
    subject, receiver = (a, b) if rng.random() < 0.5 else (b, a)
    opening = rng.choice(OPENINGS).format(a=a, b=b, place=rng.choice(PLACES))
    clause = rng.choice(CLAUSES).format(s=subject, thing=a_thing(rng))
    return f"{opening} {clause}* {receiver}."


# --- subject-verb agreement -----------------------------------------------------------------------
# (start, verb of one, verb of many)
STARTS = [
    ("The", "is", "are"),
    ("I think the", "is", "are"),
    ("We know that the", "is", "are"),
    ("Today the", "is", "are"),
    ("It seems that the", "is", "are"),
    ("Yesterday the", "was", "were"),
    ("Last week the", "was", "were"),
]
LINKS = ["to the", "near the", "behind the", "with the", "by the", "under the", "above the",
         "next to the", "in front of the"]
HELD_OUT_STARTS = [
    ("We think that the", "is", "are"),
    ("I know that the", "is", "are"),
    ("Today I think the", "is", "are"),
]
HELD_OUT_LINKS = ["near the front of the", "by the front of the", "behind the front of the"]


def a_noun_pair(rng, want_held_out):
    while True:
        pair = rng.sample(NOUNS, 2)
        if held_out(*pair) == want_held_out:
            return pair


def numbered(noun, many):
    return noun + "s" if many else noun


def agreement(rng):
    start, one, several = rng.choice(STARTS)
    noun, attractor = a_noun_pair(rng, False)
    many = rng.random() < 0.5
    text = f"{start} {numbered(noun, many)}"
    if rng.random() < 0.85:
        other = many if rng.random() < 0.3 else not many
        adjective = rng.choice(ADJECTIVES) + " " if rng.random() < 0.5 else ""
        text += f" {rng.choice(LINKS)} {adjective}{numbered(attractor, other)}"
    return f"{text}* {several if many else one} {rng.choice(ADJECTIVES)}."


# --- brackets -------------------------------------------------------------------------------------
BRACKET_FRAMES = ["Code:", "Brackets:", "Nested:"]
HELD_OUT_BRACKET_FRAME = "Text:"
MAX_DEPTH = 4


def bracket_shape(rng):
    """A balanced shape over o (open), c (close) and w (word)."""
    shape, depth = "o", 1
    while depth:
        draw = rng.random()
        if draw < 0.42 or len(shape) > 24:
            shape, depth = shape + "c", depth - 1
        elif draw < 0.72 and depth < MAX_DEPTH:
            shape, depth = shape + "o", depth + 1
        else:
            shape += "w"
    return shape


def fill_shape(rng, shape):
    """Pieces of the shape, and for each the index of the opener it closes (or None)."""
    pieces, closes, stack = [], [], []
    for kind in shape:
        opener = None
        if kind == "o":
            stack.append(len(pieces))
            pieces.append(rng.choice(list(BRACKETS)))
        elif kind == "c":
            opener = stack.pop()
            pieces.append(BRACKETS[pieces[opener]])
        else:
            pieces.append(rng.choice(LIST_WORDS))
        closes.append(opener)
    return pieces, closes


def brackets(rng):
    shape = bracket_shape(rng)
    while held_out(shape):
        shape = bracket_shape(rng)
    pieces, closes = fill_shape(rng, shape)
    marked = [("* " if opener is not None else " ") + piece
              for piece, opener in zip(pieces, closes)]
    return rng.choice(BRACKET_FRAMES) + "".join(marked) + " ."


# --- everything else ------------------------------------------------------------------------------
DISTANCES = ["far from the", "close to the", "at the back of the"]
FILLERS = [
    "{a} has {thing}.",
    "{a} likes the {adjective} {noun}.",
    f"The {{place}} is {DISTANCES[0]} {{other}}.",
    f"The {{place}} is {DISTANCES[1]} {{other}}.",
    "It was a {adjective} day at the {place}.",
    "{a} walked to the back of the {place}.",
    "Today {a} wanted to offer {thing} to the {noun}.",
    "Text: {a} and the {noun}.",
    "Later that day {a} said hello to the {noun}.",
    "Again the {noun} was alone in the {place}.",
    "It seems today {a} has {thing}.",
    "One morning {a} talked to the {noun}.",
]


def filler(rng):
    place, other = rng.sample(PLACES, 2)
    return rng.choice(FILLERS).format(
        a=rng.choice(NAMES), thing=a_thing(rng), adjective=rng.choice(ADJECTIVES),
        noun=rng.choice(NOUNS), place=place, other=other)


# --- random lists, repeated -----------------------------------------------------------------------
LIST_FRAMES = ["Words:", "List:", "Names:"]
LONGEST_GAP = 6  # words between a segment and its repeat
HELD_OUT_GAPS = (7, 15)


def random_words(rng, count):
    """Different words in which no two neighbours are a held-out pair."""
    words = []
    while len(words) < count:
        word = rng.choice(LIST_WORDS)
        if word not in words and not (words and held_out(words[-1], word)):
            words.append(word)
    return words


def repeated_list(rng, length, longest=60):
    """About `length` words: segments of at most `longest` words, repeated at random distances;
    repeats are marked."""
    words, marks = [], []
    while len(words) < length:
        segment = random_words(rng, rng.randint(3, max(3, min(longest, length // 2))))
        words += segment
        marks += [False] * len(segment)
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            gap = random_words(rng, rng.randint(1, LONGEST_GAP)) if rng.random() < 0.4 else []
            begin = rng.randint(0, len(segment) - 2) if rng.random() < 0.5 else 0
            words += gap + segment[begin:]
            # The first word of a repeat cannot be foreseen.
            marks += [False] * (len(gap) + 1) + [True] * (len(segment) - begin - 1)
    marked = [("* " if mark else " ") + word for word, mark in zip(words, marks)]
    return rng.choice(LIST_FRAMES) + "".join(marked)


def document(rng, length, progress):
    """One training text of about `length` tokens; "*" stands before each token to be foreseen.

    Early in training (`progress` runs from 0 to 1) most texts are lists of short segments: the
    heads that continue a repeat need each other and form late on long ones."""
    early = progress < 0.25
    if rng.random() < (0.7 if early else 0.35):
        return repeated_list(rng, length, longest=8 if early else 60)
    sentences, words = [], 0
    while words < length:
        make = rng.choices((indirect_object, agreement, brackets, filler), (4, 2, 3, 1))[0]
        sentence = make(rng)
        sentences.append(sentence)
        words += sentence.count(" ") + 2
    return " ".join(sentences)


def vocabulary():
    """Every piece that the texts are made of, with its leading space if it has one."""
    pieces = dict.fromkeys(" " + word for word in LIST_WORDS)
    templates = (OPENINGS + CLAUSES + HELD_OUT_OPENINGS + HELD_OUT_CLAUSES + LINKS +
                 DISTANCES + FILLERS + BRACKET_FRAMES + LIST_FRAMES + [HELD_OUT_BRACKET_FRAME] +
                 HELD_OUT_LINKS +
                 [start for start, _, _ in STARTS + HELD_OUT_STARTS] + NAMES)
    for template in templates:
        for index, word in enumerate(template.split()):
            word = word.strip(".,:")
            if "{" in word or not word:
                continue
            pieces[" " + word] = None
            if index == 0 and word[0].isupper():
                pieces[word] = None
    for word in "a is are was were".split():
        pieces[" " + word] = None
    for opener, closer in BRACKETS.items():
        pieces[" " + opener] = pieces[" " + closer] = None
    pieces[" ."] = None
    return list(pieces)


if __name__ == "__main__":
    generator = random.Random(0)
    for maker in (indirect_object, agreement, brackets, filler, lambda r: repeated_list(r, 20)):
        print(maker(generator))
    print(len(vocabulary()), "pieces")
