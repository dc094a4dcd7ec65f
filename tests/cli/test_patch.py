"""attnscope patch: what is printed and stored, paths and edges, and every bad input."""
import json
import math
import pathlib
import signal
import unittest

import support
from support import CliTest, run

try:
    import h5py
except ImportError:
    h5py = None

DEMO = support.SOURCE / "probes" / "demo"
FAST = ["--resamples", "500"]


def patch(*arguments, pairs=None, **options):
    return run("patch", "-m", support.MODEL, "--pairs", pairs or support.pairs_file(), *FAST,
               *arguments, **options)


def shown(*arguments, **options):
    result = patch(*arguments, "--json", **options)
    assert result.code == 0, result
    return json.loads(result.out)


def demo(*arguments):
    """Of a model that knows the answers, so that recovery has a denominator."""
    result = run("patch", "-m", DEMO / "tiny-english", "--pairs",
                 DEMO / "pairs" / "indirect_object.jsonl", "--limit", "12", *FAST, *arguments,
                 "--json")
    assert result.code == 0, result
    return json.loads(result.out)


class Printed(CliTest):
    def test_json_of_layers_by_positions(self):
        result = shown()
        units = [cell["unit"] for cell in result["cells"]]
        self.assertEqual(units, [f"{layer}@{p}" for layer in range(5) for p in range(6)])
        self.assertIsInstance(result["baseline"], float)
        for cell in result["cells"]:
            self.assertEqual(cell["method"], "resid_pre")
            low, high = cell["ci"]
            self.assertTrue(low <= cell["effect"] <= high, cell)
            self.assertTrue(0 < cell["p"] <= 1)
            self.assertEqual(cell["n"], 48)
        self.assertGreaterEqual(result["verify"]["cells"], 3)
        self.assertLess(result["verify"]["max_difference"], 1e-4)

    def test_too_few_groups_have_no_interval_and_no_p(self):
        for cell in shown("--limit", "18")["cells"]:  # in groups of two
            self.assertIsNone(cell["ci"])
            self.assertIsNone(cell["p"])
            self.assertIsInstance(cell["effect"], float)
        self.assertIn("9 groups of prompts, at least 10", patch("--limit", "18").out)
        self.assertIsNotNone(shown("--limit", "20")["cells"][0]["ci"])

    def test_several_sites_in_one_run(self):
        result = shown("--site", "attn_out,mlp_out", "--layers", "1,3", "--positions", "last,2")
        self.assertEqual([(c["method"], c["unit"]) for c in result["cells"]],
                         [(m, f"{l}@{p}") for m in ("attn_out", "mlp_out") for l in (1, 3)
                          for p in ("last", 2)])
        result = shown("--site", "q,z,pattern", "--by", "layer,head,pos", "--heads", "1.2",
                       "--positions", "3")
        self.assertEqual([c["unit"] for c in result["cells"]], ["1.2@3"] * 3)

    def test_the_fast_sweep_is_the_slow_loop(self):
        options = ["--site", "v", "--dtype", "f64", "--limit", "8"]
        fast = shown(*options)["cells"]
        self.assertEqual(len(fast), 20)
        for a, b in zip(fast, shown(*options, "--naive")["cells"]):
            self.assertEqual(a["unit"], b["unit"])
            self.assertAlmostEqual(a["effect"], b["effect"], delta=1e-12)

    # The whole of the first layer's input is the whole other prompt; so is the last layer's
    # output where the metric reads it.
    def test_what_is_wholly_replaced_is_wholly_recovered(self):
        for direction in ("denoise", "noise"):
            result = demo("--direction", direction, "--site", "resid_post", "--layers", "3",
                          "--positions", "last", "--dtype", "f64")
            [cell] = result["cells"]
            self.assertAlmostEqual(cell["recovery"], 1 if direction == "denoise" else 0, places=9)
            self.assertEqual(result["attributes"]["dropped"], 0)

    def test_the_run_that_is_changed_is_named(self):
        for options, run_of in (([], "corrupt"), (["--direction", "noise"], "clean"),
                                (["--edge", "knockout", "--queries", "last", "--keys", "0"],
                                 "clean"),
                                (["--senders", "0.1", "--receivers", "logits"], "clean")):
            out = patch(*options).out
            self.assertIn(f"minus the metric of the {run_of} run, which is the one that is changed",
                          out)
            self.assertIn(f" in the {run_of} run.\n", out)
            self.assertEqual("A recovery of 0 is the metric of the corrupt run" in out,
                             "--senders" not in options)
            self.assertEqual(shown(*options)["attributes"]["base"], run_of)

    def test_prompts_under_the_floor_are_dropped_and_counted(self):
        kept, none = (demo("--site", "z", "--layers", "0", "--floor", floor)
                      for floor in ("0.1", "1e6"))
        self.assertEqual((kept["attributes"]["dropped"], none["attributes"]["dropped"]), (0, 12))
        for a, b in zip(kept["cells"], none["cells"]):
            self.assertIsInstance(a["recovery"], float)
            self.assertIsNone(b["recovery"])
            self.assertEqual(a["effect"], b["effect"])
        self.assertIn("differ by less than --floor: 48 prompts", patch("--floor", "1e6").out)


class PathsAndEdges(CliTest):
    def test_several_grids_are_a_list(self):
        both = shown("--site", "resid_pre,z", "--limit", "20")
        alone = [shown("--site", site, "--limit", "20") for site in ("resid_pre", "z")]
        self.assertEqual([grid["experiment"] for grid in both["experiments"]],
                         ["patch_layer_pos", "patch_layer_head"])
        for grid, one in zip(both["experiments"], alone, strict=True):
            self.assertEqual([cell["unit"] for cell in grid["cells"]],
                             [cell["unit"] for cell in one["cells"]])
            self.assertLessEqual(set(grid), set(one))
        self.assertNotIn("cells", both)
        self.assertEqual(both["prompts"], 20)

    def test_paths_have_a_noise_floor(self):
        result = shown("--senders", "0.*", "--receivers", "3.2.q", "--limit", "1")
        # Half a unit in the last place of a float32 as large as the only baseline.
        rounding = 2.0 ** (math.floor(math.log2(abs(result["baseline"]))) - 24)
        self.assertEqual(result["attributes"]["rounding"], rounding)
        self.assertEqual(result["noise_floor"],
                         max(rounding, result["attributes"]["own_value_difference"]))
        self.assertLess(result["noise_floor"], 1e-5)

    def test_paths(self):
        one = shown("--senders", "4.0,4.1,4.0+4.1", "--receivers", "logits", "--freeze-mlps",
                    "--dtype", "f64")
        self.assertEqual([c["unit"] for c in one["cells"]], ["4.0", "4.1", "4.0+4.1"])
        self.assertEqual({c["method"] for c in one["cells"]}, {"path"})
        self.assertEqual(one["attributes"]["receivers"], "logits")
        inner = shown("--senders", "0.*", "--receivers", "3.2.q,3.2.k,mlp:4")
        self.assertEqual(len(inner["cells"]), 4)
        self.assertEqual(inner["attributes"]["receivers"].count(","), 2)

    def test_edges(self):
        result = shown("--edge", "knockout,value-zero", "--queries", "last", "--keys", "1-2,source")
        self.assertEqual([(c["method"], c["unit"]) for c in result["cells"]],
                         [(m, f"attn:{l}") for m in ("knockout", "value-zero") for l in range(5)])
        heads = shown("--edge", "knockout", "--by", "layer,head", "--heads", "2.*", "--queries",
                      "last", "--keys", "0")
        self.assertEqual([c["unit"] for c in heads["cells"]], [f"2.{h}" for h in range(4)])

    def test_knocking_out_a_query_set_is_more_than_one_query(self):
        one = shown("--edge", "knockout", "--queries", "last", "--keys", "0", "--window", "5",
                    "--layers", "2")["cells"]
        wide = shown("--edge", "knockout", "--queries", "0-5", "--keys", "0", "--window", "5",
                     "--layers", "2")["cells"]
        self.assertNotEqual(one[0]["effect"], wide[0]["effect"])


class Files(CliTest):
    def test_without_o_nothing_is_written(self):
        self.assert_ok(patch("--limit", "2", cwd=self.folder))
        out = self.assert_ok(patch("--dry-run", "-o", "x.h5", cwd=self.folder)).out
        self.assertIn("30 cells × 48 prompts", out)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_file_that_exists_is_kept(self):
        path = self.folder / "x.h5"
        path.write_bytes(b"precious")
        self.assert_error(patch("--limit", "2", "-o", path), 3, "x.h5", "--force")
        self.assertEqual(path.read_bytes(), b"precious")
        self.assert_ok(patch("--limit", "2", "-o", path, "--force"))
        self.assert_ok(run("verify", path))

    @unittest.skipIf(h5py is None, "needs h5py")
    def test_others_can_read_draw_and_repeat_it(self):
        for number, options in enumerate((
                ["--site", "resid_pre,mlp_out"], ["--site", "z", "--direction", "noise"],
                ["--senders", "0.*", "--receivers", "2.1.v"],
                ["--edge", "knockout", "--queries", "last", "--keys", "0"])):
            path = self.folder / f"p{number}.h5"
            found = shown(*options, "-o", path)
            self.assert_ok(run("verify", path))
            with h5py.File(path) as file:
                [stored] = file["experiments"].values()
                self.assertEqual([c["effect"] for c in found["cells"]],
                                 stored["effect"][()].ravel().tolist())
                spec = json.loads(stored["spec_json"].asstr()[()])
            spec.update(model=str(support.MODEL), pairs=str(support.pairs_file()),
                        out=str(self.folder / f"again{number}.h5"))
            (self.folder / "spec.json").write_text(json.dumps(spec))
            self.assert_ok(run("patch", "--spec", self.folder / "spec.json"))
            self.assertEqual((self.folder / f"again{number}.h5").read_bytes(), path.read_bytes())
        for number, figure in ((0, "patch-map"), (1, "grid")):
            out = self.folder / f"{figure}.svg"
            self.assert_ok(run("export", self.folder / f"p{number}.h5", "--figure", figure, "-o",
                               out))
            self.assertIn("<svg", out.read_text())

    def test_resume_with_other_options_is_refused(self):
        path = self.folder / "a.h5"
        self.assert_ok(patch("--limit", "2", "-o", path))
        self.assert_error(patch("--limit", "2", "--floor", "0.5", "-o", path, "--resume"), 2,
                          "floor")

    def test_parts_hold_all_cells_once(self):
        whole = shown("--limit", "4", "--verify", "0")["cells"]
        parts = []
        for part in ("1/4", "2/4", "3/4", "4/4"):
            parts += shown("--limit", "4", "--verify", "0", "--shard", part, "-o",
                           self.folder / f"part{part[0]}.h5")["cells"]
        self.assertEqual([(c["unit"], c["n"]) for c in parts], [(c["unit"], c["n"]) for c in whole])
        for a, b in zip(parts, whole):
            self.assertAlmostEqual(a["effect"], b["effect"], delta=1e-6)
        self.assert_error(patch("--shard", "1/2"), 2, "--shard", "--out")

    def test_killed_at_any_time_it_goes_on_to_the_same_bytes(self):
        arguments = ["--site", "q,k,v,z,pattern", "--by", "layer,head,pos", "--naive", "--verify",
                     "0", "--threads", "1", "--quiet"]
        path = self.folder / "x.h5"
        status, _ = support.stop_once_it_keeps_shards(
            ["patch", "-m", support.MODEL, "--pairs", support.pairs_file(), *FAST, *arguments], path,
            signal.SIGKILL)
        if status == 0:
            self.skipTest("the sweep was done before the signal came")
        self.assertFalse(path.exists())
        self.assert_ok(patch(*arguments, "-o", path, "--resume"))
        self.assert_ok(patch(*arguments, "-o", self.folder / "y.h5"))
        self.assertEqual(path.read_bytes(), (self.folder / "y.h5").read_bytes())
        self.assertFalse(pathlib.Path(f"{path}.parts").exists())


class BadInput(CliTest):
    def refused(self, *arguments, code=2, **options):
        out = self.folder / "x.h5"
        self.assert_error(patch("-o", out, *arguments[:-1], **options), code, *arguments[-1])
        self.assertFalse(out.exists())
        self.assertFalse(pathlib.Path(f"{out}.parts").exists())

    def pairs(self, *rows):
        path = self.folder / "pairs.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    def test_units_and_sites(self):
        self.refused("--layers", "99", ("--layers", "layer 0 to 4"))
        self.refused("--site", "z", "--heads", "9.9", ("--heads", "layer 0 to 4"))
        self.refused("--site", "z", "--heads", "0.9", ("--heads", "head 0 to 3"))
        for site, shown_as in (("resid_per", "resid_per"), ("z,bogus", "bogus"),
                               ("ln1_scale", "ln1.hook_scale"), ("embed", "hook_embed")):
            self.refused("--site", site, ("--site", shown_as, "resid_pre, ", ", pattern, ",
                                          ", mlp_post, "))
        self.refused("--site", "z,q,z", ("--site", '"z" twice', "each name once"))
        self.refused("--site", "z", "--heads", "3.1, 3.1", ("--heads", '"3.1" twice'))
        self.refused("--positions", "0,77", ("--positions", "position 0 to 5"))
        self.refused("--positions", '0,"nobody"', ("--positions", "pairs.jsonl:1", "nobody"))
        self.refused("--site", "2.z", ("--site", "single layers", "--layers"))
        self.refused("--edge", "knockout", "--queries", "last", "--keys", "0", "--metric", "kl",
                     "--floor", "1", ("--floor", "recovery"))
        self.refused("--positions", "77", ("--positions", "position 0 to 5"))
        self.refused("--by", "pos,layer", ("--by", "layer,pos"))
        self.refused("--by", "layer,head", ("--by", "resid_pre", "layer,pos"))
        self.refused("--direction", "nois", ("--direction", '"noise"'))
        self.refused("--heads", "1.1", ("--heads", "--site"))
        self.refused("--site", "z", "--positions", "1", ("--positions", "layer,head,pos"))
        self.refused("--metric", "kl", ("--metric", "--direction noise"))

    def test_paths(self):
        self.refused("--senders", "1.1", ("--receivers", "missing"))
        self.refused("--receivers", "logits", ("--senders", "missing"))
        self.refused("--senders", "9.9", "--receivers", "logits", ("--senders", "0 to 4"))
        self.refused("--senders", "1.1,1.1", "--receivers", "logits", ("--senders", "once"))
        self.refused("--senders", "1.1", "--receivers", "4.0.q,4.0.q", ("--receivers", "once"))
        self.refused("--senders", "1.1", "--receivers", "logit", ("--receivers", "logits"))
        self.refused("--senders", "1.1", "--receivers", "0.1.q", ("--senders", "behind"))
        self.refused("--senders", "1.1", "--receivers", "logits,3.1.q", ("--receivers", "together"))
        for options in (["--site", "z"], ["--site", "resid_pre"], ["--by", "layer,head"],
                        ["--heads", "1.1"], ["--layers", "1"], ["--positions", "1"],
                        ["--direction", "noise"], ["--floor", "2"], ["--exact"], ["--naive"],
                        ["--verify", "5"]):
            self.refused("--senders", "1.1", "--receivers", "logits", *options,
                         (options[0], "--senders"))

    def test_a_sender_that_says_the_same_in_both_runs(self):
        path = self.pairs({"clean": "the on and", "corrupt": "the on and", "answer": " to",
                           "wrong": " a"})
        self.refused("--senders", "1.1", "--receivers", "logits", ("--senders", "1.1", "same"),
                     pairs=path)
        self.refused(("pairs.jsonl:1", "nothing is patched"), pairs=path)

    def test_edges(self):
        edge = ["--edge", "knockout"]
        self.refused(*edge, ("--queries", "missing"))
        self.refused(*edge, "--queries", "last", ("--keys", "missing"))
        self.refused("--edge", "knockot", "--queries", "last", "--keys", "0", ('"knockout"',))
        self.refused(*edge, "--queries", "last", "--keys", "99", ("--keys", "0 to 5"))
        self.refused(*edge, "--queries", "last", "--keys", "nobody", ("--keys", '"source"'))
        self.refused("--queries", "last", ("--queries", "--edge"))
        edge += ["--queries", "last", "--keys", "0"]
        for options in (["--site", "z"], ["--positions", "1"], ["--direction", "noise"],
                        ["--senders", "1.1", "--receivers", "logits"]):
            self.refused(*edge, *options, ("--edge",))
        self.refused(*edge, "--heads", "1.1", ("--heads", "layer,head"))
        self.refused(*edge, "--by", "layer,pos", ("--by", "layer,head"))
        self.refused(*edge, "--window", "99", ("--window", "1 to 5", "99"))

    def test_cells_that_never_fire(self):
        self.refused("--edge", "knockout", "--queries", "0-2", "--keys", "4,5",
                     ("--queries", "no edge", "--keys"))
        self.refused("--edge", "value-zero", "--queries", '"nobody"', "--keys", "0",
                     ("--queries", "nobody"))

    def test_pairs(self):
        self.refused(("has no corrupt prompt",),
                     pairs=self.pairs({"clean": "the on", "answer": " to", "wrong": " a"}))
        self.refused(("do not align", "--skip-misaligned"),
                     pairs=self.pairs({"clean": "the on and", "corrupt": "the on", "answer": " to",
                                       "wrong": " a"}))
        self.refused(("the same",), pairs=self.pairs({"clean": "the on", "corrupt": "the and",
                                                      "answer": " to", "wrong": " to"}))
        self.refused(("no pairs",), pairs=self.pairs())
        result = self.assert_ok(patch("--site", "z", pairs=self.pairs(
            {"clean": "the on", "corrupt": "the and", "answer": " qqqqqq", "wrong": " a"})))
        self.assertIn("only the first is measured", result.err)

    def test_contradictions(self):
        self.refused("--exact", "--naive", ("--naive", "--exact"))
        self.refused("--force", "--resume", ("--force", "--resume"))
        self.refused("--floor", "-1", ("--floor",))
        self.refused("--floor", "nan", ("--floor",))
        self.refused("--rerun-f32", "3", ("--rerun-f32",))
        self.refused("--budget", "1", ("--budget",), code=4)


if __name__ == "__main__":
    unittest.main()
