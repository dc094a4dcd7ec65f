"""Bad command lines: exit 2, one line, and the nearest thing that exists."""
import os
import shutil
import subprocess
import unittest

import support
from support import CliTest, run

CAPTURE = ["capture", "-m", support.MODEL, "--prompt", "Once", "-o", "never.h5"]


class Unknown(CliTest):
    def test_verb(self):
        self.assert_error(run("captur"), 2, '"captur"', "capture")
        self.assert_error(run("frobnicate"), 2, '"frobnicate"', "--help")

    def test_option(self):
        self.assert_error(run("capture", "--promt", "x"), 2, '"--promt"', "--prompt")
        self.assert_error(run("stats", "run.h5", "--sorted=sink"), 2, '"--sorted"', "--sort")
        for verb in support.VERBS:
            self.assert_error(run(verb, "--no-such-option-at-all"), 2, "--no-such-option-at-all",
                              verb)

    def test_extra_word(self):
        self.assert_error(run("inspect", "a", "b"), 2, '"b"')

    def test_choice(self):
        self.assert_error(run(*CAPTURE, "--bos", "aut"), 2, "--bos", '"aut"', "auto")
        self.assert_error(run(*CAPTURE, "--map-dtype", "r11"), 2, "--map-dtype", "r10")
        self.assert_error(run(*CAPTURE, "--device", "gpu"), 2, "--device", "cuda")
        # A number is a device that may be there.
        for device in ("cuda:99", "cuda:300"):
            result = run(*CAPTURE, "--device", device)
            self.assert_error(result, 3, f"--device {device}: ", "use --device cpu")
        self.assert_error(run(*CAPTURE, "--device", "cuda:x"), 2, "--device", "cuda:N")

    def test_nothing_is_written(self):
        self.assert_error(run(*CAPTURE, "--promt", "x", cwd=self.folder), 2)
        self.assertEqual(os.listdir(self.folder), [])


class Contradictions(CliTest):
    def test_same_option_twice(self):
        for option in (["--seed", "1", "--seed", "1"], ["--quiet", "--quiet"],
                       ["--out", "b.h5"], ["--model", "b"]):
            self.assert_error(run(*CAPTURE, *option), 2, option[0], "once")

    def test_two_prompt_sources(self):
        self.assert_error(run(*CAPTURE, "--ids", "1,2"), 2, "--ids", "--prompt")
        self.assert_error(run(*CAPTURE, "--prompts", "p.txt"), 2, "--prompts", "--prompt")

    def test_force_and_resume(self):
        self.assert_error(run(*CAPTURE, "--force", "--resume"), 2, "--force", "--resume")

    def test_head_and_heads(self):
        self.assert_error(run("export", "run.h5", "--head", "0.0", "--heads", "0.*", "-o", "x.png"),
                          2, "--head", "--heads")

    def test_missing(self):
        self.assert_error(run("capture", "--prompt", "x", "-o", "x.h5"), 2, "--model")
        self.assert_error(run("capture", "-m", support.MODEL, "-o", "x.h5"), 2, "--prompt")
        self.assert_error(run("stats"), 2, "FILE")
        self.assert_error(run("diff", "a.h5"), 2, "B")
        self.assert_error(run("show", "run.h5"), 2, "--head")
        self.assert_error(run("capture", "--prompt"), 2, "--prompt", "value")


class EmptyValues(CliTest):
    """An empty variable of a script must not mean the default."""

    def test_no_option_takes_one(self):
        seen = 0
        for verb in support.VERBS:
            for option, value in support.options_of(verb).items():
                if not value or option == "--prompt":
                    continue
                seen += 1
                with self.subTest(verb=verb, option=option):
                    self.assert_error(run(verb, option, ""), 2, option, "empty")
                    self.assert_error(run(verb, option + "="), 2, option)
        self.assertGreater(seen, 40)

    def test_no_file_is_called_nothing(self):
        for verb in ("inspect", "stats", "show", "export", "verify", "merge", "diff"):
            with self.subTest(verb=verb):
                self.assert_error(run(verb, "", "b.h5", "-o", "x.h5")
                                  if verb in ("merge", "diff") else run(verb, ""), 2, "empty")

    def test_an_empty_prompt_is_the_tokenizers_business(self):
        result = self.assert_error(run("tokenize", "-m", support.MODEL, "--prompt", ""), 2)
        self.assertIn("no tokens", result.err)


class ResultNames(CliTest):
    """Every result has a companion FILE.json of its own: names end in .h5."""

    def test_other_endings_are_refused(self):
        (self.folder / "run.json").write_text("{}")
        for name in ("run", "run.txt", "run.hdf5", "run.json", ".h5", "folder/", "run.h5.txt"):
            for verb in (CAPTURE[:-2], ["merge", "a.h5", "b.h5"], ["diff", "a.h5", "b.h5"]):
                with self.subTest(name=name, verb=verb[0]):
                    self.assert_error(run(*verb, "-o", name, "--force", cwd=self.folder), 2,
                                      "--out", ".h5", f'"{name}"')
        self.assertEqual(os.listdir(self.folder), ["run.json"])


class BadJson(CliTest):
    """Every kind of JSON that is read says where it is wrong and what stands there, in words."""
    CASES = {'{"a": NaN}': '"NaN"', '{"a": 1e400}': "too large", '{"a": 1': "ends too early",
             '{"a": "x': "ends inside a string", "{'a': 1}": "unexpected", '{"a": tru}': '"tru"'}
    JARGON = ("exception", "literal", "syntax error", "last read", "parse")

    def model(self):
        folder = self.folder / "model"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(support.MODEL, folder)
        return folder

    def test_in_every_file(self):
        model = self.model()
        (self.folder / "p.jsonl").write_text("")
        tokenize = ["tokenize", "-m", model, "--prompt", "x"]
        places = {
            model / "config.json": ["inspect", model],
            model / "tokenizer.json": tokenize,
            model / "tokenizer_config.json": tokenize,
            model / "model.safetensors.index.json": ["inspect", model],
            self.folder / "custom.json": ["inspect", self.folder / "custom.json"],
            self.folder / "spec.json": ["capture", "--spec", self.folder / "spec.json"],
            self.folder / "p.jsonl": [*tokenize[:3], "--prompts", self.folder / "p.jsonl"],
            model / "model.safetensors": ["inspect", model],
        }
        for path, command in places.items():
            self.model()
            if path.name.endswith("index.json"):
                (model / "model.safetensors").unlink()
            for text, says in self.CASES.items():
                with self.subTest(path=path.name, text=text):
                    if path.suffix == ".safetensors" and text == '{"a": 1':
                        text = '{"a": {"dtype": "F32"'
                    content = text.encode()
                    if path.suffix == ".safetensors":
                        content = len(content).to_bytes(8, "little") + content
                    path.write_bytes(content)
                    result = self.assert_error(run(*command), 2, path.name, "not valid JSON at",
                                               "byte", says)
                    for word in self.JARGON:
                        self.assertNotIn(word, result.err)


class Numbers(CliTest):
    def test_strict(self):
        for text in ("", "1,5", "0x10", "1e3", "+1", " 1", "1 ", "nan", "inf", "1e999", "-1", "1.0",
                     "99999999999999999999"):
            self.assert_error(run(*CAPTURE, "--seed", text), 2, "--seed")

    def test_threads(self):
        for text in ("0", "10000", "-1", "two"):
            self.assert_error(run(*CAPTURE, "--threads", text), 2, "--threads", "1024", text)

    def test_budget(self):
        for text in ("0x10", "1e999", "-1", "nan", "4 elephants", "99999999999G"):
            self.assert_error(run(*CAPTURE, "--budget", text), 2, "--budget")

    def test_locale_changes_nothing(self):
        german = {"LC_ALL": "de_DE.UTF-8", "LC_NUMERIC": "de_DE.UTF-8", "TZ": "Asia/Kathmandu"}
        self.assert_error(run(*CAPTURE, "--seed", "1,5", env=german), 2, "--seed")
        plain = run("inspect", support.MODEL)
        self.assertEqual(run("inspect", support.MODEL, env=german).out, plain.out)

    def test_ids(self):
        for text in ("", "1,,2", "1,x", "-1", "1.5", "1,"):
            self.assert_error(run("tokenize", "-m", support.MODEL, "--ids", text), 2, "--ids")

    def test_shard(self):
        for text in ("0/4", "5/4", "1", "1/0", "a/b", "1/2/3"):
            self.assert_error(run(*CAPTURE, "--shard", text), 2, "--shard")


class ValuesThatLookLikeOptions(CliTest):
    def test_prompts_are_taken_as_they_are(self):
        for text in ("--prompt", "-m", "{}", "[a,b]", "a=b", "%s", "-1"):
            result = self.assert_ok(run("tokenize", "-m", support.MODEL, "--json", "--prompt", text))
            self.assertTrue(result.out.startswith('{"ids"'), result)

    def test_equals_form(self):
        a = run("tokenize", "-m", support.MODEL, "--prompt=Once upon")
        b = run("tokenize", "-m", support.MODEL, "--prompt", "Once upon")
        self.assertEqual(self.assert_ok(a).out, b.out)

    def test_huge_prompt(self):
        text = "a " * 60000  # just under what one argument may hold
        self.assert_ok(run("tokenize", "-m", support.MODEL, "--json", "--prompt", text))


class Before(CliTest):
    """Argument errors come before LibTorch is loaded."""

    def test_runner_is_not_started(self):
        moved = self.folder / "attnscope"
        moved.write_bytes(support.ATTNSCOPE.read_bytes())
        moved.chmod(0o755)

        def alone(*arguments):
            return support.Result(subprocess.run(
                [moved, *map(str, arguments)], capture_output=True, check=False, timeout=60))
        self.assert_error(alone(*CAPTURE, "--threads", "0"), 2, "--threads")
        self.assert_error(alone(*CAPTURE), 3, "attnscope-run")


if __name__ == "__main__":
    unittest.main()
