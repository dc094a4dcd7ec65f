"""Bad command lines: exit 2, one line, and the nearest thing that exists."""
import os
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
