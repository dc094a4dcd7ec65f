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



class Chat(CliTest):
    """The published formats, on a tokenizer that has their tokens and on one that lacks one."""
    FORMATS = {
        "chatml": (["<|im_start|>", "<|im_end|>"],
                   "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n"),
        "llama3": (["<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"],
                   "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
                   "<|start_header_id|>assistant<|end_header_id|>\n\n"),
        "gemma": (["<start_of_turn>", "<end_of_turn>"],
                  "<start_of_turn>user\nHi<end_of_turn>\n<start_of_turn>model\n"),
    }

    def model_with(self, name, tokens):
        folder = self.folder / name
        folder.mkdir()
        file = json.loads((support.MODEL / "tokenizer.json").read_text())
        first = 1 + max(file["model"]["vocab"].values())
        first = max([first] + [t["id"] + 1 for t in file["added_tokens"]])
        for i, token in enumerate(tokens):
            file["added_tokens"].append({"id": first + i, "content": token, "single_word": False,
                                         "lstrip": False, "rstrip": False, "normalized": False,
                                         "special": True})
        (folder / "tokenizer.json").write_text(json.dumps(file))
        return folder, {token: first + i for i, token in enumerate(tokens)}

    def test_formats(self):
        for style, (tokens, text) in self.FORMATS.items():
            with self.subTest(style):
                model, ids = self.model_with(style, tokens)
                chat = records(run("tokenize", "-m", model, "--json", "--prompt", "Hi", "--chat",
                                   style))
                written = records(run("tokenize", "-m", model, "--json", "--prompt", text))
                self.assertEqual(chat, written)
                for token, number in ids.items():
                    self.assertEqual(chat[0]["ids"].count(number), text.count(token))

    def test_a_missing_token_is_an_error(self):
        for style, (tokens, _) in self.FORMATS.items():
            for missing in tokens:
                with self.subTest(style=style, missing=missing):
                    have = [t for t in tokens if t != missing]
                    model, _ = self.model_with(f"{style}{tokens.index(missing)}", have)
                    self.assert_error(run("tokenize", "-m", model, "--prompt", "Hi", "--chat",
                                          style), 2, f"--chat {style}", f'"{missing}"')
            self.assert_error(run("capture", "-m", support.MODEL, "--prompt", "Hi", "--chat", style,
                                  "-o", self.folder / "x.h5"), 2, f"--chat {style}", tokens[0])

    def test_one_text_only(self):
        model, _ = self.model_with("whole", self.FORMATS["chatml"][0])
        (self.folder / "p.jsonl").write_text('{"text": "a", "pair": "b"}\n')
        self.assert_error(run("tokenize", "-m", model, "--chat", "chatml", "--prompts",
                              self.folder / "p.jsonl"), 2, "p.jsonl:1", "pair")


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

    def test_no_prompts(self):
        files = {"e.txt": "", "e.jsonl": "\n\n", "e.csv": "text\n", "bom.txt": "\ufeff"}
        for name, content in files.items():
            (self.folder / name).write_text(content)
            for verb in (["tokenize", "-m", support.MODEL],
                         ["capture", "-m", support.MODEL, "-o", self.folder / "x.h5"]):
                for more in ([], ["--skip-bad"]):
                    with self.subTest(name=name, verb=verb[0]):
                        result = run(*verb, "--prompts", self.folder / name, *more)
                        self.assert_error(result, 2, name, "no prompts")
                        self.assertEqual(result.out, "")

    def test_a_line_that_cannot_be_encoded_is_named_or_left_out(self):
        (self.folder / "p.txt").write_text("Once\n\nupon\n")
        arguments = ["tokenize", "-m", support.MODEL, "--json", "--prompts", self.folder / "p.txt"]
        result = run(*arguments)
        self.assertEqual(result.code, 2, result)
        self.assertIn("p.txt:2: ", result.err)
        result = self.assert_ok(run(*arguments, "--skip-bad"))
        self.assertEqual(len(records(result)), 2)
        self.assertIn("1 bad line of the prompt file is left out; the first is line 2", result.err)
        (self.folder / "p.txt").write_text("\n\n")
        self.assert_error(run(*arguments, "--skip-bad"), 2, "p.txt", "line 1")

    def test_a_text_above_the_limit(self):
        limit = 16 << 20
        (self.folder / "long.txt").write_bytes(b"a" * (limit + 1))
        for verb in (["tokenize"], ["capture", "-o", self.folder / "x.h5"]):
            result = run(*verb, "-m", support.MODEL, "--prompts", self.folder / "long.txt")
            self.assert_error(result, 4, "long.txt:1", str(limit), str(limit + 1))

    def test_bad_line_is_named_and_the_rest_can_be_kept(self):
        prompts = self.folder / "p.jsonl"
        prompts.write_text('{"text": "Once"}\n{"text": \n{"text": "upon"}\n')
        arguments = ["tokenize", "-m", support.MODEL, "--json", "--prompts", prompts]
        result = run(*arguments)
        self.assertEqual(result.code, 2, result)
        self.assertIn("2", result.err.splitlines()[-1])
        result = self.assert_ok(run(*arguments, "--skip-bad"))
        self.assertEqual(len(records(result)), 2)
        self.assertIn("1 bad line of the prompt file is left out", result.err)

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
