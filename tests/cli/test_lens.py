"""attnscope lens: what is printed, what is stored, and bad input."""
import json
import re
import unittest

import numpy
import support
from support import CliTest, run

try:
    import h5py
except ImportError:
    h5py = None


def lens(*arguments, **options):
    return run("lens", "-m", support.MODEL, *arguments, **options)


class Printed(CliTest):
    def test_every_stage_of_a_prompt(self):
        result = self.assert_ok(lens("--prompt", "the on and", "--answer", " to"))
        for part in ("the on and", "embedding", "layer 0", "layer 4", "answer logit", "mlp:"):
            self.assertIn(part, result.out)
        self.assertNotIn("layer 5", result.out)

    def test_the_parts_that_are_shown_and_the_rest_are_the_whole(self):
        for answer, name in ((["--answer", " to"], "answer logit"),
                             ([], "logit of the model's first choice")):
            out = self.assert_ok(lens("--prompt", "the on and", *answer)).out
            line = re.search(rf"Largest contributions of heads and MLPs to the {name} of (\S+):(.*); "
                             r"all the rest adds up to (\S+)\n", out)
            parts = [float(value) for value in re.findall(r"  \S+ (\S+)", line[2])]
            self.assertEqual(len(parts), 10)
            self.assertEqual(parts, sorted(parts, key=abs, reverse=True))
            whole = float(line[1])
            self.assertAlmostEqual(sum(parts) + float(line[3]), whole, delta=0.02 * abs(whole) + 0.05)

    def test_means_of_many_prompts(self):
        result = self.assert_ok(lens("--pairs", support.pairs_file(), "--limit", "5"))
        self.assertIn("Means over 5 prompts", result.out)

    @unittest.skipIf(h5py is None, "needs h5py")
    def test_json_holds_what_the_file_holds(self):
        path = self.folder / "lens.h5"
        printed = json.loads(self.assert_ok(lens("--pairs", support.pairs_file(), "--limit", "3",
                                                 "--topk", "4", "-o", path, "--json")).out)
        self.assertEqual(len(printed["by_prompt"]), 3)
        self.assertEqual(printed["path"], str(path))
        self.assert_ok(run("verify", path))
        with h5py.File(path) as file:
            for number, prompt in enumerate(printed["by_prompt"]):
                stored = file[f"experiments/lens/p{number:06}"]
                for name in ("top_id", "target_rank", "kl", "dla_heads"):
                    self.assertEqual(len(prompt[name]["axes"]), stored[name].ndim)
                    numpy.testing.assert_array_equal(
                        numpy.array(prompt[name]["values"], dtype=float), stored[name][()])
                self.assertEqual(stored["top_id"].shape[-1], 4)

    def test_no_attribution(self):
        printed = json.loads(self.assert_ok(lens("--prompt", "the on", "--no-attribution",
                                                 "--json")).out)
        self.assertNotIn("dla_heads", printed["by_prompt"][0])
        self.assertIn("top_id", printed["by_prompt"][0])

    def test_the_position_that_is_read_is_the_one_shown(self):
        texts = {}
        for attribution in ([], ["--no-attribution"]):
            out = self.assert_ok(lens("--prompt", "the on and to", *attribution, "--positions",
                                      "1")).out
            texts[bool(attribution)] = [line for line in out.splitlines() if "layer" in line]
            printed = json.loads(self.assert_ok(lens("--prompt", "the on and to", *attribution,
                                                     "--positions", "1", "--json")).out)
            self.assertEqual(printed["by_prompt"][0]["reads"]["values"], [1])
            self.assertEqual(printed["kl"]["values"],
                             [row[1] for row in printed["by_prompt"][0]["kl"]["values"]])
        self.assertEqual(texts[True], texts[False])
        last = self.assert_ok(lens("--prompt", "the on and to", "--no-attribution")).out
        self.assertNotEqual(texts[True], [line for line in last.splitlines() if "layer" in line])

    def test_without_o_nothing_is_written(self):
        self.assert_ok(lens("--prompt", "the on", cwd=self.folder))
        self.assert_ok(lens("--prompt", "the on", "-o", "x.h5", "--dry-run", cwd=self.folder))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_spec_file_is_the_same_as_options(self):
        spec = {"model": str(support.MODEL), "ids": [5, 6, 7], "topk": 2, "attribution": False}
        (self.folder / "spec.json").write_text(json.dumps(spec))
        outputs = []
        for arguments in (["--spec", self.folder / "spec.json"],
                          ["-m", support.MODEL, "--ids", "5,6,7", "--topk", "2",
                           "--no-attribution"]):
            printed = json.loads(self.assert_ok(run("lens", *arguments, "--json")).out)
            outputs.append(printed["by_prompt"])
        self.assertEqual(*outputs)


class BadInput(CliTest):
    def refused(self, *arguments):
        parts = arguments[-1]
        self.assert_error(lens(*arguments[:-1], "-o", self.folder / "x.h5"), 2, *parts)
        self.assertFalse((self.folder / "x.h5").exists())

    def test_arguments(self):
        self.refused(("--pairs",))
        self.refused("--prompt", "a", "--ids", "1", ("--ids", "--prompt"))
        self.refused("--prompt", "a", "--wrong", " b", ("--wrong", "answer"))
        self.refused("--prompt", "a", "--answer", " b", "--wrong", " c", "--no-attribution",
                     ("--wrong", "--no-attribution"))
        self.refused("--prompt", "a", "--corrupt", "b", ("--corrupt",))
        self.refused("--prompt", "a", "--topk", "0", ("--topk", "1 to 1024"))
        self.refused("--ids", "5,6", "--answer", " b", ("--answer", "--answer-id"))
        self.refused("--ids", "5,1000", ("1000", "0 to 999"))
        self.refused("--ids", "5", "--answer-id", "1000", ("0 to 999",))
        self.refused("--prompt", "the", "--positions", "7", ("--positions",))

    def test_a_missing_space_is_pointed_out(self):
        result = self.assert_ok(lens("--prompt", "the", "--answer", "on"))
        self.assertIn('" on" would be the token 263', result.err)


if __name__ == "__main__":
    unittest.main()
