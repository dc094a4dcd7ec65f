"""attnscope verdict: the finding, its file and its report, and every bad input."""
import json
import os
import pty
import signal
import subprocess
import unittest

import support
from support import CliTest, run

try:
    import h5py
except ImportError:
    h5py = None

FAST = ["--resamples", "500", "--layers", "0,1", "--verify", "0"]


def verdict(*arguments, pairs=None, **options):
    return run("verdict", "-m", support.MODEL, "--pairs", pairs or support.pairs_file(),
               *arguments, **options)


class Printed(CliTest):
    def test_the_finding_comes_first_and_what_was_written_last(self):
        out = self.assert_ok(verdict(*FAST, "-o", "v.h5", cwd=self.folder)).out
        places = [out.index(part) for part in
                  ("attention mass is", "All 8 heads", "known answer", "Wrote v.h5 and v.html.")]
        self.assertEqual(places, sorted(places))
        self.assertEqual(out.count("\nunit "), 1, out)
        header = next(line for line in out.splitlines() if line.startswith("unit "))
        self.assertEqual(header.split(), ["unit", "attention", "mass", "zero", "mean", "resample",
                                          "direct", "verdict"])
        rows = out[out.index(header):].split("\n\n")[0].splitlines()[1:]
        self.assertEqual(sorted(row.split()[0] for row in rows),
                         sorted(f"{layer}.{head}" for layer in range(2) for head in range(4)))
        strengths = [max(abs(float(number)) for number in row.split()[2:5]) for row in rows]
        self.assertEqual(strengths, sorted(strengths, reverse=True))

    def test_json_of_every_head_and_method(self):
        result = json.loads(self.assert_ok(verdict(*FAST, "--kv-groups", "--json")).out)
        methods = ["zero", "mean", "resample"]
        self.assertEqual([(c["method"], c["unit"]) for c in result["cells"]],
                         [(m, f"{l}.{h}") for m in methods for l in range(2) for h in range(4)])
        self.assertIsInstance(result["baseline"], float)
        for cell in result["cells"]:
            low, high = cell["ci"]
            self.assertTrue(low <= cell["effect"] <= high, cell)
            self.assertTrue(0 < cell["p"] <= cell["p_adjusted"] <= 1, cell)
            self.assertEqual(cell["n"], 24)  # one half chooses, the other is measured
            self.assertIn(cell["verdict"], ("causal", "no effect", "undetermined",
                                            "undetermined (backed up)"))
        self.assertEqual(result["control_results"]["values"][0], "passed")
        self.assertIn("attention mass", result["paragraph"])
        self.assertEqual(result["further"][0]["experiment"], "verdict_kv")
        self.assertEqual(result["further"][0]["cells"][0]["unit"], "kv:0.0")
        self.assertIsNone(result["path"])
        self.assertIsNone(result["html"])

    def test_fewer_than_twenty_groups_withhold_it(self):
        result = self.assert_ok(verdict(*FAST, "--limit", "12", "--json"))
        found = json.loads(result.out)
        self.assertIn("20", found["withheld"])
        self.assertTrue(found["paragraph"].startswith("The verdict is withheld: " +
                                                      found["withheld"]))
        for cell in found["cells"]:  # and three groups give no interval
            self.assertNotIn("verdict", cell)
            self.assertIsNone(cell["ci"])
            self.assertIsNone(cell["p"])
            self.assertIsInstance(cell["effect"], float)
        text = self.assert_ok(verdict(*FAST, "--limit", "12")).out
        self.assertEqual(text.count(found["withheld"]), 1, text)
        self.assertNotIn("undetermined", text)

    def test_sentences_fit_a_terminal_and_stay_whole_elsewhere(self):
        whole = self.assert_ok(verdict(*FAST)).out
        paragraph = whole.split("\n\n")[0]
        self.assertNotIn("\n", paragraph)
        leader, follower = pty.openpty()
        process = subprocess.Popen([support.ATTNSCOPE, "verdict", "-m", support.MODEL, "--pairs",
                                    support.pairs_file(), *FAST], stdout=follower,
                                   stderr=subprocess.DEVNULL,
                                   env=dict(os.environ, COLUMNS="72", NO_COLOR="1"))
        os.close(follower)
        out = b""
        while True:
            try:
                data = os.read(leader, 65536)
            except OSError:  # the other end is closed
                break
            if not data:
                break
            out += data
        os.close(leader)
        self.assertEqual(process.wait(timeout=60), 0)
        lines = out.decode().replace("\r\n", "\n").split("\n\n")[0].splitlines()
        self.assertGreater(len(lines), 5)
        self.assertLessEqual(max(map(len, lines)), 72)
        self.assertEqual(" ".join(lines), paragraph)

    def test_every_rank_correlation_has_its_p(self):
        arguments = [*FAST, "-o", "v.h5"]
        out = self.assert_ok(verdict(*arguments, cwd=self.folder)).out
        page = (self.folder / "v.html").read_text()
        found = json.loads(self.assert_ok(run("stats", self.folder / "v.h5", "--json")).out)
        measures = found["measures"]["values"]
        ranks = out[out.index("\nmeasure "):].split("\n\n")[0].splitlines()[2:]
        self.assertEqual(len(ranks), 3 * len(measures))
        for m, method in enumerate(("zero", "mean", "resample")):
            for a, measure in enumerate(measures):
                row = ranks[m * len(measures) + a]
                self.assertTrue(row.startswith(measure + "  "), row)
                self.assertIn(f" {method} ", row)
                p = found["rank_correlation_p"]["values"][m][a]
                low = found["rank_correlation_low"]["values"][m][a]
                self.assertAlmostEqual(float(row.split()[-1].lstrip("≤")), p, delta=p / 50)
                self.assertIn(f"[{low:.3g}, ", row)
                self.assertIn(f"</td><td>{p:.4f}</td>", page)


class Files(CliTest):
    def test_a_metric_that_no_swap_turns_has_no_negative_control(self):
        told = json.loads(self.assert_ok(verdict("--metric", "kl", *FAST, "--json")).out)
        self.assertEqual(dict(zip(told["controls"]["values"], told["control_results"]["values"]))
                         ["answers swapped"], "not run")
        paragraph = told["paragraph"]
        self.assertIn("The control that swaps answer and wrong answer is not run", paragraph)
        self.assertNotIn("must leave no effect", paragraph)
        self.assertIsNone(told["attributes"]["negative_control_p"])
        for cell in told["cells"]:
            self.assertEqual((cell["p"], cell["p_adjusted"]), (None, None))
            self.assertGreaterEqual(cell["effect"], 0)
            self.assertIsNotNone(cell["ci"])

    def test_the_report_is_named_and_never_overwritten(self):
        report = self.folder / "v.html"
        report.write_text("precious")
        arguments = [*FAST, "-o", "v.h5"]
        self.assert_error(verdict(*arguments, cwd=self.folder), 3, "v.html", "--force")
        self.assertEqual([p.name for p in self.folder.iterdir()], ["v.html"])
        self.assertEqual(report.read_text(), "precious")
        found = json.loads(self.assert_ok(verdict(*arguments, "--force", "--json",
                                                  cwd=self.folder)).out)
        self.assertEqual((found["path"], found["html"]), ("v.h5", "v.html"))
        self.assertIn("<html", report.read_text())
        self.assert_ok(run("verify", self.folder / "v.h5"))

    def test_places_where_no_report_can_be(self):
        (self.folder / "there.html").mkdir()
        (self.folder / "file").write_text("")
        for name, code in (("absent/v.html", 3), ("there.html", 3), ("file/v.html", 3),
                           ("v.json", 2), ("v.h5", 2)):
            self.assert_error(verdict(*FAST, "-o", "v.h5", "--html", name, cwd=self.folder), code,
                              name)
            self.assertFalse((self.folder / "v.h5").exists())
        self.assert_error(verdict(*FAST, "--html", "v.html"), 2, "--html", "--out")

    def test_resume_of_a_finished_run_keeps_the_bytes(self):
        self.assert_ok(verdict(*FAST, "-o", "a.h5", cwd=self.folder))
        before = (self.folder / "a.h5").read_bytes()
        (self.folder / "a.html").unlink()
        out = self.assert_ok(verdict(*FAST, "-o", "a.h5", "--resume", cwd=self.folder)).out
        self.assertIn("Wrote a.h5 and a.html.", out)
        self.assertEqual((self.folder / "a.h5").read_bytes(), before)
        self.assertTrue((self.folder / "a.html").exists())
        self.assert_error(verdict(*FAST, "-o", "a.h5", "--resume", "--controls", "30",
                                  cwd=self.folder), 2, "controls")

    def test_dry_run_writes_nothing(self):
        out = self.assert_ok(verdict(*FAST, "-o", "a.h5", "--dry-run", cwd=self.folder)).out
        self.assertIn("8 heads × 3 methods × 48 prompts", out)
        self.assertRegex(out, r"1 of 4: effects of every head: 24 cells × 48 prompts = 1152 runs, "
                              r"\S+ TFLOP\n")
        # Five heads removed, each with seven others, three methods, half of the prompts.
        self.assertRegex(out, r"2 of 4: .*: at most 105 cells × 24 prompts = 2520 runs, \S+ TFLOP\n")
        self.assertRegex(out, r"together \S+ to \S+ TFLOP; about \S+ \S+ beside the weights\n")
        self.assertEqual(list(self.folder.iterdir()), [])
        found = json.loads(self.assert_ok(verdict(*FAST, "--dry-run", "--json")).out)
        self.assertEqual([stage["runs"] for stage in found["stages"]],
                         [1152, 2520, 8 * 20 * 24, 21 * 24])
        self.assertEqual([stage["at_most"] for stage in found["stages"]],
                         [False, True, True, True])
        for stage in found["stages"]:
            self.assertGreater(stage["flop"], 0)
            self.assertGreater(stage["memory_bytes"], 0)
        self.assertEqual((found["model"], found["device"], found["dtype"]),
                         (support.MODEL.name, "cpu", "f32"))

    def test_more_matched_sets_than_there_are(self):
        # Two layers of four heads: 56 sets of five, one of which is that of the strongest.
        result = self.assert_ok(verdict(*FAST, "--matched-sets", "99999", "--dry-run"))
        self.assertIn("--matched-sets 99999: of 8 heads there are at most 55 other sets", result.err)
        self.assertIn(f"at most 56 cells × 24 prompts = {56 * 24} runs", result.out)

    def test_a_signal_stops_it_and_resume_gives_the_same_bytes(self):
        arguments = ["--resamples", "500", "--verify", "0", "--threads", "1", "--naive"]
        path = self.folder / "x.h5"
        status, err = support.stop_once_it_keeps_shards(
            ["verdict", "-m", support.MODEL, "--pairs", support.pairs_file(), *arguments], path,
            signal.SIGINT)
        if status == 0:
            self.skipTest("the verdict was done before the signal came")
        self.assertEqual(status, 130)
        self.assertIn("of 4: ", err.decode())
        self.assertIn("run it again" if b"nothing was committed" in err else "--resume",
                      err.decode())
        self.assertFalse(path.exists())
        self.assert_ok(verdict(*arguments, "-o", path, "--resume"))
        self.assert_ok(verdict(*arguments, "-o", self.folder / "y.h5"))
        self.assertEqual(path.read_bytes(), (self.folder / "y.h5").read_bytes())

    @unittest.skipIf(h5py is None, "needs h5py")
    def test_others_can_read_draw_and_repeat_it(self):
        path = self.folder / "v.h5"
        found = json.loads(self.assert_ok(verdict(*FAST, "-o", path, "--json")).out)
        with h5py.File(path) as file:
            stored = file["experiments/verdict"]
            self.assertEqual(stored["effect"].shape, (3, 2, 4))
            self.assertEqual([c["effect"] for c in found["cells"]],
                             stored["effect"][()].ravel().tolist())
            spec = json.loads(stored["spec_json"].asstr()[()])
        self.assert_ok(run("export", path, "--figure", "scatter", "-o", self.folder / "s.svg"))
        spec.update(model=str(support.MODEL), pairs=str(support.pairs_file()),
                    out=str(self.folder / "again.h5"))
        (self.folder / "spec.json").write_text(json.dumps(spec))
        self.assert_ok(run("verdict", "--spec", self.folder / "spec.json"))
        self.assertEqual((self.folder / "again.h5").read_bytes(), path.read_bytes())
        self.assertTrue((self.folder / "again.html").exists())

    @unittest.skipIf(h5py is None, "needs h5py")
    def test_its_numbers_follow_from_its_arrays(self):
        """Within layers, over all prompts: the correlations; over half of them: the effects."""
        path = self.folder / "v.h5"
        out = self.assert_ok(verdict(*FAST, "--per-prompt", "-o", path)).out
        with h5py.File(path) as file:
            group = file["experiments/verdict"]
            floor = group.attrs["noise_floor"]
            v = {name: group[name][()] for name in
                 ("effect", "effect_all", "attention", "attention_all", "rank_correlation",
                  "rank_correlation_shuffles", "per_prompt", "half_of_prompt")}
        self.assertEqual(sorted(set(v["half_of_prompt"])), [0, 1])
        measured = v["half_of_prompt"] == 1
        self.assertEqual(int(measured.sum()), 24)
        for means, prompts in ((v["effect"], v["per_prompt"][..., measured]),
                               (v["effect_all"], v["per_prompt"])):
            difference = abs(means - prompts.mean(axis=-1)).max()
            self.assertLess(difference, 1e-12)
        self.assertEqual(v["attention_all"].shape, v["attention"].shape)
        self.assertFalse((v["attention_all"] == v["attention"]).all())
        sizes = abs(v["effect_all"])
        sizes[sizes <= floor] = 0
        for m, a in ((m, a) for m in range(3) for a in range(v["attention_all"].shape[-1])):
            score = untied_x = untied_y = 0
            for layer in range(2):
                for i in range(4):
                    for j in range(i):
                        dx = v["attention_all"][layer, i, a] - v["attention_all"][layer, j, a]
                        dy = sizes[m, layer, i] - sizes[m, layer, j]
                        score += int(dx * dy > 0) - int(dx * dy < 0)
                        untied_x += int(dx != 0)
                        untied_y += int(dy != 0)
            self.assertAlmostEqual(score / (untied_x * untied_y) ** .5,
                                   v["rank_correlation"][m, a], places=12)
            if untied_x == untied_y == 12:
                self.assertEqual(v["rank_correlation_shuffles"][m, a], 0)
        sentence = ("Effects, attention and verdicts are of the 24 prompts that nothing was chosen "
                    "on, rank correlations of all 48.")
        self.assertEqual(out.count("\n\n" + sentence + "\n\n"), 1, out)
        self.assertEqual(self.assert_ok(run("stats", path)).out.count(sentence), 1)
        self.assertIn(sentence, (self.folder / "v.html").read_text())
        self.assert_ok(run("export", path, "--figure", "scatter", "-o", self.folder / "s.svg"))
        svg = " ".join((self.folder / "s.svg").read_text().split())
        self.assertIn("prompts that nothing was chosen on", svg)

    @unittest.skipIf(h5py is None, "needs h5py")
    def test_effects_of_each_prompt_are_those_of_ablate(self):
        options = ["--layers", "0,1", "--verify", "0", "--per-prompt", "--resamples", "500"]
        self.assert_ok(verdict(*options, "-o", self.folder / "v.h5"))
        self.assert_ok(run("ablate", "-m", support.MODEL, "--pairs", support.pairs_file(),
                           "--method", "zero,resample", *options, "-o", self.folder / "a.h5"))
        with h5py.File(self.folder / "v.h5") as v, h5py.File(self.folder / "a.h5") as a:
            ours = v["experiments/verdict/per_prompt"][()]
            theirs = a["experiments/ablate/per_prompt"][()]
        self.assertEqual(ours.shape, (3, 2, 4, 48))
        self.assertEqual(ours[[0, 2]].tolist(), theirs.tolist())


class BadArguments(CliTest):
    def refused(self, *arguments, code=2):
        self.assert_error(verdict("-o", self.folder / "x.h5", *arguments[:-1]), code,
                          *arguments[-1])
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_methods_and_numbers(self):
        self.refused("--method", "zero", ("--method", "two"))
        self.refused("--method", "zero,medain", ("--method", '"mean"'))
        self.refused("--method", "zero,vector", ("--method", "vector"))
        self.refused("--method", "zero,optimal", ("--method", "optimal"))
        self.refused("--metric", "loss", ("--metric", "logit-diff"))
        for value in ("0", "-1", "nan", "1e999"):
            self.refused("--delta", value, ("--delta",))
        self.refused("--controls", "3", ("--controls", "20"))
        self.refused("--matched-sets", "-1", ("--matched-sets",))
        self.refused("--layers", "99", ("--layers", "0 to 4"))
        self.refused("--source", "nobody", ("--source", '"nobody"'))
        self.refused("--exact", "--naive", ("--naive", "--exact"))

    def test_pairs(self):
        path = self.folder.parent / "one-group.jsonl"
        path.write_text("".join(json.dumps(json.loads(line) | {"group": "g"}) + "\n"
                                for line in support.pairs_text().splitlines()))
        self.assert_error(verdict(pairs=path), 2, "one-group.jsonl", "48 pairs of one group")
        self.assert_error(verdict("--limit", "1"), 2, "1 pair of one group")
        path.write_text('{"clean": "the on", "answer": " to"}\n{"clean": "the a", "answer": " on"}\n')
        self.assert_error(verdict("--metric", "prob", "--method", "zero,mean", pairs=path), 2,
                          "--delta", "units of the metric")
        self.assert_error(run("verdict", "-m", support.MODEL), 2, "--pairs FILE")

    def test_options_that_it_has_not(self):
        for option, value in (("--shard", "1/2"), ("--rerun-f32", "3"), ("--prompt", "the")):
            self.assertNotIn(option, support.options_of("verdict"))
            self.refused(option, value, (option,))


if __name__ == "__main__":
    unittest.main()
