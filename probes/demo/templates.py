"""The templates of the demo model's language, and which of them are held out of training.

Each list is split once, by the rule of `split_templates`, before any training: `train` is what the
model reads, `dev` is for choices while the language and the training are worked on, `test` is for
the tables. Every word of a dev or test template also stands in a train template or a filler.
"""

import re
import zlib

SPLITS = ("train", "dev", "test")

# {a} and {b} are two names.
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
    "When {a} met {b} near the {place},",
    "After {a} and {b} left the {place},",
    "Later {a} and {b} talked at the {place}, and then",
    "In the morning {a} saw {b} at the {place}, and",
    "While {a} walked with {b} to the {place},",
    "Before {a} and {b} left the {place},",
    "{a} and {b} were alone in the {place}. Then",
    "{a} and {b} are friends. Today",
    "Last week {a} and {b} worked at the {place}, and",
    "When {a} found {b} in the {place},",
    "As {a} and {b} walked home from the {place},",
    "In the evening {a} visited {b} at the {place}, and",
    "{a} came to the {place} with {b}. There",
    "There were {a} and {b} in the {place}, and",
    "Once {a} and {b} sat near the {place}, and",
    "After lunch {a} and {b} came back to the {place}, and",
    "Today {a} is with {b} at the {place}, and",
    "Before lunch {a} called {b} from the {place}, and",
    "{a} waited for {b} near the {place}. Later",
    "One evening {a} sat with {b} in the {place}, and",
    "Because {a} and {b} worked in the {place},",
    "Last night {a} and {b} walked to the {place}, and then",
    "The {place} was quiet when {a} and {b} arrived, and",
    "It was a cold day when {a} met {b}, and",
    "It was a dark evening at the {place} when {a} found {b}, and",
    "As {a} talked with {b} near the {place},",
    "Once {b} waited for {a} at the {place}, and then",
    "Yesterday {a} called {b}, and later",
]
# {s} is one of the two names; the other one comes next.
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
    "{s} wanted to hand {thing} to",
    "{s} gave {thing} back to",
    "{s} decided to offer {thing} to",
    "{s} handed {thing} back to",
    "{s} sold {thing} to",
    "{s} tried to sell {thing} to",
    "{s} was happy to give {thing} to",
    "{s} came to show {thing} to",
    "{s} wanted to say hello to",
    "{s} told a story to",
    "{s} tried to tell a story to",
    "{s} bought {thing} for",
    "{s} found {thing} for",
    "{s} left {thing} for",
    "{s} came back to offer {thing} to",
    "{s} wrote a letter to",
    "{s} was ready to sell {thing} to",
    "{s} tried to give {thing} back to",
    "{s} decided to show {thing} to",
    "{s} passed {thing} back to",
    "{s} bought {thing} and gave it to",
    "{s} found {thing} and showed it to",
]
# (start, verb of one, verb of many)
STARTS = [
    ("The", "is", "are"),
    ("I think the", "is", "are"),
    ("We think that the", "is", "are"),
    ("Today I think the", "is", "are"),
    ("{a} thinks the", "is", "are"),
    ("{a} thinks that the", "is", "are"),
    ("I know that the", "is", "are"),
    ("We know that the", "is", "are"),
    ("{a} knows the", "is", "are"),
    ("It seems that the", "is", "are"),
    ("Now it seems that the", "is", "are"),
    ("Today it seems the", "is", "are"),
    ("Now the", "is", "are"),
    ("Today the", "is", "are"),
    ("{a} says that the", "is", "are"),
    ("They say the", "is", "are"),
    ("Today they say that the", "is", "are"),
    ("We say that the", "is", "are"),
    ("Now {a} says the", "is", "are"),
    ("I know the", "is", "are"),
    ("Yesterday the", "was", "were"),
    ("Last week the", "was", "were"),
    ("Last night the", "was", "were"),
    ("Yesterday I thought the", "was", "were"),
    ("{a} said that the", "was", "were"),
    ("{a} said the", "was", "were"),
    ("{a} thought the", "was", "were"),
    ("We thought that the", "was", "were"),
    ("I thought that the", "was", "were"),
    ("We knew that the", "was", "were"),
    ("{a} knew the", "was", "were"),
    ("Last week {a} said the", "was", "were"),
    ("Last night we thought the", "was", "were"),
    ("A week ago the", "was", "were"),
    ("Long ago the", "was", "were"),
    ("Long ago we knew that the", "was", "were"),
]
LINKS = [
    "to the", "near the", "behind the", "with the", "by the", "under the", "above the",
    "next to the", "in front of the", "far from the", "close to the", "at the back of the",
    "near the front of the", "by the front of the", "on the left of the", "on the right of the",
    "to the left of the", "to the right of the", "beside the", "below the", "across from the",
    "on the other side of the", "by the side of the", "of the", "from the", "for the",
    "on top of the", "at the end of the", "at the front of the", "near the back of the",
    "around the", "just behind the", "just in front of the", "right next to the", "not far from the",
    "that {a} saw near the", "that {a} left by the", "which {a} found behind the",
    "that we found under the", "which {a} bought for the", "on the way to the", "near the end of the",
    "right above the", "just below the", "right beside the", "just under the", "on the",
    "which we saw next to the", "just across from the", "by the top of the",
]
BRACKET_FRAMES = [
    "Code:", "Brackets:", "Nested:", "Text:", "Code of {a}:", "The code is", "The text was",
    "{a} wrote", "{a} wrote:", "Today {a} wrote", "Here is the code:", "Here is a line of text:",
    "Now close", "Now close the brackets:", "Read this text:", "Read the code", "On the wall:",
    "On the door it says", "Brackets of {a}:", "This is code:", "This line is nested:",
    "In the letter of {a}:", "{a} says", "Then {a} wrote", "Text of the day:", "Nested brackets:",
]
# Around a sequence {one} and its repeat {two}; {gap} is a few other words. Second: what stands
# between two words of the sequence.
LIST_FRAMES = [
    ("Words: {one} {gap} {two}", ""),
    ("List: {one} {gap} {two}", ""),
    ("Names: {one} {gap} {two}", ""),
    ("Again: {one} {gap} {two}", ""),
    ("Notes: {one} {gap} {two}", ""),
    ("Items: {one} {gap} {two}", ""),
    ("Song: {one} {gap} {two}", ""),
    ("Page one: {one} {gap} {two}", ""),
    ("My words: {one} {gap} {two}", ""),
    ("The list: {one} {gap} {two}", ""),
    ("{one} {gap} {two}", ""),
    ("{one}. {two}", ""),
    ("{one}. Again: {two}", ""),
    ("Words of {a}: {one}. Words of {b}: {two}", ""),
    ("List one: {one}. List two: {two}", ""),
    ("First {one}, then {two}", ""),
    ("First: {one}. Again: {two}", ""),
    ("Read: {one}. Read again: {two}", ""),
    ("{a} said {one} and {b} said {two}", ""),
    ("{a} wrote: {one}. Then {b} wrote: {two}", ""),
    ("{a} read {one}. Later {a} read {two}", ""),
    ("This is the list: {one}. Here it is again: {two}", ""),
    ("Here are the words {one}, and once more {two}", ""),
    ("In the morning {a} saw {one}. In the evening {a} saw {two}", ""),
    ("The words on the wall are {one}. The words on the door are {two}", ""),
    ("Yesterday: {one}. Today: {two}", ""),
    ("Page one: {one}. Page two: {two}", ""),
    ("On the left {one}, on the right {two}", ""),
    ("{a} has a song: {one}. Now {b} has it: {two}", ""),
    ("Old list: {one}. New list: {two}", ""),
    ("The teacher said {one}. The student said {two}", ""),
    ("Before lunch {one}, after lunch {two}", ""),
    ("My notes are {one}. Once more, my notes are {two}", ""),
    ("{a} likes the song {one} and then the song {two}", ""),
    ("It was a quiet day. {one} {gap} {two}", ""),
    ("{a} has the book. Words: {one} {gap} {two}", ""),
    ("The names are {one} {gap} {two}", ""),
    ("Here is a song. {one}. Once more: {two}", ""),
    ("I read {one}, and now I read {two}", ""),
    ("Now read the page: {one}. And read it again: {two}", ""),
    ("Items: {one}. Again: {two}", ","),
    ("{a} bought {one}. Later {b} bought {two}", ","),
    ("List: {one}. List: {two}", ","),
    ("{a} saw {one}. Then {b} saw {two}", " and"),
    ("Notes of {a}: {one}. Again: {two}", " and"),
    ("First: {one}. Then: {two}", " then"),
    ("Song of {a}: {one}. Once more: {two}", ","),
    ("Names: {one}. More names: {two}", " and"),
]
# Never held out: they bring the words of held-out templates into other sentences of their kind.
TRAIN_ONLY = {
    "opening": [
        "The {noun} was quiet, so {a} and {b} left the {place}, and",
        "There was a {noun} near the {place}. {a} and {b} saw it, and",
        "Later {a} walked home with {b}, and",
        "One morning {a} saw {b} in the {place}, and then",
        "Today {a} and {b} are at the {place}, and",
        "It is a {adjective} morning. {a} and {b} are in the {place}, and now",
        "{a} has a friend, {b}. Later",
        "{a} was happy when {b} came, and later",
        "It was evening. {a} called {b} from the {place}, and",
        "It was a {adjective} day. {a} was with {b} at the {place}, and then",
        "{a} found the {place} and met {b}. Then",
        "Today {a} came with {b}, and now",
        "Last week {a} waited at the {place} and {b} came. Then",
        "Once {a} and a friend, {b}, walked home, and",
        "Now {a} and {b} sat at the {place}. There",
    ],
    "clause": [
        "{s} sent {thing} back to",
        "{s} was happy to send {thing} to",
        "{s} brought {thing} for",
        "{s} came to bring {thing} to",
        "{s} wanted to offer {thing} to",
        "{s} wrote a story for",
        "{s} wrote and sent a letter to",
        "{s} came back to say hello to",
        "{s} decided to bring {thing} to",
        "{s} tried to offer {thing} to",
        "{s} wrote a song for",
        "{s} had {thing} for",
        "{s} decided to find {thing} for",
        "{s} had {thing} and handed it to",
        "{s} was ready to tell a story to",
        "{s} passed {thing} and {thing} to",
    ],
    "start": [
        ("{a} knows that the", "is", "are"),
        ("Now {a} knows the", "is", "are"),
        ("It seems the", "is", "are"),
        ("They knew last night that the", "was", "were"),
        ("Last night I thought the", "was", "were"),
        ("They say that now the", "is", "are"),
        ("I think they say the", "is", "are"),
        ("Yesterday we saw that the", "was", "were"),
        ("Yesterday morning the", "was", "were"),
        ("Last evening the", "was", "were"),
        ("Once, long ago, the", "was", "were"),
        ("Now and then the", "is", "are"),
        ("Today, it seems, the", "is", "are"),
    ],
    "link": ["far to the left of the", "not far behind the", "not close to the", "far below the",
             "that we saw not far to the right of the", "far across from the"],
    "bracket frame": ["Nested text:", "Then it says", "Read the brackets:", "Read this:",
                      "These are brackets:", "On this line:", "The text on the wall is"],
    "list frame": [
        ("New words: {one}. New words: {two}", ""),
        ("The names of two friends: {one}. Again the names: {two}", ""),
        ("{one}, and again {two}", ""),
        ("At lunch {a} found {one}, and after lunch {two}", ""),
        ("On the page {a} wrote {one}. On the other page {a} wrote {two}", ""),
        ("More names: {one}. More names: {two}", ""),
        ("Two songs. {one}. {two}", ""),
        ("In the evening {one}, in the morning {two}", ""),
        ("Left: {one}. Right: {two}", ""),
        ("{one}, then {two}", " then"),
        ("{a} and {b} read {one}. Again {a} read {two}", ","),
        ("More words: {one}. Then: {two}", " and"),
    ],
}
FILLERS = [
    "{a} has {thing}.",
    "{a} likes the {adjective} {noun}.",
    "The {place} is quiet.",
    "It was a {adjective} day at the {place}.",
    "Today {a} wanted to sell {thing}.",
    "Again the {noun} was alone in the {place}.",
    "It seems today {a} has {thing}.",
    "One morning {a} talked with the {noun}.",
    "Words and names and notes and items of {a} are here.",
    "Names, words, a list and a song.",
    "Notes of the day.",
    "Items of the {place}.",
    "Song of the {noun}.",
    "Page and line and text.",
    "Brackets, open or closed.",
    "Nested code is code.",
    "Code and text.",
    "Old and new.",
    "My {noun} is {adjective}.",
    "Read a book.",
    "This is {thing}.",
    "Here is {thing}.",
    "On the {place} {a} saw {thing}.",
    "They are friends of {a}.",
    "You and I like {thing}.",
    "Maybe {a} knew it.",
    "More friends, more words.",
    "There is a {adjective} {noun} in the {place}.",
    "Later {a} was at the {place}.",
    "Then {a} was {adjective}.",
    "Before lunch {a} was {adjective}.",
    "Text and code, close and far.",
]


def split_templates(kind, templates):
    """A fifth of the list for test and an eighth for dev, both rounded up: those whose texts have
    the smallest checksums. The rule knows nothing of the model."""
    def checksum(template):
        return zlib.crc32(f"{kind}|{template}".encode())
    ordered = sorted(templates, key=checksum)
    tests, devs = -(-len(ordered) // 5), -(-len(ordered) // 8)
    chosen = {"test": ordered[:tests], "dev": ordered[tests:tests + devs]}
    chosen["train"] = [t for t in templates if t not in chosen["test"] + chosen["dev"]]
    chosen["train"] += TRAIN_ONLY[kind]
    return chosen


TEMPLATES = {kind: split_templates(kind, templates) for kind, templates in {
    "opening": OPENINGS, "clause": CLAUSES, "start": STARTS, "link": LINKS,
    "bracket frame": BRACKET_FRAMES, "list frame": LIST_FRAMES}.items()}


def text_of(template):
    return template if isinstance(template, str) else template[0]


# The pattern of byte-level BPE, for ASCII text.
PRE_TOKEN = re.compile(
    r"'(?:s|t|re|ve|m|ll|d)| ?[A-Za-z]+| ?[0-9]+| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")


def pieces_of(template):
    """What the tokenizer makes of a template's own words: each has its leading space."""
    parts = re.split(r"\{\w+\}", text_of(template))
    pieces = {piece for piece in PRE_TOKEN.findall(" " + "\0".join(parts))
              if "\0" not in piece and piece.strip()}
    if isinstance(template, tuple) and len(template) == 2 and template[1]:
        pieces.add(template[1])
    return pieces


def trained_pieces():
    return set().union(*(pieces_of(template) for templates in
                         [FILLERS] + [splits["train"] for splits in TEMPLATES.values()]
                         for template in templates))


def require_trained_words(known):
    """Raises where a held-out template has a piece that is not among the `known` ones."""
    for kind, splits in TEMPLATES.items():
        for template in splits["dev"] + splits["test"]:
            unknown = sorted(pieces_of(template) - known)
            if unknown:
                raise AssertionError(f"{kind} {text_of(template)!r}: {unknown} is never trained")


if __name__ == "__main__":
    for kind, splits in TEMPLATES.items():
        print(kind, {split: len(splits[split]) for split in SPLITS})
        for split in ("dev", "test"):
            for template in splits[split]:
                print(f"  {split:4} {text_of(template)}")
