"""The tokenizer of the demo model: byte-level BPE in which every known word is one piece.

A text's first word gets a leading space, so that a word is the same piece everywhere. Known words are looked up whole (`ignore_merges`), everything else falls apart into bytes, so any
text can be encoded. `Encoder` does for ASCII text what the tokenizer.json says.
"""

import json

import language
from templates import PRE_TOKEN

BEGIN = "<|begin|>"


def byte_letters():
    """The printable letter that byte-level BPE writes for each byte."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {byte: chr(byte) for byte in plain}
    for byte in range(256):
        if byte not in letters:
            letters[byte] = chr(256 + len(letters) - len(plain))
    return letters


LETTERS = byte_letters()


def as_letters(text):
    return "".join(LETTERS[byte] for byte in text.encode())


def make_vocabulary():
    pieces = [BEGIN] + [LETTERS[byte] for byte in range(256)]
    pieces += [as_letters(piece) for piece in language.vocabulary()]
    return {piece: index for index, piece in enumerate(dict.fromkeys(pieces))}


def tokenizer_json():
    byte_level = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True,
                  "use_regex": True}
    begin = {"SpecialToken": {"id": BEGIN, "type_id": 0}}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": 0, "content": BEGIN, "single_word": False, "lstrip": False,
                          "rstrip": False, "normalized": False, "special": True}],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [begin, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [begin, {"Sequence": {"id": "A", "type_id": 0}},
                     {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {BEGIN: {"id": BEGIN, "ids": [0], "tokens": [BEGIN]}},
        },
        "decoder": byte_level,
        "model": {"type": "BPE", "dropout": None, "unk_token": None,
                  "continuing_subword_prefix": None, "end_of_word_suffix": None,
                  "fuse_unk": False, "byte_fallback": False, "ignore_merges": True,
                  "vocab": make_vocabulary(), "merges": []},
    }


class Encoder:
    def __init__(self, path=None):
        if path is None:
            self.vocabulary = make_vocabulary()
        else:
            with open(path, encoding="utf-8") as file:
                self.vocabulary = json.load(file)["model"]["vocab"]
        self.pieces = {index: piece for piece, index in self.vocabulary.items()}
        self.known = {}

    def encode(self, text):
        """Ids without the begin token."""
        ids = []
        if not text.startswith(" "):
            text = " " + text
        for piece in PRE_TOKEN.findall(text):
            found = self.known.get(piece)
            if found is None:
                letters = as_letters(piece)
                whole = self.vocabulary.get(letters)
                found = [whole] if whole is not None else [self.vocabulary[x] for x in letters]
                self.known[piece] = found
            ids += found
        return ids

    def prompt(self, text):
        return [self.vocabulary[BEGIN]] + self.encode(text)

    def one(self, text):
        ids = self.encode(text)
        if len(ids) != 1:
            raise ValueError(f"{text!r} is {len(ids)} tokens, not one")
        return ids[0]
