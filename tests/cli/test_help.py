"""--help of every verb: one plain sentence, grouped options, examples that run."""
import re
import shlex
import shutil
import unittest

import support
from support import CliTest, run


def examples_of(verb):
    text = run(verb, "--help").out
    found = re.search(r"^Examples?:\n((?:  .+\n)+)", text, re.M)
    return [line.strip() for line in found.group(1).splitlines()]


class Help(CliTest):
    def test_overview_lists_every_verb(self):
        for arguments in ([], ["--help"], ["-h"], ["help"]):
            result = self.assert_ok(run(*arguments))
            listed = re.findall(r"^  ([a-z]+) +[A-Z].+\.$", result.out, re.M)
            self.assertEqual(listed, support.VERBS)

    def test_version(self):
        header = (support.SOURCE / "include/attnscope/version.h").read_text()
        version = re.search(r'ATTNSCOPE_VERSION "(.+)"', header).group(1)
        self.assertEqual(run("--version").out, f"attnscope {version}\n")

    def test_every_verb_has_a_sentence_groups_and_an_example(self):
        for verb in support.VERBS:
            with self.subTest(verb=verb):
                result = self.assert_ok(run(verb, "--help"))
                self.assertRegex(result.out, r"\A[A-Z][^\n]+\.\n")
                self.assertIn(f"Usage: attnscope {verb}", result.out)
                self.assertRegex(result.out, r"(?m)^(Output|How to compute|Strictness|Model).*:$")
                self.assertEqual(result.err, "")
                self.assertTrue(examples_of(verb))
                self.assertEqual(run("help", verb).out, result.out)
                for line in result.out.splitlines():
                    self.assertLessEqual(len(line), 100, line)

    def test_no_escape_codes_in_a_pipe(self):
        for verb in support.VERBS:
            self.assertNotIn("\033", run(verb, "--help", env={"TERM": "xterm-256color"}).out)


class Examples(CliTest):
    def test_every_example_runs(self):
        shutil.copytree(support.MODEL, self.folder / "my-model")
        (self.folder / "prompts.txt").write_text("Once upon a time\nThe cat sat.\n")
        shutil.copy(support.text_capture(), self.folder / "run.h5")
        shutil.copy(support.text_capture(), self.folder / "a.h5")
        shutil.copy(support.captured("other", "--prompt", "Once upon a time", "--dtype", "f64",
                                     "--hooks", "pattern,attn_scores,z"), self.folder / "b.h5")
        for verb in support.VERBS:
            for number, example in enumerate(examples_of(verb)):
                with self.subTest(example=example):
                    words = shlex.split(example)
                    self.assertEqual(words[:2], ["attnscope", verb])
                    # A capture must not overwrite what the next examples read.
                    if verb == "capture":
                        words = [f"new{number}-{w}" if w.endswith(".h5") else w for w in words]
                    self.assert_ok(run(*words[1:], cwd=self.folder, timeout=300))


if __name__ == "__main__":
    unittest.main()
