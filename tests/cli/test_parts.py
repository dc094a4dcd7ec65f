"""Parts of a sweep (--shard I/N): what they say of themselves, and that merge makes the whole of them."""
import hashlib
import json
import math
import unittest

import support
from support import CliTest, run

try:
    import h5py
except ImportError:
    h5py = None

SWEEPS = {
    "ablate": ["ablate", "--method", "zero,resample", "--effect", "total,direct", "--leave-one-in"],
    "positions": ["ablate", "--unit", "head-pos", "--heads", "1.*", "--positions", "1,last"],
    "denoise": ["patch", "--site", "resid_pre,z", "--layers", "1-3"],
    "noise": ["patch", "--site", "z", "--direction", "noise", "--floor", "0.001"],
    "edges": ["patch", "--edge", "knockout,value-zero", "--queries", "last", "--keys", "0"],
    "paths": ["patch", "--senders", "0.*,mlp:1", "--receivers", "4.0.q"],
}


def made(sweep, *arguments):
    verb, *options = SWEEPS[sweep]
    result = run(verb, "-m", support.MODEL, "--pairs", support.pairs_file(), "--resamples", "500",
                 "--quiet", *options, *arguments)
    assert result.code == 0, result


def records(path):
    report = json.loads(run("stats", path, "--json").out)
    return report if isinstance(report, list) else [report]


def close(a, b):
    """Equal but for rounding, however deep."""
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-11)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(close(a[key], b[key]) for key in a)
    return a == b


class Merged(CliTest):
    def parts(self, sweep, count, *options):
        paths = [self.folder / f"{sweep}-{index}.h5" for index in range(1, count + 1)]
        for index, path in enumerate(paths, 1):
            made(sweep, *options, "--shard", f"{index}/{count}", "-o", path)
        return paths

    def test_the_merged_parts_are_the_whole_run(self):
        for sweep in SWEEPS:
            with self.subTest(sweep=sweep):
                options = ["--dtype", "f64"]
                whole, merged = self.folder / f"{sweep}.h5", self.folder / f"{sweep}-all.h5"
                made(sweep, *options, "-o", whole)
                parts = self.parts(sweep, 3, *options)
                done = self.assert_ok(run("merge", parts[2], parts[0], parts[1], "-o", merged))
                self.assertIn("from 3 files", done.out)
                told = json.loads(self.assert_ok(run("merge", *parts, "-o", merged, "--force",
                                                     "--json")).out)
                self.assertEqual(told["files"], [str(part) for part in parts])
                self.assertEqual((told["prompts"], told["path"]), (48, str(merged)))
                self.assertEqual(told["kind"], SWEEPS[sweep][0])
                self.assertEqual(told["experiments"], [r["experiment"] for r in records(merged)])
                self.assertEqual(told["sha256"], hashlib.sha256(merged.read_bytes()).hexdigest())
                self.assertEqual(told["warnings"], [])
                self.assert_ok(run("verify", merged))
                facts = ("rerun_difference", "batch_difference", "verify_cells",
                         "verify_max_difference")
                for a, b in zip(records(whole), records(merged), strict=True):
                    for record in (a, b):
                        for name in facts:  # of how it ran
                            record["attributes"].pop(name, None)
                        record.pop("noise_floor")
                        record.pop("verify", None)
                    self.assertGreater(len(a["cells"]), 4)
                    self.assertIsNotNone(a["cells"][0]["p_adjusted"])
                    self.assertTrue(close(a, b), (a, b))
                # A part knows less: its tests are simultaneous over its own cells.
                alone = {(c["method"], c["unit"]): c for part in parts
                         for c in records(part)[0]["cells"]}
                self.assertTrue(any(alone[c["method"], c["unit"]]["p_adjusted"] < c["p_adjusted"]
                                    for c in records(merged)[0]["cells"]))

    @unittest.skipIf(h5py is None, "needs h5py")
    def test_a_metric_that_cannot_be_negative_has_no_p_in_the_whole_either(self):
        for sweep in ("ablate", "edges", "paths"):
            with self.subTest(sweep=sweep):
                parts = self.parts(sweep, 2, "--metric", "kl")
                merged = self.folder / f"{sweep}-all.h5"
                self.assert_ok(run("merge", *parts, "-o", merged))
                self.assert_ok(run("verify", merged))
                for record in records(merged):
                    self.assertIn("kl cannot be negative", record["notes"]["values"][0])
                    for cell in record["cells"]:
                        self.assertEqual((cell["p"], cell["p_adjusted"]), (None, None))
                        self.assertIsNotNone(cell["ci"])
                out = self.assert_ok(run("stats", merged)).out
                self.assertIn("Effects have no p: kl cannot be negative", out)

    def test_an_exact_sweep_merges_to_the_same_bits(self):
        whole, merged = self.folder / "whole.h5", self.folder / "merged.h5"
        options = ["--exact", "--limit", "24", "--per-prompt"]
        made("denoise", *options, "-o", whole)
        self.assert_ok(run("merge", *self.parts("denoise", 2, *options), "-o", merged))
        with h5py.File(whole) as a, h5py.File(merged) as b:
            self.assertEqual(a.attrs["run_id"], b.attrs["run_id"])
            self.assertNotIn("shard", b.attrs)
            names = []
            a["experiments"].visititems(lambda name, item: names.append(name) if isinstance(
                item, h5py.Dataset) else None)
            self.assertTrue({"patch_layer_pos/per_prompt", "patch_layer_head/recovery"}
                            <= set(names), names)
            for name in names:
                self.assertEqual(a["experiments"][name].attrs["sha256"],
                                 b["experiments"][name].attrs["sha256"], name)
            self.assertEqual(list(a["prompts"]), list(b["prompts"]))

    def test_groups_of_the_same_pairs_are_one_draw_in_the_whole_too(self):
        lines = [json.loads(line) for line in support.pairs_text().splitlines()]
        pairs = self.folder / "copies.jsonl"
        pairs.write_text("".join(json.dumps(line | {"group": f"{line['group']} {copy}"}) + "\n"
                                 for copy in range(3) for line in lines))
        def made_of_copies(*arguments):
            self.assert_ok(run("ablate", "-m", support.MODEL, "--pairs", pairs, "--resamples", "500",
                               "--layers", "0", "--dtype", "f64", "--quiet", *arguments))
        whole, merged = self.folder / "whole.h5", self.folder / "merged.h5"
        parts = [self.folder / f"{part}.h5" for part in (1, 2)]
        made_of_copies("-o", whole, "--per-prompt")
        for number, part in enumerate(parts, 1):
            made_of_copies("-o", part, "--shard", f"{number}/2")
        self.assert_ok(run("merge", *parts, "-o", merged))
        groups = len({line["group"] for line in lines})
        for path in (whole, merged):
            [record] = records(path)
            for cell in record["cells"]:
                self.assertEqual((cell["n"], cell["groups"]), (3 * len(lines), groups))
        self.assertTrue(close(records(whole)[0]["cells"], records(merged)[0]["cells"]))

    def test_counts_are_sums_and_differences_the_largest(self):
        parts = self.parts("noise", 2, "--verify", "7")
        merged = self.folder / "merged.h5"
        self.assert_ok(run("merge", *parts, "-o", merged))
        of_parts = [records(part)[0] for part in parts]
        [whole] = records(merged)
        self.assertEqual(whole["verify"]["cells"], 14)
        for name in ("rerun_difference", "batch_difference", "verify_max_difference"):
            self.assertEqual(whole["attributes"][name],
                             max(part["attributes"][name] for part in of_parts))
        self.assertEqual(whole["noise_floor"], max(part["noise_floor"] for part in of_parts))

    def test_a_part_says_that_it_is_one(self):
        [first, _] = self.parts("ablate", 2)
        self.assertIn("Part 1 of 2", self.assert_ok(run("stats", first)).out)
        self.assertEqual(records(first)[0]["part"], [1, 2])
        verb, *options = SWEEPS["noise"]
        arguments = [verb, "-m", support.MODEL, "--pairs", support.pairs_file(), *options,
                     "--shard", "2/2", "-o", self.folder / "x.h5", "--force"]
        self.assertIn("Part 2 of 2", self.assert_ok(run(*arguments)).out)
        self.assertEqual(json.loads(self.assert_ok(run(*arguments, "--json")).out)["part"], [2, 2])

    def test_what_is_no_whole_run_is_refused(self):
        out = self.folder / "out.h5"
        first, second = self.parts("noise", 2)
        other = self.folder / "other.h5"
        made("noise", "--seed", "7", "--shard", "2/2", "-o", other)
        whole = self.folder / "whole.h5"
        made("noise", "-o", whole)
        made("edges", "-o", self.folder / "edges.h5")
        for files, parts in (([first, first], ["the same"]),
                             ([first, other], ['the option "seed" differs', "expected 0, got 7",
                                               "the same options"]),
                             ([first, whole], ["a whole run", "part 1 of 2"]),
                             ([first, support.text_capture()], ["another kind of file"]),
                             ([whole, self.folder / "positions.h5"], ["positions.h5"])):
            self.assert_error(run("merge", *files, "-o", out), 2, *parts)
            self.assertFalse(out.exists())
        third = self.folder / "third.h5"
        made("noise", "--shard", "1/3", "-o", third)
        self.assert_error(run("merge", third, second, "-o", out), 2, "another number of parts")
        again = self.folder / "again.h5"
        made("noise", "--seed", "7", "-o", again)
        self.assert_error(run("merge", whole, again, "-o", out), 2, '"patch" is in two files',
                          "--shard")
        self.assert_ok(run("merge", first, second, "-o", out))
        self.assert_error(run("merge", first, second, "-o", out), 3, "--force")
        self.assert_ok(run("merge", second, first, "-o", out, "--force"))

    def test_parts_of_other_inputs_say_what_differs(self):
        [first, second] = self.parts("noise", 2)
        few = self.folder / "few.jsonl"
        few.write_text("".join(support.pairs_text().splitlines(keepends=True)[:24]))
        for pairs, site, parts in (
                (few, "z", ["the prompts differ", "the same file of prompts"]),
                (support.pairs_file(), "q", ['the option "site" differs', 'expected "z", got "q"'])):
            self.assert_ok(run("patch", "-m", support.MODEL, "--pairs", pairs, "--site", site,
                               "--direction", "noise", "--floor", "0.001", "--resamples", "500",
                               "--shard", "2/2", "-o", second, "--force"))
            self.assert_error(run("merge", first, second, "-o", self.folder / "out.h5"), 2, *parts)

    def test_empty_parts_are_refused(self):
        for sweep, count in (("paths", "5 senders"), ("edges", "5 cells"), ("ablate", "20 units")):
            verb, *options = SWEEPS[sweep]
            self.assert_error(run(verb, "-m", support.MODEL, "--pairs", support.pairs_file(),
                                  *options, "--shard", "1/99", "-o", self.folder / "x.h5"), 2,
                              "--shard 1/99", "empty", count,
                              f"expected at most {count.split()[0]} parts, got 99")


if __name__ == "__main__":
    unittest.main()
