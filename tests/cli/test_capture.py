"""attnscope capture, read back with h5py: values against independent references, options."""
import hashlib
import json
import shutil
import unittest

import support
from support import CliTest, run

try:
    import h5py
    import numpy
except ImportError as missing:
    raise unittest.SkipTest(f"needs numpy and h5py: {missing}") from missing

FAMILIES = support.FIXTURES / "families"


def cache_of(file, prompt="p000000"):
    return file["prompts"][prompt]["cache"]


class Values(CliTest):
    def capture(self, *arguments):
        path = self.folder / "x.h5"
        self.assert_ok(run("capture", "-o", path, "--quiet", *arguments))
        return h5py.File(path)

    def test_published_row(self):
        reference = json.loads((support.MODEL / "reference.json").read_text())
        ids = ",".join(map(str, reference["input_ids"]))
        with self.capture("-m", support.MODEL, "--ids", ids, "--map-dtype", "f32") as file:
            row = cache_of(file)["blocks.4.attn.hook_pattern"][3, 19]
        numpy.testing.assert_allclose(row, reference["attention_L4H3_row19"], atol=1e-5)

    def test_every_family_against_its_oracle(self):
        for family in sorted(p.name for p in FAMILIES.iterdir()):
            with self.subTest(family), numpy.load(FAMILIES / family / "oracle.npz") as oracle:
                ids = oracle["seq1/input_ids"][0]
                names = [n for n in oracle.files if n.startswith("seq1/blocks.")]
                with self.capture("-m", FAMILIES / family, "--ids", ",".join(map(str, ids)),
                                  "--hooks", "*", "--map-dtype", "f32", "--force") as file:
                    cache = cache_of(file)
                    self.assertGreater(len(names), 4)
                    for name in names:
                        expected = oracle[name][0]
                        scale = max(1, numpy.abs(expected).max())
                        numpy.testing.assert_allclose(cache[name.split("/")[1]][()], expected,
                                                      rtol=0, atol=2e-5 * scale, err_msg=name)

    def test_heads_layers_positions_are_compact(self):
        everything = h5py.File(support.captured("all", "--prompt", "Once upon a time",
                                                "--map-dtype", "f32"))
        with everything, self.capture("-m", support.MODEL, "--prompt", "Once upon a time",
                                      "--map-dtype", "f32", "--heads", "1.0,1.2",
                                      "--positions", "1,-1") as file:
            cache = cache_of(file)
            self.assertEqual(list(cache), ["blocks.1.attn.hook_pattern"])
            part = cache["blocks.1.attn.hook_pattern"]
            self.assertEqual(part.attrs["heads"].tolist(), [0, 2])
            whole = cache_of(everything)["blocks.1.attn.hook_pattern"][()]
            last = whole.shape[1] - 1
            self.assertEqual(part.attrs["q_positions"].tolist(), [1, last])
            numpy.testing.assert_array_equal(part[()], whole[numpy.ix_([0, 2], [1, last])])

    def test_positions_by_the_name_of_a_column(self):
        texts = ["Mary gave the book", "The book was for Mary"]
        offsets = ["[5,9]", "[0,3]"]
        prompts = self.folder / "p.csv"
        prompts.write_text("text,who,part\n" + "".join(
            f'{t},Mary,"{o}"\n' for t, o in zip(texts, offsets)))
        tokens = [json.loads(line) for line in run(
            "tokenize", "-m", support.MODEL, "--json", "--prompts", prompts).out.splitlines()]
        for column, spans in (("who", [(t.index("Mary"), t.index("Mary") + 4) for t in texts]),
                              ("part", [tuple(json.loads(o)) for o in offsets])):
            with self.subTest(column), self.capture(
                    "-m", support.MODEL, "--prompts", prompts, "--positions",
                    f"{column},-1", "--force") as file:
                for i, (begin, end) in enumerate(spans):
                    expected = [p for p, (b, e) in enumerate(tokens[i]["offsets"])
                                if b < end and begin < e]
                    expected = sorted({*expected, len(tokens[i]["offsets"]) - 1})
                    part = cache_of(file, f"p00000{i}")["blocks.0.attn.hook_pattern"]
                    self.assertEqual(part.attrs["q_positions"].tolist(), expected)

    def test_a_prompt_without_the_span_is_named(self):
        prompts = self.folder / "p.jsonl"
        prompts.write_text('{"text": "Mary left", "who": "Mary"}\n{"text": "Ann left"}\n')
        for name, line in (("who", 2), ("whom", 1)):
            result = run("capture", "-m", support.MODEL, "--prompts", prompts, "--positions", name,
                         "-o", self.folder / "x.h5")
            self.assert_error(result, 2, f"p.jsonl:{line}: --positions", f'"{name}"')
            self.assertFalse((self.folder / "x.h5").exists())

    def test_positions_lie_along_the_axis_of_the_site(self):
        model = support.FIXTURES / "families" / "llama"
        hooks = "q,k,v,rot_q,rot_k,z,pattern,attn_scores,resid_post,mlp.hook_post"
        with self.capture("-m", model, "--ids", "1,2,3,4,5,6", "--hooks", hooks,
                          "--positions", "1,4") as file:
            for name, dataset in cache_of(file).items():
                dims = dataset.attrs["dims"].decode().split()
                for axis in ("q", "k"):
                    kept = axis == dims[0] or axis == "q" and dims[0] == "h"
                    attribute = dataset.attrs.get(f"{axis}_positions")
                    self.assertEqual(attribute is not None, kept, f"{name} {axis}")
                    if kept:
                        self.assertEqual(attribute.tolist(), [1, 4])
                        self.assertEqual(dataset.shape[dims.index(axis)], 2)

    def test_lists_of_boundaries_have_labels_of_their_own(self):
        prompts = self.folder / "p.txt"
        prompts.write_text("Once upon a time\nThe cat\n")
        for layout, names in {"prompts": ["prompts/p000000/tokens/byte_offsets"],
                              "packed": ["offsets"]}.items():
            with self.capture("-m", support.MODEL, "--prompts", prompts, "--layout", layout,
                              "--force") as file:
                for name in names:
                    label = {"packed": "p+1", "prompts": "t+1"}[layout]
                    self.assertEqual(file[name].dims[0].label, label)

    def test_stats_only_stores_no_map(self):
        with self.capture("-m", support.MODEL, "--prompt", "Once upon", "--stats-only") as file:
            prompt = file["prompts/p000000"]
            self.assertEqual(len(prompt.get("cache", {})), 0)
            self.assertEqual(prompt["attention/self/head_stats"].shape[:2], (5, 4))

    def test_many_prompts(self):
        prompts = self.folder / "p.jsonl"
        texts = ["Once upon a time", "The cat sat", "x"]
        prompts.write_text("".join(json.dumps({"text": t, "group": f"g{i}"}) + "\n"
                                   for i, t in enumerate(texts)))
        with self.capture("-m", support.MODEL, "--prompts", prompts, "--map-dtype", "f32") as file:
            self.assertEqual(len(file["prompts"]), 3)
            for i, text in enumerate(texts):
                with h5py.File(support.captured(f"single{i}", "--prompt", text, "--map-dtype",
                                                "f32")) as alone:
                    name = "blocks.2.attn.hook_pattern"
                    numpy.testing.assert_allclose(cache_of(file, f"p00000{i}")[name][()],
                                                  cache_of(alone)[name][()], atol=1e-6)
                self.assertEqual(file[f"prompts/p00000{i}"].attrs["group"], f"g{i}".encode())


class TopKeys(CliTest):
    def test_as_many_as_asked(self):
        for count in (1, 4, 9, 1024):
            path = self.folder / f"{count}.h5"
            self.assert_ok(run("capture", "-m", support.MODEL, "--ids", ",".join(["5"] * 12),
                               "--map-dtype", "f32", "--topk", str(count), "-o", path))
            with h5py.File(path) as file:
                prompt = file["prompts/p000000"]
                kept = prompt["attention/self/topk_value"][0, 0, -1]
                row = numpy.sort(prompt["cache/blocks.0.attn.hook_pattern"][0, -1])[::-1]
                self.assertEqual(len(kept), min(count, 12))
                numpy.testing.assert_array_equal(kept, row[:len(kept)])


class Output(CliTest):
    def test_summary_names_what_is_there_and_what_to_do_next(self):
        path = self.folder / "my run.h5"
        result = self.assert_ok(run("capture", "-m", support.MODEL, "--prompt", "Once upon a time",
                                    "--hooks", "pattern,z", "-o", path))
        self.assertIn(str(path), result.out)
        self.assertIn("pattern, z", result.out)
        [command] = [line for line in result.out.splitlines() if line.startswith("Next: ")]
        self.assertIn(f"attnscope stats '{path}'", command)
        self.assertIn(f"attnscope view '{path}'\n", result.out)

    def test_json(self):
        path = self.folder / "x.h5"
        result = self.assert_ok(run("capture", "-m", support.MODEL, "--prompt", "Once", "-o", path,
                                    "--json"))
        report = json.loads(result.out)
        self.assertEqual(report["sha256"], hashlib.sha256(path.read_bytes()).hexdigest())

    def test_sidecar_holds_the_hash_and_the_command_line(self):
        path = self.folder / "x.h5"
        self.assert_ok(run("capture", "-m", support.MODEL, "--prompt", "Once", "-o", path))
        sidecar = json.loads((self.folder / "x.json").read_text())
        self.assertEqual(sidecar["file_sha256"], hashlib.sha256(path.read_bytes()).hexdigest())
        self.assertIn("capture", json.dumps(sidecar))
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["x.h5", "x.json"])

    def test_same_options_same_bytes(self):
        files = []
        for name in ("a", "b"):
            path = self.folder / f"{name}.h5"
            self.assert_ok(run("capture", "-m", support.MODEL, "--prompt", "Once upon a time",
                               "--hooks", "*", "--threads", "1", "-o", path,
                               env={"TZ": "UTC" if name == "a" else "Asia/Tokyo"}))
            files.append(path.read_bytes())
        self.assertEqual(files[0], files[1])

    def test_dry_run_writes_nothing(self):
        result = self.assert_ok(run("capture", "-m", support.MODEL, "--prompt", "Once", "-o",
                                    self.folder / "x.h5", "--dry-run"))
        self.assertEqual(list(self.folder.iterdir()), [])
        self.assertIn("hook_pattern", result.out)
        self.assertRegex(result.out, r"(?i)memory")

    def test_spec_file_is_the_same_as_options(self):
        spec = {"model": str(support.MODEL), "prompt": "Once upon a time", "hooks": "z",
                "out": str(self.folder / "from_spec.h5"), "seed": 3}
        (self.folder / "spec.json").write_text(json.dumps(spec))
        self.assert_ok(run("capture", "--spec", self.folder / "spec.json", "--hooks", "pattern"))
        self.assert_ok(run("capture", "-m", support.MODEL, "--prompt", "Once upon a time",
                           "--seed", "3", "-o", self.folder / "options.h5"))
        self.assertEqual((self.folder / "from_spec.h5").read_bytes(),
                         (self.folder / "options.h5").read_bytes())
        (self.folder / "bad.json").write_text('{"promt": "x"}')
        self.assert_error(run("capture", "--spec", self.folder / "bad.json"), 2, "promt", "prompt")


class BadInput(CliTest):
    def refused(self, code, parts, *arguments):
        out = self.folder / "out"
        out.mkdir(exist_ok=True)
        self.assert_error(run("capture", "-o", out / "x.h5", *arguments), code, *parts)
        self.assertEqual(list(out.iterdir()), [])

    def test_selectors_that_match_nothing(self):
        model = ["-m", support.MODEL, "--prompt", "Once upon a time"]
        self.refused(2, ["patern", "pattern"], *model, "--hooks", "patern")
        self.refused(2, ["--layers", "99"], *model, "--layers", "99")
        self.refused(2, ["--layers"], *model, "--layers", "3-1")
        self.refused(2, ["--layers"], *model, "--layers", "1-")
        self.refused(2, ["--heads", "5.0"], *model, "--heads", "5.0")
        self.refused(2, ["--heads"], *model, "--heads", "-1")
        self.refused(2, ["--positions"], *model, "--positions", "99")
        self.refused(2, ["--positions", "Mary"], *model, "--positions", '"Mary"')

    def test_longer_than_the_context(self):
        config = json.loads((support.MODEL / "config.json").read_text())
        limit = config.get("n_positions", config.get("n_ctx"))
        ids = ",".join(["10"] * (limit + 1))
        self.refused(2, [str(limit), str(limit + 1)], "-m", support.MODEL, "--ids", ids)
        self.refused(2, ["learned"], "-m", support.MODEL, "--ids", ids, "--beyond-context")

    def test_ids_outside_the_vocabulary(self):
        self.refused(2, ["1000"], "-m", support.MODEL, "--ids", "5,1000")

    def test_no_gpu(self):
        result = run("capture", "-m", support.MODEL, "--prompt", "Once", "--device", "cuda", "-o",
                     self.folder / "x.h5")
        if result.code == 0:
            self.skipTest("this machine has a GPU")
        self.assert_error(result, 3, "cuda")

    def test_budget(self):
        self.refused(4, ["budget"], "-m", support.MODEL, "--prompt", "Once upon", "--budget", "1K")

    def test_malformed_weights(self):
        folder = support.FIXTURES / "malformed/safetensors"
        for line in (folder / "INDEX.tsv").read_text().splitlines()[1:]:
            name = line.split("\t")[0]
            with self.subTest(name):
                model = self.folder / name
                shutil.copytree(support.MODEL, model)
                shutil.copy(folder / name, model / "model.safetensors")
                # The good files hold other tensors than the model needs.
                where = str(model) if name.startswith("ok_") else "model.safetensors"
                self.refused(2, [where], "-m", model, "--prompt", "x")
                self.assert_error(run("inspect", model), 2, where)

    def test_folders_that_are_refused_by_name(self):
        cases = {"pytorch_model.bin": b"x", "model.gguf": b"GGUF", "adapter_config.json": b"{}"}
        for name, content in cases.items():
            model = self.folder / name.replace(".", "_")
            model.mkdir()
            shutil.copy(support.MODEL / "config.json", model)
            (model / name).write_bytes(content)
            self.refused(2, [name.rsplit(".", 1)[0]], "-m", model, "--prompt", "x")


if __name__ == "__main__":
    unittest.main()
