#!/usr/bin/env python3
"""Write the seeds of the fuzz targets into corpus/, from tests/fixtures and a few texts below.

    make_corpus.py

Seeds are named seed-*; every other file in corpus/ is an input that once found a fault, and stays.
"""
import json
import pathlib
import struct

HERE = pathlib.Path(__file__).resolve().parent
FIXTURES = HERE.parent / "fixtures"
CORPUS = HERE / "corpus"


def write(target, name, content):
    folder = CORPUS / target
    folder.mkdir(parents=True, exist_ok=True)
    content = content.encode() if isinstance(content, str) else content
    (folder / f"seed-{name}").write_bytes(content)


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def safetensors_headers():
    files = list((FIXTURES / "malformed" / "safetensors").glob("*.safetensors"))
    files += [FIXTURES / "families" / "llama" / "model.safetensors"]
    for path in files:
        content = path.read_bytes()
        if len(content) < 8:
            continue
        length = min(struct.unpack("<Q", content[:8])[0], len(content) - 8)
        yield path.stem if path.stem != "model" else path.parent.name, \
            struct.pack("<Q", len(content) - 8 - length) + content[8:8 + length]


INDEXES = {
    "two": {"metadata": {"total_size": 8}, "weight_map": {"x": "a.safetensors", "y": "b.safetensors"}},
    "one": {"weight_map": {"x": "a.safetensors"}},
    "missing": {"weight_map": {"x": "model-00001-of-00002.safetensors"}},
    "link": {"weight_map": {"z": "c.safetensors"}},
    "parent": {"weight_map": {"z": "../c.safetensors"}},
    "absolute": {"weight_map": {"z": "/etc/passwd"}},
    "nul": {"weight_map": {"x": "a.safetensors\0"}},
    "wrong": {"weight_map": {"y": "a.safetensors"}},
    "empty": {"weight_map": {}},
    "list": {"weight_map": ["a.safetensors"]},
}

ROPE = [
    {"rope_type": "linear", "factor": 2.0},
    {"rope_type": "dynamic", "factor": 2.0},
    {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32, "beta_fast": 32,
     "beta_slow": 1, "mscale": 1.0, "mscale_all_dim": 1.0},
    {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
     "original_max_position_embeddings": 32},
]


def configs():
    for path in (FIXTURES / "families").glob("*/config.json"):
        yield path.parent.name, path.read_bytes()
    for path in (FIXTURES / "custom").glob("*.json"):
        yield path.stem, path.read_bytes()
    llama = json.loads((FIXTURES / "families" / "llama" / "config.json").read_text())
    for rope in ROPE:
        yield "rope-" + rope["rope_type"], compact(llama | {"rope_scaling": rope})
    gemma = json.loads((FIXTURES / "families" / "gemma2" / "config.json").read_text())
    both = {kind: {"rope_type": "default", "rope_theta": theta}
            for kind, theta in (("full_attention", 1e6), ("sliding_attention", 1e4))}
    yield "rope-by-type", compact(gemma | {"rope_parameters": both})
    yield "classifier", compact(llama | {"architectures": ["LlamaForSequenceClassification"],
                                         "id2label": {"0": "no", "1": "yes"}})


# Stands in for the 256 byte tokens of the fixture, which say nothing to the fuzzer.
SMALL_BPE = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": True,
             "ignore_merges": False, "merges": ["a b", ["ab", "a"]],
             "vocab": {"<0x41>": 0, "a": 1, "b": 2, "ab": 3, "aba": 4, "Ġ": 5, "▁": 6}}


def kinds(value):
    """The types and names of options in a part of a tokenizer, to see whether a case adds any."""
    if isinstance(value, dict):
        here = {(key, item) for key, item in value.items()
                if key in ("type", "behavior", "prepend_scheme", "Regex")}
        return here | {("key", key) for key in value} | set().union(*map(kinds, value.values()))
    return set().union(*map(kinds, value)) if isinstance(value, list) else set()


def tokenizers():
    fixture = json.loads((FIXTURES / "tokenizers" / "cases.json").read_text())
    seen = set()
    for number, case in enumerate(fixture["cases"]):
        new = kinds(case["changes"]) - seen
        if not new and case["changes"]:
            continue
        seen |= new
        base = case["base"]
        document = dict(fixture["bases"]["bytes" if base == "tiny-random-gpt2" else base])
        if document["model"]["type"] == "BPE":
            document["model"] = SMALL_BPE
        if base != "unigram_bytes":
            yield f"case-{number:03}", compact(document | case["changes"])
    # The two settings of a template that tokenizer_config.json decides.
    document = dict(fixture["bases"]["wordpiece"])
    config = {"bos_token": "the", "add_bos_token": True, "chat_template": "{{ x }}",
              "added_tokens_decoder": {"1": {"content": "a", "special": True}}}
    yield "with-config", compact(document) + "\0" + compact(config)


TEXTS = {
    "words": "The quick brown fox's 123 jumps, isn't it?  \n\n ok",
    "scripts": "h\u00e4ts e\u0301 \u4e2d\u6587 \u0930\u0941 \u05d0\u05d1 \ufb01 \U0001f468\u200d\U0001f469",
    "marks": "\u202eabc\u2066 \u0130\u0149\u1fb3 \u1112\u1161\u11ab \u00ad\ufffd",
    "special": "<|endoftext|> [CLS] <s>\u2581a </s>[MASK]",
    "spaces": " \t\r\n\u00a0\u2003\u3000 x",
    "nul": "a\0b",
}
BAD_BYTES = b"a\xc3\xff\xe2\x82 \xed\xa0\x80\xf4\x90\x80\x80 b"

PROMPTS = {
    "txt": (0, "The cat sat.\r\n\r\nMary gave\u2028John\n"),
    "jsonl": (1, '{"text":"a b","pair":"c","group":"x","n":1.5}\n\n{"ids":[1,2],"token_types":[0,1]}\n'),
    "csv": (2, 'text,label,note\n"a, ""b""\nc",x,1\r\nd,,\n'),
    "csv-ids": (2, 'ids,token_types\n"[1, 2]","0 0"\n3 4,\n'),
    "tsv": (3, "\ufeffprompt\tpair\na\tb\n"),
    "skip": (9, '{"text":1}\n{"text":"a","text":"b"}\nx\n{"text":"\\ud800"}\n'),
    "replace": (4, BAD_BYTES),
    "long": (24, "x" * 100 + "\ny\n"),
}

PAIR = ('{"clean":"Today Frank is","corrupt":"Today Nina is","answer":" with","wrong":" far",'
        '"group":"g","source":"Frank","n":1}')
# Two bits for the kind, one for misaligned pairs, one for bad lines, the rest for the answers.
PAIRS = {
    "jsonl": (0x30, PAIR + "\n\n" + PAIR.replace("Nina", "Nina is") + "\n"),
    "skip": (0x3C, PAIR.replace("Nina", "Nina is") + "\n[]\n" + PAIR + "\n"),
    "lists": (0x30, '{"prompt":"Today","answers":[" with"," is"],"wrong_answers":[" far"]}\n'),
    "ids": (0x30, '{"clean_ids":[0,5],"corrupt_ids":[0,6],"answer_id":7,"wrong_ids":[8,9]}\n'),
    "label": (0x40, '{"clean":"Today","label":1}\n'),
    "csv": (0x31, 'clean,corrupted,IO,distractor,template\nToday Frank,"Today Nina", is, far,a\n'),
    "foreign": (0x39, ",clean,corrupted,correct_idx,incorrect_idx\n4,Today,Frank,30,31\n"),
    "tsv": (0x22, "\ufeffprompt\tanswer\nToday\t is\n"),
    "json": (0x33, '{"seq_labels":["a","b"],"word_idxs":{"IO":1},"prompts":[{"clean":"Today Frank",'
                   '"corrupt":"Today Nina","answers":[" is"],"wrong_answers":[" far"]}]}'),
    "json-ids": (0x33, '[{"clean":[3,0],"corrupt":[3,1],"answers":[5],"wrong_answers":[6]}]'),
}

SELECTORS = {
    "layers": (0, "0-3,7,11"), "all": (0, "*"), "backwards": (0, "3-1"),
    "heads": (1, "0.1,1.*,0-2.0,3.4-6"), "heads-all": (1, "all"),
    "positions": (2, '0,1-2,-1,last,"Mary","Mary#2",subject'),
    "span": (2, "range,last"), "escaped": (2, '"a\\"b,c#1"'),
    "hooks": (3, "pattern,z,blocks.*.hook_mlp_out,3.pattern,resid_post"),
    "hook": (4, "blocks.2.attn.hook_pattern"), "cross": (4, "decoder.2.cross_attn.hook_z"),
    "bridge": (4, "blocks.3.hook_in"), "shard": (5, "3/8"), "bytes": (6, "1.5GiB"),
    "plain-bytes": (6, "500"), "ids": (9, "5,17,3"),
    "units": (7, "1.1+1.3@2,kv:1.*,mlp:1,neuron:1.0-3,attn:0"),
    "receivers": (8, "1.7.q,1.*.k,0.0.v,mlp:1,logits"),
}

CAPTURE = {"model": "m", "prompt": "a b", "hooks": "pattern,z", "layers": "0-3", "heads": "0.1",
           "positions": "last", "map_dtype": "f16", "topk": 4, "layout": "packed", "dtype": "bf16",
           "engine": "reference", "bos": "off", "chat": "chatml", "shard": "1/2", "budget": 1000,
           "seed": 7, "out": {"hex": "ff2e6835"}, "stats_only": False}
SPECS = {
    "capture": {"verb": "capture", "spec": CAPTURE, "command_line": ["attnscope", {"hex": "fe"}]},
    "bare-capture": CAPTURE,
    "ids": {"verb": "capture", "spec": {"model": "m", "ids": [1, 2], "token_types": [0, 1]}},
    "demo": {"verb": "demo", "spec": {"out": "d", "force": True, "threads": 2}},
    "ablate": {"verb": "ablate", "spec": {"model": "m", "pairs": "p.csv", "unit": "head-pos",
                                          "method": "zero,mean-pos", "verify": -1, "limit": 3}},
    "patch": {"verb": "patch", "spec": {"model": "m", "ids": [1], "corrupt_ids": [2], "answer_id": 3,
                                        "site": "z", "direction": "noise", "floor": 0.5}},
    "verdict": {"verb": "verdict", "spec": {"model": "m", "pairs": "p.csv", "delta": 0.1}},
    "tokenize": {"verb": "tokenize", "spec": {"model": "m", "prompts": "p.txt", "skip_bad": True}},
    "stats": {"verb": "stats", "spec": {"file": "a.h5", "sort": "max", "top": 3}},
    "export": {"verb": "export", "spec": {"file": "a.h5", "out": "b", "heads": "0.*",
                                          "format": "png", "hook": "scores"}},
    "merge": {"verb": "merge", "spec": {"files": ["a.h5", "b.h5"], "out": "c.h5"}},
    "unknown": {"verb": "capture", "spec": {"modell": "m"}},
}

MANIFEST = {"schema": "attnscope-parts/1", "run_id": "r",
            "config": {"topk": 8, "nested": {"a": [1]}}, "shards": [[0, 1], [1, 2]],
            "replace": False}
MANIFESTS = {
    "same": MANIFEST,
    "option": MANIFEST | {"config": {"topk": 4, "nested": {"a": [1]}}},
    "nested": MANIFEST | {"config": {"topk": 8, "nested": {"a": {"b": 1}}}},
    "plan": MANIFEST | {"shards": [[0, 3]]},
    "replace": MANIFEST | {"replace": True},
    "replace-number": MANIFEST | {"replace": 1},
    "no-config": {"schema": "attnscope-parts/1"},
    "config-list": MANIFEST | {"config": [1, 2]},
    "config-number": MANIFEST | {"config": 1},
}

FILE = "GET /files/0 HTTP/1.1\r\nHost: localhost:8765\r\n"
REQUESTS = {
    "page": "GET / HTTP/1.1\r\nHost: 127.0.0.1:8765\r\nCookie: attnscope-8765=00\r\n\r\n",
    "token": "GET /?token=00 HTTP/1.1\r\nHost: [::1]:8765\r\nSec-Fetch-Site: cross-site\r\n\r\n",
    "range": FILE + "Range: bytes=2-5\r\nIf-Range: \"x\"\r\n\r\n",
    "last": FILE + "Range: bytes=-5\r\n\r\n",
    "open": FILE + "Range: bytes=5-\r\n\r\n",
    "beyond": FILE + "Range: bytes=18446744073709551615-\r\n\r\n",
    "ranges": FILE + "Range: bytes=0-1,3-4\r\n\r\n",
    "known": FILE + "If-None-Match: W/\"x\", *\r\n\r\n",
    "range-alone": "bytes=2-5",
    "head": "HEAD /files.json HTTP/1.0\r\nHost: localhost:8765\r\nConnection: close\r\n\r\n",
    "post": "POST / HTTP/1.1\r\nHost: localhost:8765\r\nContent-Length: 5\r\n\r\nhello",
    "chunked": "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two": FILE + "\r\n" + FILE + "\r\n",
    "folded": FILE + "Origin: http://localhost:8765\r\n x\r\n\r\n",
    "bare": FILE.replace("\r", "") + "\n",
    "none": "GET /\r\n\r\n",
}


def main():
    for old in CORPUS.glob("*/seed-*"):
        old.unlink()
    for name, header in safetensors_headers():
        write("safetensors_header", name, header)
    for name, config in configs():
        write("config", name, config)
    for name, document in tokenizers():
        write("tokenizer_json", name, document)
    for name, index in INDEXES.items():
        write("shard_index", name, compact(index))
    for name, text in TEXTS.items():
        write("text", name, text)
        # Byte-level BPE, WordPiece, Unigram; every second one as a pair.
        for choice in (0, 20, 115, 117, 118):
            write("encode", f"{name}-{choice}", bytes([choice, choice % 2 * 16]) + text.encode())
    write("text", "bad-bytes", BAD_BYTES)
    write("encode", "bad-bytes", bytes([0, 8]) + BAD_BYTES)
    for name, (kind, content) in PROMPTS.items():
        content = content.encode() if isinstance(content, str) else content
        write("prompts", name, bytes([kind]) + content)
    for name, (kind, content) in PAIRS.items():
        write("pairs", name, bytes([kind]) + content.encode())
    for name, (kind, content) in SELECTORS.items():
        write("selectors", name, bytes([kind]) + content.encode())
    for name, spec in SPECS.items():
        write("spec_json", name, compact(spec))
    for name, manifest in MANIFESTS.items():
        write("shard_manifest", name, compact(manifest))
    for name, request in REQUESTS.items():
        write("http_request", name, request)
    files = list(CORPUS.rglob("*"))
    print(len(files), "files,", sum(f.stat().st_size for f in files if f.is_file()), "bytes")


if __name__ == "__main__":
    main()
