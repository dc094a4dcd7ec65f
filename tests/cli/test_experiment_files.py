"""stats, show, export and verify on the file of a verdict that h5py wrote as SCHEMA.md says."""
import csv
import hashlib
import json
import shutil
import unittest
import xml.etree.ElementTree

from support import CliTest, run

try:
    import h5py
    import numpy
except ImportError as missing:
    raise unittest.SkipTest(f"needs numpy and h5py: {missing}") from missing

LAYERS, HEADS, PROMPTS = 3, 4, 2
EFFECT = numpy.round(numpy.random.default_rng(5).normal(0, 0.2, (2, LAYERS, HEADS)), 6)
EFFECT[0, 1, 2] = -3.25
MASS = numpy.linspace(0.1, 0.9, LAYERS * HEADS).reshape(LAYERS, HEADS)
VERDICT = numpy.where(numpy.abs(EFFECT[0]) > 1, 1, 0).astype(numpy.int8)
TOKENS = [["<s>", " Mary", " went"], ["<s>", " John", " went"]]


def texts(values):
    coded = numpy.array([v.encode() for v in numpy.ravel(values)]).reshape(numpy.shape(values))
    return coded.astype(h5py.string_dtype("utf-8", coded.dtype.itemsize))


def put(group, name, values, dims, site):
    values = numpy.asarray(values)
    data = group.create_dataset(name, data=values)
    data.attrs["site"] = numpy.bytes_(site)
    data.attrs["layer"] = numpy.int64(-1)
    data.attrs["dims"] = numpy.bytes_(" ".join(dims) if dims else "\0")
    for axis, label in enumerate(dims):
        data.dims[axis].label = label
    data.attrs["sha256"] = numpy.bytes_(hashlib.sha256(values.tobytes()).hexdigest())


def attributes(target, **values):
    for name, value in values.items():
        target.attrs[name] = numpy.bytes_(value or "\0") if isinstance(value, str) else value


def write_prompts(file):
    for index, tokens in enumerate(TOKENS):
        group = file.create_group(f"prompts/p{index:06d}")
        attributes(group, group=f"g{index}", label="")
        put(group, "text", texts("".join(tokens[1:])), [], "prompts")
        put(group, "tokens/ids", numpy.arange(3, dtype=numpy.int64), ["t"], "tokens")
        put(group, "tokens/text", texts(tokens), ["t"], "tokens")


def write_header(file, kind):
    attributes(file, schema="attnscope/1", schema_version=numpy.array([1, 0]), kind=kind,
               run_id="r", tool_version="0", git_commit="0", layout="per_prompt")
    model = file.create_group("model")
    attributes(model, name="toy", family="gpt2", weight_processing="raw", config_sha256="c",
               weights_sha256="w", tokenizer_sha256="t", n_layers=numpy.int64(LAYERS))
    put(model, "config_json", texts("{}"), [], "model")
    run_group = file.create_group("run")
    attributes(run_group, device="cpu", dtype="f32", engine="aten", threads=numpy.int64(1),
               seed=numpy.int64(0))
    put(run_group, "options_json", texts("{}"), [], "run")


def write_verdict(path, **changes):
    """A verdict as a grid of heads; `changes` replace arrays by name."""
    units = ["layer", "head"]
    arrays = {
        "effect": (EFFECT, ["method"] + units),
        "ci_sim_low": (EFFECT - 0.1, ["method"] + units),
        "ci_sim_high": (EFFECT + 0.1, ["method"] + units),
        "p_adjusted": (numpy.full(EFFECT.shape, 0.25), ["method"] + units),
        "n": (numpy.full(EFFECT.shape, PROMPTS), ["method"] + units),
        "verdict": (VERDICT, units),
        "attention": (numpy.stack([MASS, 1 - MASS], axis=-1), units + ["measure"]),
        "methods": (texts(["zero", "mean"]), ["method"]),
        "measures": (texts(["mass", "entropy"]), ["measure"]),
        "cells": (texts([[f"{l}.{h}" for h in range(HEADS)] for l in range(LAYERS)]), units),
        "layers": (numpy.arange(LAYERS), ["layer"]),
        "heads": (numpy.arange(HEADS), ["head"]),
    }
    with h5py.File(path, "w") as file:
        write_header(file, "verdict")
        write_prompts(file)
        group = file.create_group("experiments/verdict")
        attributes(group, kind="verdict", metric="logit-diff", noise_floor=1e-6, delta=0.5)
        for name, (values, dims) in arrays.items():
            put(group, name, changes.get(name, values), dims, "experiments")


def write_patch(path):
    dims = ["method", "layer", "position"]
    with h5py.File(path, "w") as file:
        write_header(file, "patch")
        write_prompts(file)
        group = file.create_group("experiments/patch")
        attributes(group, kind="patch", metric="logit-diff", noise_floor=0.0)
        put(group, "effect", numpy.arange(6.0).reshape(1, 2, 3), dims, "experiments")
        put(group, "methods", texts(["resid_pre"]), ["method"], "experiments")
        put(group, "cells", texts([[f"{l}@{p}" for p in range(3)] for l in range(2)]), dims[1:],
            "experiments")
        put(group, "layers", numpy.arange(2), ["layer"], "experiments")
        put(group, "positions", numpy.arange(3), ["position"], "experiments")


def write_lens(path, prompts):
    with h5py.File(path, "w") as file:
        write_header(file, "lens")
        write_prompts(file)
        for index in range(prompts):
            group = file.create_group(f"experiments/lens/p{index:06d}")
            attributes(group, kind="lens", metric="logit", noise_floor=0.0)
            put(group, "kl", numpy.ones((2, 3)), ["stage", "position"], "experiments")


class ExperimentFiles(CliTest):
    def setUp(self):
        super().setUp()
        self.verdict = self.folder / "verdict.h5"
        write_verdict(self.verdict)

    def export(self, path, *arguments, name="figure.csv"):
        out = self.folder / name
        self.assert_ok(run("export", path, "-o", out, "--force", *arguments))
        return out

    def test_verify_agrees_and_finds_what_cannot_be(self):
        self.assert_ok(run("verify", self.verdict))
        other = self.folder / "other.h5"
        write_verdict(other, p_adjusted=numpy.full(EFFECT.shape, 1.5))
        result = run("verify", other)
        self.assertEqual(result.code, 2)
        self.assertIn("p_adjusted", result.out + result.err)

    def test_stats_lists_units_by_effect(self):
        text = self.assert_ok(run("stats", self.verdict, "--top", "3")).out
        lines = text[text.index("zero: "):].splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("1.2"))
        order = numpy.argsort(-numpy.abs(EFFECT[0]).ravel())[:3]
        for line, cell in zip(lines[first:], order):
            self.assertTrue(line.startswith(f"{cell // HEADS}.{cell % HEADS} "), text)
        self.assertIn("-3.25", lines[first])
        self.assertIn("causal", lines[first])

    def test_json_is_what_the_file_holds(self):
        report = json.loads(self.assert_ok(run("stats", self.verdict, "--json")).out)
        self.assertEqual(report["metric"], "logit-diff")
        self.assertEqual(report["attributes"]["delta"], 0.5)
        self.assertEqual(len(report["cells"]), EFFECT.size)
        for cell, effect in zip(report["cells"], EFFECT.ravel()):
            self.assertEqual(cell["effect"], effect)
            self.assertIsNone(cell["ci"])
            self.assertAlmostEqual(cell["ci_simultaneous"][0], effect - 0.1, 12)
            self.assertIsNone(cell["p"])
            self.assertEqual(cell["n"], PROMPTS)
        self.assertEqual(report["cells"][6]["unit"], "1.2")
        self.assertEqual(report["cells"][6]["verdict"], "causal")
        self.assertEqual(report["cells"][LAYERS * HEADS]["method"], "mean")

    def test_records_without_effects_are_listed(self):
        lens = self.folder / "lens.h5"
        write_lens(lens, 5)
        self.assert_ok(run("verify", lens))
        text = self.assert_ok(run("stats", lens, "--top", "3")).out
        self.assertIn("kl [stage 2, position 3]", text)
        self.assertIn("lens/p000002", text)
        self.assertNotIn("lens/p000003", text)
        self.assertIn("and 2 prompts", text)
        report = json.loads(self.assert_ok(run("stats", lens, "--json")).out)
        self.assertEqual([record["experiment"] for record in report],
                         [f"lens/p{index:06d}" for index in range(5)])
        self.assert_error(run("export", lens, "--figure", "grid", "-o", self.folder / "a.svg"), 2,
                          "no experiment with effects", "lens/p000000")

    def test_options_about_captures_are_refused(self):
        self.assert_error(run("stats", self.verdict, "--sort", "entropy"), 2, "--sort", "a capture")
        self.assert_error(run("stats", self.verdict, "--prompt-id", "p000000"), 2, "--prompt-id",
                          "over prompts")
        lens = self.folder / "lens.h5"
        write_lens(lens, 2)
        [line] = [line for line in self.assert_ok(
            run("stats", lens, "--prompt-id", "p000001")).out.splitlines() if "lens/" in line]
        self.assertTrue(line.startswith("lens/p000001"))
        self.assert_error(run("stats", lens, "--prompt-id", "p000007"), 2, "--prompt-id")
        out = self.folder / "a.csv"
        for options in (["--method", "mean"], ["--measure", "mass"]):
            self.assert_error(run("export", self.verdict, "--figure", "scatter", *options, "-o",
                                  out), 2, options[0], "csv")
        for options in (["--prompt-id", "p000000"], ["--hook", "scores"]):
            self.assert_error(run("export", self.verdict, "--figure", "grid", *options, "-o",
                                  self.folder / "a.svg"), 2, options[0])

    def test_csv_holds_every_unit_and_method(self):
        with open(self.export(self.verdict, "--figure", "scatter"), newline="",
                  encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual(len(rows), EFFECT.size)
        for row in rows:
            method = ["zero", "mean"].index(row["method"])
            layer, head = int(row["layer"]), int(row["head"])
            self.assertEqual(float(row["effect"]), EFFECT[method, layer, head])
            self.assertEqual(float(row["mass"]), MASS[layer, head])
            self.assertEqual(row["verdict"], "causal" if VERDICT[layer, head] == 1 else "no effect")

    def test_npy_is_the_grid(self):
        path = self.export(self.verdict, "--figure", "grid", "--method", "mean", name="grid.npy")
        numpy.testing.assert_allclose(numpy.load(path), EFFECT[1], rtol=1e-6)

    def test_pictures(self):
        for figure in ("scatter", "grid"):
            tree = xml.etree.ElementTree.parse(
                self.export(self.verdict, "--figure", figure, name=f"{figure}.svg"))
            text = "".join(tree.getroot().itertext())
            for part in ("toy (gpt2)", "2 prompts", "logit-diff", "zero", "n = 2"):
                self.assertIn(part, text)
            png = self.export(self.verdict, "--figure", figure, name=f"{figure}.png").read_bytes()
            self.assertEqual(png[:8], b"\x89PNG\r\n\x1a\n")

    def test_json_says_what_was_written(self):
        out = self.folder / "grid.svg"
        told = json.loads(self.assert_ok(run("export", self.verdict, "--figure", "grid",
                                             "--method", "mean", "-o", out, "--json")).out)
        self.assertEqual(told, {"experiment": "verdict", "figure": "grid", "method": "mean",
                                "units": LAYERS * HEADS, "format": "svg", "path": str(out),
                                "file_bytes": out.stat().st_size, "warnings": []})

    def test_damaged_arrays_are_not_shown(self):
        damaged = self.folder / "damaged.h5"
        for name in ("effect", "cells", "n"):
            shutil.copy(self.verdict, damaged)
            with h5py.File(damaged, "r+") as file:
                data = file["experiments/verdict"][name]
                values = data[...]
                values.flat[0] = values.flat[1]
                data[...] = values if name != "n" else values + 1
            for verb in (["stats", damaged], ["stats", damaged, "--json"],
                         ["export", damaged, "--figure", "grid", "-o", self.folder / "d.svg"]):
                self.assert_error(run(*verb), 2, "damaged.h5", f"/experiments/verdict/{name}",
                                  "damaged", "attnscope verify")
            self.assertFalse((self.folder / "d.svg").exists())

    def test_a_patching_map_has_the_tokens_that_prompts_share(self):
        patch = self.folder / "patch.h5"
        write_patch(patch)
        self.assert_ok(run("verify", patch))
        tree = xml.etree.ElementTree.parse(
            self.export(patch, "--figure", "patch-map", name="map.svg"))
        text = "".join(tree.getroot().itertext())
        self.assertIn("·went", text)
        self.assertIn("@1", text)  # Mary or John
        self.assertNotIn("Mary<", text)
        self.assert_error(run("export", patch, "--figure", "scatter", "-o", "a.svg"), 2,
                          "attention measures")
        self.assert_error(run("export", patch, "--figure", "grid", "-o", "a.svg"), 2,
                          "each head")

    def test_what_does_not_fit_together_is_refused(self):
        out = self.folder / "a.svg"
        self.assert_error(run("show", self.verdict, "--head", "0.0"), 2, "experiment", "stats")
        self.assert_error(run("export", self.verdict, "--head", "0.0", "-o", out), 2,
                          "experiment", "--figure")
        self.assert_error(run("export", self.verdict, "--figure", "grid", "--method", "zeros", "-o",
                              out), 2, "--method", "zero")
        self.assert_error(run("export", self.verdict, "--figure", "scatter", "--measure", "mas",
                              "-o", out), 2, "--measure", "mass")
        self.assert_error(run("export", self.verdict, "--figure", "scatter", "-o",
                              self.folder / "a.npy"), 2, "no array")
        self.assert_error(run("export", self.verdict, "--figure", "grid", "--experiment", "ablate",
                              "-o", out), 2, "ablate", "verdict")
        self.assertFalse(out.exists())


if __name__ == "__main__":
    unittest.main()
