"""--help of every verb: one plain sentence, grouped options, examples that run."""
import json
import re
import shlex
import shutil
import unittest

import support
from support import CliTest, run


# A verdict needs many pairs, so that a single one is no option.
INLINE_PAIR = {"prompt", "corrupt", "answer", "wrong", "ids", "corrupt_ids", "answer_id", "wrong_id"}
UNUSED = {"ablate": {"batch"}, "patch": {"batch"},
          "lens": {"batch", "corrupt", "corrupt_ids", "skip_misaligned"},
          "verdict": {"batch"} | INLINE_PAIR}


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

    def test_every_value_has_a_default_or_is_required(self):
        # Without these there simply is no such thing.
        absent = {"--prompt", "--prompt-pair", "--ids", "--prompts", "--pairs", "--spec", "--head",
                  "--heads"}
        for verb in support.VERBS:
            entries = re.split(r"(?m)^  (?=-)", support.help_of(verb))
            for option, value in support.options_of(verb).items():
                if not value or (option in absent and (verb, option) != ("show", "--head")):
                    continue
                with self.subTest(verb=verb, option=option):
                    [entry] = [e for e in entries if re.match(rf"(-\w,)?{option} ", e)]
                    self.assertRegex(" ".join(entry.split("\n\n")[0].split()),
                                     r"\((default: .+|required)\)")

    def test_nothing_is_said_twice(self):
        for verb in support.VERBS:
            self.assertNotRegex(support.help_of(verb), r"(?m)^  (?:-\w,)?-*(\S+) +\1\b")
            self.assertNotIn("(1x)", support.help_of(verb))
            self.assertNotIn("…", support.help_of(verb))

    def test_prompt_files_are_described(self):
        for verb in ("tokenize", "capture"):
            text = support.help_of(verb)
            for word in (".txt", ".jsonl", ".csv", ".tsv", "text", "prompt", "pair", "ids",
                         "token_types", "16 MiB"):
                self.assertIn(word, text)

    def test_statistics_are_those_of_a_file(self):
        result = run("stats", support.text_capture(), "--sort", "no-such")
        self.assert_error(result, 2, "one of ")
        stored = re.search(r"one of ([a-z_, ]+?)(?:, got|;)", result.err).group(1).split(", ")
        listed = re.search(r"(?ms)^Statistics.*?:\n(.*?)\n\n", support.help_of("stats")).group(1)
        named = re.findall(r"^  ([a-z_]+)  ", listed, re.M)
        self.assertEqual(sorted(named), sorted(stored))
        self.assertTrue((support.SOURCE / re.search(r"src/\S+", listed).group(0)).exists())

    def test_the_schema_of_a_spec_has_the_options_as_keys(self):
        verbs = [v for v in support.VERBS if "--spec-schema" in support.options_of(v)]
        self.assertIn("capture", verbs)
        for verb in verbs:
            with self.subTest(verb=verb):
                schema = json.loads(self.assert_ok(run(verb, "--spec-schema")).out)
                options = {name[2:].replace("-", "_") for name in support.options_of(verb)}
                options -= {"spec", "spec_schema", "help"}
                if "no_attribution" in options:
                    options = options - {"no_attribution"} | {"attribution"}
                # Some verbs have no use for an option that all of their kind share.
                keys = set(schema["properties"])
                self.assertLessEqual(options, keys)
                self.assertLessEqual(keys - options, UNUSED.get(verb, set()))

    def test_no_escape_codes_in_a_pipe(self):
        for verb in support.VERBS:
            self.assertNotIn("\033", run(verb, "--help", env={"TERM": "xterm-256color"}).out)


class Examples(CliTest):
    def test_every_example_runs(self):
        shutil.copytree(support.MODEL, self.folder / "my-model")
        (self.folder / "prompts.txt").write_text("Once upon a time\nThe cat sat.\n")
        (self.folder / "pairs.csv").write_text("text,subject\nOnce upon a time,time\n")
        shutil.copy(support.pairs_file(), self.folder / "pairs.jsonl")
        shutil.copy(support.text_capture(), self.folder / "run.h5")
        shutil.copy(support.text_capture(), self.folder / "a.h5")
        # The same tokens for diff, another run for merge.
        shutil.copy(support.captured("other", "--prompt", "Once upon a time", "--strict",
                                     "--hooks", "pattern,attn_scores,z"), self.folder / "b.h5")
        for verb in support.VERBS:
            for number, example in enumerate(examples_of(verb)):
                with self.subTest(example=example):
                    words = shlex.split(example)
                    self.assertEqual(words[:2], ["attnscope", verb])
                    if verb == "view" and not support.has_viewer():
                        self.skipTest("this attnscope was built without the page of the viewer")
                    if verb == "view" and "--html" not in words:
                        support.stop_server(*support.start_view(*words[2:], cwd=self.folder))
                        continue
                    # A capture must not overwrite what the next examples read.
                    if verb == "capture":
                        words = [f"new{number}-{w}" if w.endswith(".h5") else w for w in words]
                    self.assert_ok(run(*words[1:], cwd=self.folder, timeout=300))


if __name__ == "__main__":
    unittest.main()
