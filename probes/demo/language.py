"""The small English that the demo model is trained on: every sentence comes from a template.

Templates, word pairs and bracket shapes are each split into train, dev and test (`templates.py`,
`split_of`); a training text is made of train parts only.
"""

import random
import zlib

import templates
from templates import FILLERS, TEMPLATES

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
VERBS = "is are was were".split()
BRACKETS = {"(": ")", "[": "]", "{": "}", "<": ">"}

# The words of sequences: all words that carry content.
LIST_WORDS = NAMES + PLACES + OBJECTS + NOUNS + PLURALS + ADJECTIVES


# The share of scrambled templates.
SCRAMBLED = 0.25


def split_of(*parts):
    """Two tenths of all bracket shapes or word pairs are for test and one for dev."""
    tenth = zlib.crc32("|".join(sorted(parts)).encode()) % 10
    return "test" if tenth < 2 else "dev" if tenth == 2 else "train"


def a_pair(rng, words, split):
    while True:
        pair = rng.sample(words, 2)
        if split_of(*pair) == split:
            return pair


def an_adjective(rng, word):
    """One that may stand before the word in training."""
    return rng.choice([x for x in ADJECTIVES if split_of(x, word) == "train"])


def a_thing(rng):
    thing = rng.choice(OBJECTS)
    adjective = an_adjective(rng, thing) + " " if rng.random() < 0.3 else ""
    return f"{rng.choice(('the', 'a'))} {adjective}{thing}"


def fill(rng, template, a=None, b=None, **others):
    """The template's text; names that are not given are a train pair."""
    if a is None:
        a, b = a_pair(rng, NAMES, "train")
    noun = rng.choice(NOUNS)
    place = rng.choice([x for x in PLACES if split_of(x, a) == "train"])
    return template.format(a=a, b=b, place=place, noun=noun, thing=a_thing(rng),
                           adjective=an_adjective(rng, noun), **others)


def sentence_start(text):
    return text[0].upper() + text[1:]


# --- indirect object ------------------------------------------------------------------------------
def own_words(kind):
    """The words of the kind's train templates, without those of sequences."""
    words = {word.strip(".,:") for template in TEMPLATES[kind]["train"]
             for word in templates.text_of(template).split() if "{" not in word}
    return sorted(words - set(LIST_WORDS))


OPENING_WORDS, CLAUSE_WORDS = own_words("opening"), own_words("clause")


def scrambled_opening(rng):
    """Two names among any words: the model has to count on the names alone."""
    before, between, after = (" ".join(rng.choices(OPENING_WORDS, k=rng.randint(least, 4)))
                              for least in (0, 1, 0))
    end = rng.choice((",", ", and", ", and then", ".", ". Then", " and"))
    return sentence_start(f"{before} {{a}} {between} {{b}} {after}".strip()) + end


def scrambled_clause(rng):
    while True:
        before, after = (" ".join(rng.choices(CLAUSE_WORDS, k=rng.randint(least, 3)))
                         for least in (1, 0))
        thing = "{thing} " if rng.random() < 0.8 else ""
        clause = f"{{s}} {before} {thing}{after}".strip() + rng.choice((" to", " to", " for"))
        if clause not in TEMPLATES["clause"]["dev"] + TEMPLATES["clause"]["test"]:
            return clause


def indirect_object(rng):
    a, b = a_pair(rng, NAMES, "train")
    subject, receiver = (a, b) if rng.random() < 0.5 else (b, a)
    opening, clause = (rng.choice(TEMPLATES[kind]["train"]) for kind in ("opening", "clause"))
    if rng.random() < SCRAMBLED:
        opening = scrambled_opening(rng)
    if rng.random() < SCRAMBLED:
        clause = scrambled_clause(rng)
    opening, clause = fill(rng, opening, a, b), fill(rng, clause, a, b, s=subject)
    return f"{opening} {clause}* {receiver}."


# --- subject-verb agreement -----------------------------------------------------------------------
LINK_WORDS = sorted({word for link in TEMPLATES["link"]["train"] for word in link.split()
                     if "{" not in word and word not in ("the", "we")})


def scrambled_link(rng):
    """One to four link words in any order: the model has to count on the nouns alone."""
    while True:
        link = " ".join(rng.choices(LINK_WORDS, k=rng.randint(1, 4))) + " the"
        if link not in TEMPLATES["link"]["dev"] + TEMPLATES["link"]["test"]:
            return link


def numbered(noun, many):
    return noun + "s" if many else noun


def agreement(rng):
    start, one, several = rng.choice(TEMPLATES["start"]["train"])
    noun, attractor = a_pair(rng, NOUNS, "train")
    many = rng.random() < 0.5
    text = f"{fill(rng, start)} {numbered(noun, many)}"
    if rng.random() < 0.9:
        attractor = numbered(attractor, many if rng.random() < 0.3 else not many)
        adjective = an_adjective(rng, attractor) + " " if rng.random() < 0.5 else ""
        trained = rng.choice(TEMPLATES["link"]["train"])
        link = scrambled_link(rng) if rng.random() < SCRAMBLED else fill(rng, trained)
        text += f" {link} {adjective}{attractor}"
    return f"{text}* {several if many else one} {rng.choice(ADJECTIVES)}."


# --- brackets -------------------------------------------------------------------------------------
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


def openers_of(shape):
    """For each piece the index of the opener that it closes, or None."""
    closes, stack = [], []
    for index, kind in enumerate(shape):
        if kind == "o":
            stack.append(index)
        closes.append(stack.pop() if kind == "c" else None)
    return closes


def fill_shape(rng, shape, words):
    """The pieces of the shape, with brackets drawn at random."""
    pieces, words = [], iter(words)
    for kind, opener in zip(shape, openers_of(shape)):
        if kind == "o":
            pieces.append(rng.choice(list(BRACKETS)))
        else:
            pieces.append(next(words) if kind == "w" else BRACKETS[pieces[opener]])
    return pieces


def brackets(rng):
    shape = bracket_shape(rng)
    while split_of(shape) != "train":
        shape = bracket_shape(rng)
    pieces = fill_shape(rng, shape, random_words(rng, shape.count("w")))
    marked = [("* " if opener is not None else " ") + piece
              for piece, opener in zip(pieces, openers_of(shape))]
    frame = rng.choice(TEMPLATES["bracket frame"]["train"])
    if rng.random() < SCRAMBLED:
        frame = scrambled_start(rng)
    return fill(rng, frame) + "".join(marked) + " ."


# --- sequences, repeated --------------------------------------------------------------------------
LONGEST_GAP = 8  # words between a sequence and its repeat
SEPARATORS = ("", "", "", ",", " and", " then")


def random_words(rng, count, avoid=(), split="train", after=None):
    """Different words; any two neighbours, `after` among them, are a pair of the split."""
    words = []
    while len(words) < count:
        word = rng.choice(LIST_WORDS)
        last = words[-1] if words else after
        if word in words or word in avoid:
            continue
        if last is None or split_of(last, word) == split:
            words.append(word)
    return words


START_WORDS = sorted({template.split()[0] for template, _ in TEMPLATES["list frame"]["train"]
                      if "{" not in template.split()[0]})
FRAME_WORDS = sorted({word.strip(".,:") for template, _ in TEMPLATES["list frame"]["train"]
                      for word in template.split() if "{" not in word and word.islower()}
                     - set(LIST_WORDS))


HELD_OUT_STARTS = {templates.text_of(frame).split("{one}")[0].strip(" .,:")
                   for kind in ("list frame", "bracket frame")
                   for frame in TEMPLATES[kind]["dev"] + TEMPLATES[kind]["test"]}


def scrambled_start(rng):
    """A beginning without sense: the model has to count on the sequence alone."""
    while True:
        words = [rng.choice(START_WORDS).strip(".,:")]
        start = " ".join(words + rng.choices(FRAME_WORDS, k=rng.randint(1, 3)))
        if start not in HELD_OUT_STARTS:
            return start + rng.choice((":", ":", ",", ""))


def scrambled_frame(rng):
    middle = " ".join(rng.choices(FRAME_WORDS, k=rng.randint(0, 4)))
    stops = rng.choice((("", ""), (",", ""), (".", ":"), (".", ""), (",", ":")))
    if middle:
        middle = " " + middle + stops[1]
    return f"{scrambled_start(rng)} {{one}}{stops[0]}{middle} {{two}}", rng.choice(SEPARATORS)


def join_words(words, separator, marked=False):
    """`marked`: all but the first word are to be foreseen."""
    return f"{separator}{'*' if marked else ''} ".join(words)


def repeat(rng, longest):
    """A sequence between two mentions in a sentence. The first word again cannot be foreseen."""
    template, separator = rng.choice(TEMPLATES["list frame"]["train"])
    if rng.random() < SCRAMBLED:
        template, separator = scrambled_frame(rng)
    a, b = a_pair(rng, NAMES, "train")
    words = random_words(rng, rng.randint(3, max(3, longest)), avoid=(a, b))
    gap = []
    if "{gap}" in template:
        size = rng.randint(0, min(LONGEST_GAP, longest))
        gap = random_words(rng, size, avoid=words, after=words[-1])
    begin = begin_of_repeat(rng, words, (gap or words)[-1])
    if begin is None:
        return repeat(rng, longest)
    again = words[begin:]
    text = fill(rng, template, a, b, one=join_words(words, separator), gap=" ".join(gap),
                two=join_words(again, separator, marked=True))
    return text.replace("  ", " ") + "."


def begin_of_repeat(rng, words, last):
    """Where a repeat after the word `last` may begin, so that the two are a train pair; or None."""
    begins = [i for i in range(len(words) - 1) if split_of(last, words[i]) == "train"]
    if not begins:
        return None
    return 0 if begins[0] == 0 and rng.random() < 0.5 else rng.choice(begins)


def repeated_list(rng, length, longest):
    """About `length` words: sequences of at most `longest` words, each repeated at random
    distances."""
    template, separator = rng.choice(TEMPLATES["list frame"]["train"])
    start = template.split("{one}")[0].strip()
    if rng.random() < SCRAMBLED:
        start, separator = scrambled_start(rng), rng.choice(SEPARATORS)
    words, marks = [], []
    while len(words) < length:
        size = rng.randint(3, max(3, min(longest, length // 2)))
        segment = random_words(rng, size, after=words[-1] if words else None)
        words += segment
        marks += [False] * size
        for _ in range(rng.choice((1, 1, 1, 2, 3))):
            size = rng.randint(1, LONGEST_GAP) if rng.random() < 0.4 else 0
            gap = random_words(rng, size, avoid=segment, after=words[-1])
            begin = begin_of_repeat(rng, segment, (words + gap)[-1])
            if begin is None:
                continue
            words += gap + segment[begin:]
            marks += [False] * (len(gap) + 1) + [True] * (len(segment) - begin - 1)
    marked = ["* " + word if mark else " " + word for word, mark in zip(words, marks)]
    return (fill(rng, start) + separator.join(marked)).lstrip(" ")


# --- whole texts ----------------------------------------------------------------------------------
def filler(rng):
    return sentence_start(fill(rng, rng.choice(FILLERS)))


def document(rng, length, progress):
    """One training text of about `length` tokens; "*" stands before each token to be foreseen.

    Early in training (`progress` runs from 0 to 1) most texts are lists of short sequences: the
    heads that continue a repeat need each other and form late on long ones."""
    early = progress < 0.15
    if rng.random() < (0.7 if early else 0.15):
        return repeated_list(rng, length, longest=8 if early else 60)
    sentences, words = [], 0
    makers = (indirect_object, agreement, brackets, filler,
              lambda rng: repeat(rng, min(40, (length - words) // 3)))
    while words < length:
        sentence = rng.choices(makers, (6, 4, 5, 1, 3))[0](rng)
        sentences.append(sentence)
        words += len(templates.PRE_TOKEN.findall(sentence.replace("*", "")))
    return " ".join(sentences)


def vocabulary():
    """Every piece that the texts are made of, with its leading space if it has one."""
    pieces = dict.fromkeys(" " + word for word in LIST_WORDS + VERBS + ["a", "the"])
    pieces.update(dict.fromkeys(sorted(templates.trained_pieces())))
    for opener, closer in BRACKETS.items():
        pieces[" " + opener] = pieces[" " + closer] = None
    pieces[" ."] = None
    return list(pieces)


templates.require_trained_words(set(vocabulary()))


if __name__ == "__main__":
    generator = random.Random(0)
    for maker in (indirect_object, agreement, brackets, filler, lambda r: repeat(r, 8),
                  lambda r: repeated_list(r, 20, 8)):
        for _ in range(4):
            print(maker(generator))
    print(len(vocabulary()), "pieces")
