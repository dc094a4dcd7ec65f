"""Memory that runs out while attnscope reads a model, a tokenizer, prompts or a spec: at whatever
allocation, the command ends with exit 4 and one line, or does its work; it never crashes."""
import json
import os
import unittest

import support
from support import CliTest, run

FAULTS = os.environ.get("ATTNSCOPE_MALLOC_FAULT", "")
POINTS = 30  # allocations that fail, by command and kind of fault


def points(count):
    """The first ones, where the program starts, then some spread over all, ever further apart."""
    chosen = set(range(1, 13))
    for i in range(POINTS):
        chosen.add(1 + int((count - 1) * (i / (POINTS - 1)) ** 2))
    return sorted(p for p in chosen if p <= count)


@unittest.skipUnless(FAULTS, "no library that lets allocations fail in this build")
class Memory(CliTest):
    def run_with(self, command, **faults):
        # Sorted, so that a failure repeats; the cache of hashes would make the second run shorter.
        environment = {"LD_PRELOAD": FAULTS, "ATTNSCOPE_CACHE": "", "LANG": "C.UTF-8"}
        environment.update({f"MALLOC_FAULT_{key}": str(value) for key, value in faults.items()})
        return run(*command, env=environment)

    def allocations(self, command, code):
        path = self.folder / "count"
        result = self.run_with(command, COUNT=path)
        self.assertEqual(result.code, code, result)
        return int(path.read_text())

    def sweep(self, *command, code=0):
        count = self.allocations(command, code)
        self.assertGreater(count, 100)
        expected = self.run_with(command)
        failed = 0
        for lasting in (0, 1):
            for point in points(count):
                result = self.run_with(command, AT=point, LASTING=lasting)
                with self.subTest(command=command[0], at=point, of=count, lasting=lasting):
                    if result.code == code:
                        # What a smaller buffer could be used for.
                        self.assertEqual(result.out, expected.out)
                        continue
                    failed += 1
                    self.assert_error(result, 4, "memory")
        self.assertGreater(failed, POINTS)

    def test_inspect(self):
        self.sweep("inspect", support.MODEL)

    def test_sharded_model(self):
        model = self.folder / "m"
        model.mkdir()
        for name in ("config.json", "model.safetensors"):
            (model / name).write_bytes((support.FIXTURES / "families" / "llama" / name).read_bytes())
        content = (model / "model.safetensors").read_bytes()
        header = json.loads(content[8:8 + int.from_bytes(content[:8], "little")])
        (model / "model.safetensors").rename(model / "a.safetensors")
        (model / "model.safetensors.index.json").write_text(json.dumps(
            {"weight_map": {name: "a.safetensors" for name in header if name != "__metadata__"}}))
        self.sweep("inspect", model, "--json")

    def test_tokenize(self):
        prompts = self.folder / "p.jsonl"
        prompts.write_text('{"text": "Once upon a time"}\n{"text": "\\u00e9t\\u00e9", "n": 1}\n')
        self.sweep("tokenize", "-m", support.MODEL, "--prompts", prompts, "--json")

    def test_wordpiece(self):
        model = support.FIXTURES / "tokenizers" / "minilm"
        self.sweep("tokenize", "-m", model, "--prompt", "The quick brown fox")

    def test_spec(self):
        spec = self.folder / "spec.json"
        spec.write_text(json.dumps({"model": str(support.MODEL), "prompt": "x", "ids": [1], "topk": 4}))
        self.sweep("capture", "--spec", spec, "-o", self.folder / "o.h5", code=2)


if __name__ == "__main__":
    unittest.main()
