"""The verbs that read files: stats, show, export, verify, merge, diff, against h5py and numpy."""
import csv
import io
import json
import os
import shutil
import struct
import unittest
import xml.etree.ElementTree

import support
from support import CliTest, run

try:
    import h5py
    import numpy
except ImportError as missing:
    raise unittest.SkipTest(f"needs numpy and h5py: {missing}") from missing


def pattern_of(path, layer, head, site="pattern"):
    name = {"pattern": "hook_pattern", "scores": "hook_attn_scores"}[site]
    with h5py.File(path) as file:
        return file[f"prompts/p000000/cache/blocks.{layer}.attn.{name}"][head]


def token_texts(path):
    with h5py.File(path) as file:
        return [t.decode() for t in file["prompts/p000000/tokens/text"][()]]


class Stats(CliTest):
    def statistic(self, path, name):
        with h5py.File(path) as file:
            stats = file["prompts/p000000/attention/self/head_stats"]
            names = [n.decode() if isinstance(n, bytes) else n for n in stats.attrs["names"]]
            return stats[..., names.index(name)]

    def test_json_is_what_the_file_holds(self):
        path = support.text_capture()
        for name in ("entropy", "previous", "sink", "max"):
            report = json.loads(self.assert_ok(run("stats", path, "--sort", name, "--json")).out)
            expected = self.statistic(path, name)
            numpy.testing.assert_allclose(numpy.array(report["values"], dtype=float), expected,
                                          rtol=1e-6)
            ranked = sorted(((-expected[i], f"{i[0]}.{i[1]}")
                             for i in numpy.ndindex(expected.shape)))
            self.assertEqual([t["head"] for t in report["top"]][:3], [h for _, h in ranked[:3]])

    def test_unknown_names_are_met_with_the_known_ones(self):
        path = support.text_capture()
        self.assert_error(run("stats", path, "--sort", "inducton"), 2, "--sort: ", "induction",
                          "entropy_norm")
        self.assert_error(run("stats", path, "--prompt-id", "p9"), 2, "--prompt-id: ",
                          "expected p000000, got")

    def test_damaged_arrays_are_not_shown(self):
        damaged = self.folder / "damaged.h5"
        for name, verb in (("attention/self/head_stats", ["stats"]),
                           ("cache/blocks.1.attn.hook_pattern", ["show", "--head", "1.0"]),
                           ("tokens/text", ["show", "--head", "1.0"])):
            shutil.copy(support.text_capture(), damaged)
            with h5py.File(damaged, "r+") as file:
                data = file["prompts/p000000"][name]
                values = data[...]
                other = next(v for v in values.flat if v != values.flat[0])
                values.flat[0] = other
                data[...] = values
            result = run(verb[0], damaged, *verb[1:])
            self.assert_error(result, 2, "damaged.h5", f"/prompts/p000000/{name}", "is damaged",
                              "attnscope verify")
            self.assertEqual(result.out, "")
            self.assertIn(name, run("verify", damaged).out)

    def test_undefined_is_null(self):
        # No token of this prompt was there before, so no row can show induction.
        path = support.captured("distinct", "--ids", "10,11,12,13")
        report = json.loads(run("stats", path, "--sort", "induction", "--json").out)
        self.assertEqual({v for row in report["values"] for v in row}, {None})
        self.assertEqual(report["top"], [])

    def test_mean_over_prompts(self):
        prompts = self.folder / "p.txt"
        prompts.write_text("Once upon a time\nThe cat sat on the mat\n")
        path = self.folder / "two.h5"
        self.assert_ok(run("capture", "-m", support.MODEL, "--prompts", prompts, "-o", path))
        values = []
        for arguments in (["--prompt-id", "p000000"], ["--prompt-id", "1"], []):
            report = json.loads(self.assert_ok(run("stats", path, "--sort", "max", "--json",
                                                   *arguments)).out)
            values.append(numpy.array(report["values"]))
        numpy.testing.assert_allclose(values[2], (values[0] + values[1]) / 2, rtol=1e-6)

    def test_text_lists_heads_by_name(self):
        path = support.text_capture()
        report = json.loads(run("stats", path, "--sort", "sink", "--json").out)
        text = self.assert_ok(run("stats", path, "--sort", "sink", "--top", "4")).out
        self.assertIn("sink", text)
        for top in report["top"][:4]:
            self.assertIn(top["head"], text)

    def test_bad_names(self):
        path = support.text_capture()
        self.assert_error(run("stats", path, "--sort", "entropi"), 2, "entropi", "entropy")
        self.assert_error(run("stats", path, "--prompt-id", "p000009"), 2, "--prompt-id")


class Show(CliTest):
    def test_json_is_the_map(self):
        path = support.text_capture()
        for site in ("pattern", "scores"):
            report = json.loads(self.assert_ok(run("show", path, "--head", "2.1", "--hook", site,
                                                   "--json")).out)
            expected = pattern_of(path, 2, 1, site)
            got = numpy.array([[numpy.nan if v is None else v for v in row]
                               for row in report["values"]])
            numpy.testing.assert_array_equal(numpy.isnan(got), ~numpy.isfinite(expected))
            numpy.testing.assert_allclose(got[numpy.isfinite(expected)],
                                          expected[numpy.isfinite(expected)], rtol=1e-6)
            self.assertEqual(report["queries"], token_texts(path))

    def test_text_has_the_tokens(self):
        path = support.text_capture()
        text = self.assert_ok(run("show", path, "--head", "2.1")).out
        self.assertIn("2.1", text)
        for token in token_texts(path):
            self.assertIn(token.strip(), text)
        self.assertEqual(run("show", path, "--head", "2.1", "--prompt-id", "p000000").out, text)

    def test_bad_heads(self):
        path = support.text_capture()
        for head in ("9.0", "0.9", "-1", "x", "1", "1.", "0.*", "0.0,0.1", ""):
            self.assert_error(run("show", path, "--head", head), 2, "--head")

    def test_a_map_that_was_not_recorded(self):
        path = support.captured("part", "--prompt", "Once upon", "--heads", "1.2")
        self.assert_ok(run("show", path, "--head", "1.2"))
        self.assert_error(run("show", path, "--head", "1.1"), 2, "1.1")
        self.assert_error(run("show", path, "--head", "0.0"), 2, "0.0")
        self.assert_error(run("show", path, "--head", "1.2", "--hook", "scores"), 2, "scores")


class Export(CliTest):
    def export(self, *arguments, out):
        path = self.folder / out
        self.assert_ok(run("export", support.text_capture(), *arguments, "-o", path))
        return path

    def test_npy(self):
        got = numpy.load(self.export("--head", "3.2", out="a.npy"))
        numpy.testing.assert_array_equal(got, pattern_of(support.text_capture(), 3, 2))
        grid = numpy.load(self.export("--heads", "1.*", out="b.npy"))
        self.assertEqual(grid.shape[0], 4)
        numpy.testing.assert_array_equal(grid[3], pattern_of(support.text_capture(), 1, 3))

    def test_json_says_what_was_written(self):
        out = self.folder / "grid.npy"
        part = support.captured("heads-of-one-layer", "--prompt", "Once", "--heads", "1.0-2")
        done = self.assert_ok(run("export", part, "--heads", "1.*", "-o", out, "--json"))
        told = json.loads(done.out)
        [warning] = told.pop("warnings")
        self.assertEqual(warning, "left out: 1 head of which no map was recorded")
        self.assertIn(warning, done.err)
        self.assertEqual(told, {"prompt": "p000000", "hook": "pattern",
                                "heads": ["1.0", "1.1", "1.2"], "format": "npy", "path": str(out),
                                "file_bytes": out.stat().st_size})

    def test_csv(self):
        path = self.export("--head", "3.2", out="a.csv")
        rows = list(csv.reader(io.StringIO(path.read_text(encoding="utf-8"))))
        expected = pattern_of(support.text_capture(), 3, 2)
        self.assertEqual([row[1] for row in rows[1:]], token_texts(support.text_capture()))
        got = numpy.array([[float(v) for v in row[2:]] for row in rows[1:]], dtype="f4")
        numpy.testing.assert_array_equal(got, expected)

    def test_svg(self):
        for name, arguments in (("one.svg", ["--head", "3.2"]), ("all.svg", ["--heads", "*.*"])):
            root = xml.etree.ElementTree.parse(self.export(*arguments, out=name)).getroot()
            self.assertTrue(root.tag.endswith("svg"))
            text = " ".join(root.itertext())
            self.assertIn("3.2", text)
            self.assertIn("tiny-random-gpt2", text)

    def test_png(self):
        for name, arguments in (("one.png", ["--head", "3.2"]), ("all.png", ["--heads", "0-1.*"])):
            content = self.export(*arguments, out=name).read_bytes()
            self.assertEqual(content[:8], b"\x89PNG\r\n\x1a\n")
            width, height = struct.unpack(">II", content[16:24])
            self.assertGreater(min(width, height), 50)

    def test_format_by_option_or_name(self):
        a = self.export("--head", "0.0", "--format", "csv", out="plain")
        b = self.export("--head", "0.0", out="plain.csv")
        self.assertEqual(a.read_bytes(), b.read_bytes())
        self.assert_error(run("export", support.text_capture(), "--head", "0.0", "-o",
                              self.folder / "x.bmp"), 2, "--format", ".png")
        self.assert_error(run("export", support.text_capture(), "-o", self.folder / "x.png"), 2,
                          "--head")

    def test_labels_that_are_markup(self):
        path = support.captured("markup", "--prompt", "<script>&\"'</script>")
        out = self.folder / "m.svg"
        self.assert_ok(run("export", path, "--head", "0.0", "-o", out))
        tags = {e.tag.split("}")[-1] for e in xml.etree.ElementTree.parse(out).iter()}
        self.assertNotIn("script", tags)


class Verify(CliTest):
    def test_whole_file(self):
        result = self.assert_ok(run("verify", support.text_capture()))
        self.assertEqual(result.err, "")
        self.assertNotIn("note", result.out)
        report = json.loads(run("verify", support.text_capture(), "--json").out)
        self.assertEqual((report["ok"], report["findings"], report["notes"]), (True, [], []))

    def test_says_that_the_sidecar_is_missing(self):
        path = self.folder / "x.h5"
        shutil.copy(support.text_capture(), path)
        result = self.assert_ok(run("verify", path))
        self.assertIn("note: no x.json beside it: the file's own hash was not checked", result.out)
        self.assertEqual(len(json.loads(run("verify", path, "--json").out)["notes"]), 1)

    def test_nan_of_the_model_is_a_note(self):
        model = self.folder / "model"
        shutil.copytree(support.MODEL, model)
        weights = model / "model.safetensors"
        weights.chmod(0o644)
        content = bytearray(weights.read_bytes())
        header = 8 + struct.unpack("<Q", content[:8])[0]
        tensors = json.loads(content[8:header])
        name = next(n for n in tensors if n.endswith("wte.weight"))
        row = 4 * tensors[name]["shape"][1]
        begin = header + tensors[name]["data_offsets"][0] + 7 * row
        content[begin:begin + 4] = struct.pack("<f", float("nan"))
        weights.write_bytes(content)
        for options in ([], ["--map-dtype", "f32"], ["--map-dtype", "f16"]):
            # Token 7, whose embedding is not a number, is the third.
            path = self.folder / "x.h5"
            self.assert_ok(run("capture", "-m", model, "--ids", "1,2,7,3", "--hooks",
                               "pattern,attn_scores,z", "-o", path, "--force", *options))
            with h5py.File(path) as file:
                rows = file["prompts/p000000/cache/blocks.0.attn.hook_pattern"][()]
                self.assertEqual(numpy.isnan(rows).any(axis=(0, 2)).tolist(),
                                 [False, False, True, True])
            result = self.assert_ok(run("verify", path))
            self.assertIn("NaN values present", result.out)

    def test_changed_value(self):
        path = self.folder / "x.h5"
        shutil.copy(support.text_capture(), path)
        with h5py.File(path, "r+") as file:
            file["prompts/p000000/cache/blocks.0.attn.hook_z"][0, 0, 0] += 1
        result = run("verify", path, "--json")
        self.assert_error(result, 2, "x.h5")
        report = json.loads(result.out)
        self.assertFalse(report["ok"])
        self.assertIn("blocks.0.attn.hook_z", json.dumps(report["findings"]))

    def test_no_attnscope_file(self):
        with h5py.File(self.folder / "other.h5", "w") as file:
            file["x"] = [1, 2, 3]
        self.assert_error(run("verify", self.folder / "other.h5"), 2, "other.h5")
        content = support.text_capture().read_bytes()
        cases = {"cut.h5": content[:len(content) // 2], "text.h5": b"hello", "empty.h5": b""}
        for name, data in cases.items():
            (self.folder / name).write_bytes(data)
            for verb in (["verify"], ["stats"], ["show", "--head", "0.0"]):
                self.assert_error(run(verb[0], self.folder / name, *verb[1:]), 2, name)

    def test_newer_schema(self):
        path = self.folder / "new.h5"
        shutil.copy(support.text_capture(), path)
        with h5py.File(path, "r+") as file:
            file.attrs["schema_version"] = numpy.array([2, 0], dtype=file.attrs[
                "schema_version"].dtype)
        self.assert_error(run("stats", path), 2, "new.h5", "newer")

    def test_links_out_of_the_file(self):
        path = self.folder / "link.h5"
        shutil.copy(support.text_capture(), path)
        with h5py.File(path, "r+") as file:
            name = "prompts/p000000/cache/blocks.0.attn.hook_z"
            del file[name]
            file[name] = h5py.ExternalLink("/etc/passwd", "/x")
        self.assert_error(run("diff", path, support.text_capture()), 2, "link.h5")

    def test_things_that_are_no_files(self):
        os.mkfifo(self.folder / "fifo")
        for path in (self.folder / "fifo", self.folder, "/dev/zero", self.folder / "none"):
            self.assert_error(run("verify", path, timeout=20), 2)


class Merge(CliTest):
    def test_prompts_follow_each_other(self):
        a = support.captured("merge_a", "--prompt", "Once upon a time")
        b = support.captured("merge_b", "--prompt", "The cat sat")
        out = self.folder / "ab.h5"
        self.assert_ok(run("merge", a, b, "-o", out))
        self.assert_ok(run("verify", out))
        self.assertTrue((self.folder / "ab.json").exists())
        with h5py.File(out) as file:
            self.assertEqual(list(file["prompts"]), ["p000000", "p000001"])
            for source, prompt in ((a, "p000000"), (b, "p000001")):
                with h5py.File(source) as single:
                    for name in single["prompts/p000000/cache"]:
                        numpy.testing.assert_array_equal(
                            file[f"prompts/{prompt}/cache/{name}"][()],
                            single[f"prompts/p000000/cache/{name}"][()])

    def test_other_model(self):
        other = self.folder / "llama.h5"
        self.assert_ok(run("capture", "-m", support.FIXTURES / "families/llama", "--ids", "1,2,3",
                           "-o", other))
        self.assert_error(run("merge", support.text_capture(), other, "-o", self.folder / "x.h5"),
                          2, "model")
        self.assertFalse((self.folder / "x.h5").exists())

    def test_parts_of_a_run(self):
        prompts = self.folder / "p.txt"
        prompts.write_text("Once upon a time\nThe cat sat\nA dog\nIt was\nThey\n")
        common = ["capture", "-m", support.MODEL, "--prompts", prompts, "--hooks", "pattern,z",
                  "--quiet"]
        whole = self.folder / "whole.h5"
        self.assert_ok(run(*common, "-o", whole))
        parts = [self.folder / f"part{i}.h5" for i in (1, 2, 3)]
        for i, part in enumerate(parts):
            self.assert_ok(run(*common, "--shard", f"{i + 1}/3", "-o", part))
            with h5py.File(part) as file:
                self.assertEqual(file.attrs["shard"].tolist(), [i, 3])
        out = self.folder / "merged.h5"
        self.assert_error(run("merge", parts[0], parts[2], "-o", out), 2, "part 2")
        self.assert_error(run("merge", *parts, parts[1], "-o", out), 2, "the same file")
        self.assert_ok(run("merge", parts[2], parts[0], parts[1], "-o", out))
        self.assert_ok(run("verify", out))
        with h5py.File(out) as merged, h5py.File(whole) as expected:
            self.assertNotIn("shard", merged.attrs)
            self.assertEqual(merged.attrs["run_id"], expected.attrs["run_id"])
            names = []
            expected.visit(names.append)
            found = []
            merged.visit(found.append)
            self.assertEqual(sorted(found), sorted(names))
            for name in names:
                if isinstance(expected[name], h5py.Dataset):
                    self.assertEqual(merged[name].attrs["sha256"], expected[name].attrs["sha256"],
                                     name)

    def test_other_options(self):
        a = support.captured("merge_a", "--prompt", "Once upon a time")
        for more, named in (["--dtype", "f64"], "dtype"), (["--hooks", "z"], "hooks"):
            other = self.folder / f"{named}.h5"
            self.assert_ok(run("capture", "-m", support.MODEL, "--prompt", "x", *more, "-o", other))
            self.assert_error(run("merge", a, other, "-o", self.folder / "m.h5"), 2, named)
        all_by_name = support.captured("merge_all", "--prompt", "The cat sat", "--heads", "*")
        self.assert_ok(run("merge", a, all_by_name, "-o", self.folder / "all.h5"))

    def test_one_file_is_not_enough(self):
        self.assert_error(run("merge", support.text_capture(), "-o", self.folder / "x.h5"), 2)


class Diff(CliTest):
    def two(self):
        options = ["--prompt", "Once upon a time", "--hooks", "pattern,resid_post", "--map-dtype",
                   "f32"]
        other = self.folder / "other"
        shutil.copytree(support.MODEL, other)
        # The same model with another epsilon, so that everything changes a little.
        config = json.loads((other / "config.json").read_text())
        config["layer_norm_epsilon"] = 1e-2
        (other / "config.json").write_text(json.dumps(config))
        path = self.folder / "other.h5"
        self.assert_ok(run("capture", "-m", other, *options, "-o", path))
        return support.captured("diff", *options), path

    def test_largest_and_mean(self):
        a, b = self.two()
        report = json.loads(self.assert_ok(run("diff", a, b, "--json")).out)
        by_name = {(c["site"], c.get("head")): c for c in report["changes"]}
        with h5py.File(a) as file_a, h5py.File(b) as file_b:
            cache_a, cache_b = (f["prompts/p000000/cache"] for f in (file_a, file_b))
            for name in cache_a:
                change = numpy.abs(cache_b[name][()].astype("f8") - cache_a[name][()])
                parts = {h: change[h] for h in range(len(change))} if "pattern" in name else {
                    None: change}
                for head, part in parts.items():
                    entry = by_name[name, head]
                    self.assertAlmostEqual(entry["largest"], part.max(), places=6)
                    self.assertGreater(entry["largest"], 0)
            changes = numpy.concatenate([
                numpy.abs(cache_b[name][()].astype("f8") - cache_a[name][()]).ravel()
                for name in cache_a])
            self.assertAlmostEqual(report["overall"]["largest"], changes.max(), places=6)
            self.assertAlmostEqual(report["overall"]["mean"], changes.mean(), places=6)
            self.assertEqual(report["overall"]["values"], len(changes))
        text = self.assert_ok(run("diff", a, b)).out
        self.assertIn("blocks.0.attn.hook_pattern", text)
        last = text.splitlines()[-1].split()
        self.assertEqual((last[0], last[3]), ("all", str(len(changes))))
        self.assertAlmostEqual(float(last[1]), changes.max(), places=3)

    def test_what_cannot_be_compared_is_listed(self):
        a = support.captured("rows_a", "--prompt", "Once upon a time", "--positions", "0,1")
        report = json.loads(self.assert_ok(run("diff", a, support.text_capture(), "--json")).out)
        self.assertIn("blocks.0.attn.hook_pattern", report["other_shape"])
        text = self.assert_ok(run("diff", a, support.text_capture())).out
        self.assertRegex(text, r"other shape or positions: .*blocks\.0\.attn\.hook_pattern")

    def test_a_file_with_itself(self):
        a = support.text_capture()
        report = json.loads(self.assert_ok(run("diff", a, a, "--json")).out)
        self.assertEqual({c["largest"] for c in report["changes"]}, {0})

    def test_stored(self):
        a, b = self.two()
        out = self.folder / "d.h5"
        self.assert_ok(run("diff", a, b, "-o", out))
        self.assert_ok(run("verify", out))
        with h5py.File(out) as file:
            self.assertEqual(file.attrs["kind"], b"diff")

    def test_other_tokens(self):
        other = support.captured("other_tokens", "--prompt", "Once upon a cat")
        self.assert_error(run("diff", support.text_capture(), other), 2, "token")


if __name__ == "__main__":
    unittest.main()
