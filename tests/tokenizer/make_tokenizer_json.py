#!/usr/bin/env python3
"""Makes tokenizer.json files out of vocabularies in other formats, for tests. Standard library only.

    make_tokenizer_json.py gpt2 ENCODER.json VOCAB.bpe OUT.json   byte-level BPE, GPT-2's own files
    make_tokenizer_json.py bert VOCAB.txt OUT.json                WordPiece, one piece a line
    make_tokenizer_json.py llama FILE.gguf OUT.json               SentencePiece BPE with byte fallback
    make_tokenizer_json.py unigram FILE.model OUT.json            SentencePiece unigram model

Each file is built the way the published tokenizer.json of that kind of model is built.
"""
import argparse
import base64
import json
import struct
import sys


def added(token_id, content, special=True):
    return {"id": token_id, "content": content, "single_word": False, "lstrip": False,
            "rstrip": False, "normalized": False, "special": special}


def tokenizer(model, **parts):
    keys = ("added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder")
    file = {"version": "1.0", "truncation": None, "padding": None}
    file.update({key: parts.get(key, [] if key == "added_tokens" else None) for key in keys})
    file["model"] = model
    return file


def template(before, after_each):
    """A TemplateProcessing with tokens (piece, id) in front and after each text."""
    def special(token, type_id):
        return {"SpecialToken": {"id": token[0], "type_id": type_id}}

    def sequence(name, type_id):
        return {"Sequence": {"id": name, "type_id": type_id}}

    single = [special(t, 0) for t in before] + [sequence("A", 0)]
    single += [special(t, 0) for t in after_each]
    pair = list(single)
    pair += [special(t, 1) for t in before if not after_each] + [sequence("B", 1)]
    pair += [special(t, 1) for t in after_each]
    names = {t[0]: {"id": t[0], "ids": [t[1]], "tokens": [t[0]]} for t in before + after_each}
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": names}


def bpe(vocabulary, merges, **options):
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
             "ignore_merges": False}
    model.update(options)
    model.update(vocab=vocabulary, merges=merges)
    return model


def from_gpt2(encoder_path, merges_path):
    with open(encoder_path, encoding="utf-8") as f:
        vocabulary = json.load(f)
    with open(merges_path, encoding="utf-8") as f:
        merges = [line for line in f.read().split("\n")[1:] if line]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    post = dict(byte_level, add_prefix_space=True, trim_offsets=False)
    end = vocabulary["<|endoftext|>"]
    return tokenizer(bpe(vocabulary, merges), added_tokens=[added(end, "<|endoftext|>")],
                     pre_tokenizer=byte_level, post_processor=post, decoder=dict(post))


def from_bert(vocabulary_path):
    with open(vocabulary_path, encoding="utf-8") as f:
        pieces = f.read().split("\n")
    vocabulary = {piece: i for i, piece in enumerate(pieces) if piece}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
             "max_input_chars_per_word": 100, "vocab": vocabulary}
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    cls, sep = ("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])
    return tokenizer(
        model, added_tokens=[added(vocabulary[s], s) for s in specials],
        normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                    "strip_accents": None, "lowercase": True},
        pre_tokenizer={"type": "BertPreTokenizer"}, post_processor=template([cls], [sep]),
        decoder={"type": "WordPiece", "prefix": "##", "cleanup": True})


class Gguf:
    """The metadata of a GGUF file (version 2 or 3)."""

    SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q",
               11: "<q", 12: "<d"}

    def __init__(self, path):
        with open(path, "rb") as f:
            self.data = f.read()
        if self.data[:4] != b"GGUF":
            sys.exit(f"{path} is not a GGUF file")
        self.at = 8
        self.number("<Q")
        count = self.number("<Q")
        self.fields = {}
        for _ in range(count):
            key = self.text()
            self.fields[key] = self.value(self.number("<I"))

    def number(self, form):
        value, = struct.unpack_from(form, self.data, self.at)
        self.at += struct.calcsize(form)
        return value

    def text(self):
        size = self.number("<Q")
        self.at += size
        return self.data[self.at - size:self.at].decode("utf-8")

    def value(self, kind):
        if kind == 8:
            return self.text()
        if kind == 9:
            kind = self.number("<I")
            return [self.value(kind) for _ in range(self.number("<Q"))]
        return self.number(self.SCALARS[kind])


def merges_from_scores(pieces, scores):
    """Every way to join two pieces into a third; better scores first."""
    place = {piece: i for i, piece in enumerate(pieces)}
    merges = []
    for piece, score in zip(pieces, scores):
        splits = [(piece[:i], piece[i:]) for i in range(1, len(piece))
                  if piece[:i] in place and piece[i:] in place]
        splits.sort(key=lambda pair: (place[pair[0]], place[pair[1]]))
        merges += [(left, right, score) for left, right in splits]
    merges.sort(key=lambda m: (m[2], len(m[0]), len(m[1])), reverse=True)
    return [[left, right] for left, right, _ in merges]


def from_llama_gguf(path):
    fields = Gguf(path).fields
    pieces = fields["tokenizer.ggml.tokens"]
    if fields["tokenizer.ggml.model"] != "llama":
        sys.exit("the vocabulary is not a SentencePiece one")
    merges = merges_from_scores(pieces, fields["tokenizer.ggml.scores"])
    space = "\u2581"
    decoder = {"type": "Sequence", "decoders": [
        {"type": "Replace", "pattern": {"String": space}, "content": " "},
        {"type": "ByteFallback"}, {"type": "Fuse"},
        {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
    normalizer = {"type": "Sequence", "normalizers": [
        {"type": "Prepend", "prepend": space},
        {"type": "Replace", "pattern": {"String": " "}, "content": space}]}
    model = bpe({piece: i for i, piece in enumerate(pieces)}, merges, unk_token="<unk>",
                fuse_unk=True, byte_fallback=True)
    return tokenizer(model, added_tokens=[added(i, pieces[i]) for i in range(3)],
                     normalizer=normalizer, post_processor=template([(pieces[1], 1)], []),
                     decoder=decoder)


def protobuf_fields(data):
    """(field number, value) of a serialised message: integers, floats as 4 bytes, bytes."""
    def varint(at):
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value, at
            shift += 7

    at = 0
    while at < len(data):
        tag, at = varint(at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(at)
        elif kind == 2:
            size, at = varint(at)
            value, at = data[at:at + size], at + size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = data[at:at + size], at + size
        else:
            sys.exit(f"wire type {kind} is not supported")
        yield tag >> 3, value


def from_unigram(path):
    with open(path, "rb") as f:
        message = list(protobuf_fields(f.read()))
    vocabulary, specials, unknown, charsmap, dummy_prefix = [], [], None, b"", True
    for field, value in message:
        if field == 1:
            piece, score, kind = "", 0.0, 1
            for number, part in protobuf_fields(value):
                if number == 1:
                    piece = part.decode("utf-8")
                elif number == 2:
                    score, = struct.unpack("<f", part)
                elif number == 3:
                    kind = part
            if kind == 2:
                unknown = len(vocabulary)
            if kind in (2, 3):
                specials.append(added(len(vocabulary), piece))
            vocabulary.append([piece, score])
        elif field == 3:
            for number, part in protobuf_fields(value):
                if number == 2:
                    charsmap = part
                elif number == 3:
                    dummy_prefix = bool(part)
    normalizers = [{"type": "Strip", "strip_left": False, "strip_right": True},
                   {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]
    if charsmap:
        normalizers.insert(0, {"type": "Precompiled",
                               "precompiled_charsmap": base64.b64encode(charsmap).decode("ascii")})
    metaspace = {"type": "Metaspace", "replacement": "\u2581",
                 "prepend_scheme": "always" if dummy_prefix else "never", "split": True}
    model = {"type": "Unigram", "unk_id": unknown, "vocab": vocabulary, "byte_fallback": False}
    return tokenizer(model, added_tokens=specials,
                     normalizer={"type": "Sequence", "normalizers": normalizers},
                     pre_tokenizer=metaspace, decoder=dict(metaspace))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    makers = {"gpt2": from_gpt2, "bert": from_bert, "llama": from_llama_gguf,
              "unigram": from_unigram}
    parser.add_argument("kind", choices=makers)
    parser.add_argument("inputs", nargs="+")
    parser.add_argument("out")
    arguments = parser.parse_args()
    file = makers[arguments.kind](*arguments.inputs)
    with open(arguments.out, "w", encoding="utf-8") as f:
        json.dump(file, f, ensure_ascii=False)
        f.write("\n")


if __name__ == "__main__":
    main()
