"""attnscope tokenize: ids, pieces and offsets, from one prompt and from files."""
import json
import os
import pathlib
import unittest

import support
from support import CliTest, run


def records(result):
    return [json.loads(line) for line in result.out.splitlines()]


class Json(CliTest):
    def tokenize(self, *arguments):
        return records(self.assert_ok(run("tokenize", "-m", support.MODEL, "--json", *arguments)))

    def test_oracle(self):
        material = os.environ.get("ATTNSCOPE_MATERIAL")
        if not material:
            self.skipTest("ATTNSCOPE_MATERIAL is not set")
        oracle = json.loads(
            (pathlib.Path(material) / "tokenizers/oracle_tiny-random-gpt2.json").read_text())
        entries = [e for e in oracle["entries"] if e.get("ids")]
        self.assertGreater(len(entries), 30)
        prompts = self.folder / "oracle.jsonl"
        prompts.write_text("".join(json.dumps({"text": e["text"]}) + "\n" for e in entries))
        got = self.tokenize("--prompts", prompts, "--no-special")
        self.assertEqual(len(got), len(entries))
        for entry, record in zip(entries, got):
            with self.subTest(entry["name"]):
                self.assertEqual(record["ids"], entry["ids"])
                self.assertEqual(record["pieces"], entry["tokens"])
                self.assertEqual(record["offsets"], entry["offsets"])

    def test_vocabulary_is_the_source_of_pieces(self):
        vocabulary = json.loads((support.MODEL / "vocab.json").read_text())
        for text in ("Once upon a time", "the  cat\n", "naïve café", "日本"):
            [record] = self.tokenize("--prompt", text)
            self.assertEqual([vocabulary[p] for p in record["pieces"]], record["ids"])
            # Byte-level pieces spell the text.
            spans = [text[b:e] for b, e in record["offsets"]]
            if text.isascii():
                self.assertEqual("".join(spans), text)

    def test_keys(self):
        [record] = self.tokenize("--prompt", "Once")
        self.assertEqual(list(record), ["ids", "pieces", "offsets"])

    def test_files(self):
        texts = ["Once upon a time", "The cat", "Mary gave the book to"]
        one_by_one = [self.tokenize("--prompt", text)[0] for text in texts]
        files = {
            "p.txt": "\n".join(texts) + "\n",
            "crlf.txt": "\r\n".join(texts) + "\r\n",
            "bom.txt": "\ufeff" + "\n".join(texts),
            "p.jsonl": "".join(json.dumps({"text": t, "group": 1}) + "\n" for t in texts),
            "p.csv": "group,text\n" + "".join(f'1,"{t}"\n' for t in texts),
        }
        for name, text in files.items():
            with self.subTest(name):
                (self.folder / name).write_bytes(text.encode())
                self.assertEqual(self.tokenize("--prompts", self.folder / name), one_by_one)

    def test_ids(self):
        [record] = self.tokenize("--ids", "10,11,12")
        self.assertEqual(record["ids"], [10, 11, 12])

    def test_chat_formats(self):
        [record] = self.tokenize("--prompt", "Hi", "--chat", "chatml")
        [written] = self.tokenize(
            "--prompt", "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n")
        self.assertEqual(record["ids"], written["ids"])
        self.assertGreater(len(record["ids"]), len(self.tokenize("--prompt", "Hi")[0]["ids"]))


class Text(CliTest):
    def test_table(self):
        result = self.assert_ok(run("tokenize", "-m", support.MODEL, "--prompt", "Once upon"))
        [record] = records(run("tokenize", "-m", support.MODEL, "--json", "--prompt", "Once upon"))
        lines = result.out.splitlines()
        self.assertEqual(len(lines), 1 + len(record["ids"]))
        for line, token, piece in zip(lines[1:], record["ids"], record["pieces"]):
            self.assertIn(str(token), line.split())
            self.assertIn(piece, line.split())


class BadInput(CliTest):
    def test_invalid_utf8(self):
        result = run("tokenize", "-m", support.MODEL, "--prompt", b"ab\xffcd")
        self.assert_error(result, 2, "byte 2", "\\xFF")
        replaced = run("tokenize", "-m", support.MODEL, "--json", "--invalid-utf8", "replace",
                       "--prompt", b"ab\xffcd")
        written = run("tokenize", "-m", support.MODEL, "--json", "--prompt", "ab\ufffdcd")
        self.assertEqual(records(replaced), records(written))

    def test_empty_prompt(self):
        self.assert_error(run("tokenize", "-m", support.MODEL, "--prompt", ""), 2)

    def test_bad_line_is_named_and_the_rest_can_be_kept(self):
        prompts = self.folder / "p.jsonl"
        prompts.write_text('{"text": "Once"}\n{"text": \n{"text": "upon"}\n')
        arguments = ["tokenize", "-m", support.MODEL, "--json", "--prompts", prompts]
        result = run(*arguments)
        self.assertEqual(result.code, 2, result)
        self.assertIn("2", result.err.splitlines()[-1])
        result = self.assert_ok(run(*arguments, "--skip-bad"))
        self.assertEqual(len(records(result)), 2)
        self.assertIn("1 bad line", result.err)

    def test_missing_things(self):
        self.assert_error(run("tokenize", "-m", self.folder / "none", "--prompt", "x"), 2, "none")
        self.assert_error(run("tokenize", "-m", support.MODEL, "--prompts", self.folder / "n.txt"),
                          2, "n.txt")
        self.assert_error(run("tokenize", "-m", support.FIXTURES / "families/llama", "--prompt",
                              "x"), 2, "tokenizer.json")

    def test_kinds_of_files(self):
        (self.folder / "p.xml").write_text("<a/>")
        self.assert_error(run("tokenize", "-m", support.MODEL, "--prompts", self.folder / "p.xml"),
                          2, "p.xml")
        os.mkfifo(self.folder / "fifo.txt")
        self.assert_error(run("tokenize", "-m", support.MODEL, "--prompts",
                              self.folder / "fifo.txt", timeout=20), 2, "regular file")


if __name__ == "__main__":
    unittest.main()
