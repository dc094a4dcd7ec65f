"""attnscope ablate: what is printed and stored, limits of a run, and every bad input."""
import array
import json
import math
import os
import pathlib
import re
import shutil
import signal
import struct
import unittest

import support
from support import CliTest, run

PAIR = {"clean": "the on and", "corrupt": "the and on", "answer": " to", "wrong": " a"}


def ablate(*arguments, **options):
    return run("ablate", "-m", support.MODEL, *arguments, **options)


def shown(*arguments):
    return json.loads(ablate("--pairs", support.pairs_file(), "--resamples", "500", *arguments,
                             "--json").out)


class Printed(CliTest):
    def test_json_of_every_head(self):
        result = shown("--method", "zero,mean")
        self.assertEqual(len(result["cells"]), 2 * 5 * 4)
        self.assertIsInstance(result["baseline"], float)
        names = {cell["unit"] for cell in result["cells"]}
        self.assertEqual(names, {f"{l}.{h}" for l in range(5) for h in range(4)})
        for cell in result["cells"]:
            low, high = cell["ci"]
            self.assertTrue(low <= cell["effect"] <= high, cell)
            self.assertTrue(0 < cell["p"] <= 1)
            self.assertEqual(cell["n"], 48)
        self.assertGreaterEqual(result["verify"]["cells"], 3)
        self.assertLess(result["verify"]["max_difference"], 1e-4)

    def test_the_fast_sweep_is_the_slow_loop(self):
        fast = shown("--dtype", "f64", "--limit", "12")
        slow = shown("--dtype", "f64", "--limit", "12", "--naive")
        for a, b in zip(fast["cells"], slow["cells"]):
            self.assertEqual(a["unit"], b["unit"])
            self.assertTrue(math.isclose(a["effect"], b["effect"], rel_tol=1e-9, abs_tol=1e-12))

    def test_direct_effects_in_every_number_type(self):
        options = ["--effect", "total,direct", "--method", "zero,resample", "--limit", "12"]
        exact = shown(*options, "--dtype", "f64")["cells"]
        self.assertEqual({c["method"] for c in exact},
                         {"zero", "resample", "zero (direct)", "resample (direct)"})
        scale = max(abs(c["effect"]) for c in exact)
        for dtype, bound in (("f32", 1e-4), ("bf16", 0.5)):
            for a, b in zip(exact, shown(*options, "--dtype", dtype)["cells"]):
                self.assertLess(abs(a["effect"] - b["effect"]), bound * scale, (dtype, a, b))

    def test_the_noise_floor_is_at_least_the_rounding_of_the_metric(self):
        for dtype, bits in (("f32", 24), ("f64", 53), ("bf16", 8), ("f16", 11)):
            result = shown("--limit", "1", "--layers", "0", "--dtype", dtype)
            exponent = math.frexp(abs(result["baseline"]))[1] - 1
            self.assertEqual(result["attributes"]["rounding"], 2.0 ** (exponent - bits), dtype)
            self.assertGreaterEqual(result["noise_floor"], result["attributes"]["rounding"], dtype)

    def test_too_few_prompts_have_no_interval_and_no_p(self):
        result = shown("--limit", "3", "--layers", "0")
        for cell in result["cells"]:
            self.assertIsNone(cell["ci"])
            self.assertIsNone(cell["p"])
            self.assertEqual((cell["interval_kind"], cell["groups"]), ("too few groups", 2))
            self.assertIsInstance(cell["effect"], float)
        text = self.assert_ok(ablate("--pairs", support.pairs_file(), "--limit", "3"))
        self.assertIn("No interval and no p for 20 of 20 effects: 2 groups of prompts, at least 10",
                      text.out)

    def test_one_pair_on_the_command_line(self):
        result = self.assert_ok(ablate("--prompt", "the on and", "--answer", " to", "--wrong", " a",
                                       "--json"))
        by_text = json.loads(result.out)["cells"]
        tokens = json.loads(run("tokenize", "-m", support.MODEL, "--prompt", "the on and to a",
                                "--json").out)
        ids = [str(t) for t in tokens["ids"]]
        again = self.assert_ok(ablate("--ids", ",".join(ids[:-2]), "--answer-id", ids[-2],
                                      "--wrong-id", ids[-1], "--json"))
        self.assertEqual([c["effect"] for c in by_text],
                         [c["effect"] for c in json.loads(again.out)["cells"]])

    def test_sets_and_other_units(self):
        names = [c["unit"] for c in shown("--heads", "0.1+1.*,mlp:0,2.3", "--limit", "2")["cells"]]
        self.assertEqual(names, ["0.1+1.0+1.1+1.2+1.3", "mlp:0", "2.3"])
        for unit, name in (("mlp", "mlp:4"), ("attention", "attn:4"), ("kv-group", "kv:4.3")):
            cells = shown("--unit", unit, "--limit", "2")["cells"]
            self.assertEqual(cells[-1]["unit"], name)
        cells = shown("--unit", "neuron", "--neurons", "1.0-2", "--limit", "2")["cells"]
        self.assertEqual([c["unit"] for c in cells], [f"neuron:1.{n}" for n in range(3)])
        cells = shown("--unit", "head-pos", "--heads", "1.1", "--limit", "2")["cells"]
        tokens = json.loads(run("tokenize", "-m", support.MODEL, "--prompt", "the on and to on",
                                "--json").out)["ids"]  # as many as each of the pairs has
        self.assertEqual([c["unit"] for c in cells], [f"1.1@{p}" for p in range(len(tokens))])

    def test_the_effect_on_each_prompt_where_there_is_no_file(self):
        result = shown("--per-prompt", "--limit", "4", "--layers", "0")
        for cell in result["cells"]:
            self.assertEqual(len(cell["per_prompt"]), 4)
            self.assertAlmostEqual(sum(cell["per_prompt"]) / 4, cell["effect"], places=9)
        self.assertNotIn("per_prompt", shown("--limit", "4", "--layers", "0")["cells"][0])

    def test_pairs_of_more_units_than_there_are(self):
        few = ["--pairs", support.pairs_file(), "--limit", "4", "--heads", "0.0-2"]
        result = self.assert_ok(ablate(*few, "--interactions", "99"))
        self.assertIn("--interactions 99: there are only 3 units", result.err)
        self.assertRegex(result.out, r"joint: 3 effects\nunit +joint effect ")
        self.assertRegex(result.out, r"synergy: 3 effects\nunit +synergy ")
        result = self.assert_ok(ablate(*few, "--interactions", "3"))
        self.assertNotIn("there are only", result.err)

    def test_a_dry_run_says_where_it_would_run(self):
        plans = {verb: json.loads(self.assert_ok(
            run(verb, "-m", support.MODEL, "--pairs", support.pairs_file(), "--dry-run", "--json",
                "--dtype", "f64", "--threads", "1")).out) for verb in ("ablate", "patch", "lens")}
        for verb, plan in plans.items():
            with self.subTest(verb=verb):
                self.assertEqual((plan["model"], plan["device"], plan["dtype"], plan["threads"]),
                                 ("tiny-random-gpt2", "cpu", "f64", 1))
                self.assertTrue(plan["engine"])
                self.assertEqual(plan["prompts"], 48)

    def test_a_spec_file_repeats_a_run(self):
        spec = {"model": str(support.MODEL), "pairs": str(support.pairs_file()), "method": "mean",
                "limit": 5, "layers": "1", "resamples": 500}
        (self.folder / "spec.json").write_text(json.dumps(spec))
        by_spec = json.loads(self.assert_ok(
            run("ablate", "--spec", self.folder / "spec.json", "--json")).out)
        self.assertEqual(by_spec["cells"],
                         shown("--method", "mean", "--limit", "5", "--layers", "1")["cells"])


    def test_positions_reach_to_the_end_of_the_longest_prompt(self):
        longer = {**PAIR, "clean": "the on and the on", "corrupt": "the and on the on"}
        path = self.folder / "lengths.jsonl"
        path.write_text("\n".join(map(json.dumps, [PAIR, longer])))
        cells = json.loads(ablate("--pairs", path, "--unit", "head-pos", "--heads", "0.0",
                                  "--json").out)["cells"]
        by_position = {int(c["unit"].split("@")[1]): c["n"] for c in cells}
        longest = max(by_position)
        self.assertEqual(by_position[0], 2)
        self.assertEqual(by_position[longest], 1)


class Files(CliTest):
    def test_a_sweep_of_seconds_already_has_several_shards(self):
        demo = support.SOURCE / "probes" / "demo"
        done = self.assert_ok(run("ablate", "-m", demo / "tiny-english", "--pairs",
                                  demo / "pairs" / "induction.jsonl", "--unit", "head-pos",
                                  "--positions", "0-12", "--dry-run"))
        shards = re.search(r"([0-9]+) shards", done.out)
        self.assertTrue(shards and int(shards[1]) > 2, done.out)

    def test_results_of_experiments_are_not_compared_as_captures(self):
        first, second = self.folder / "first.h5", self.folder / "second.h5"
        for out, heads in ((first, "0.0"), (second, "0.1")):
            self.assert_ok(ablate("--pairs", support.pairs_file(), "--limit", "2", "--heads",
                                  heads, "-o", out))
        self.assert_error(run("diff", first, second), 2, "results of ablate cannot be compared")


    def test_without_o_nothing_is_written(self):
        self.assert_ok(ablate("--pairs", support.pairs_file(), "--limit", "2", cwd=self.folder))
        result = self.assert_ok(ablate("--pairs", support.pairs_file(), "--dry-run", "-o", "x.h5",
                                       cwd=self.folder))
        self.assertEqual(list(self.folder.iterdir()), [])
        self.assertIn("20 cells × 48 prompts", result.out)
        self.assertIn("--dry-run", result.out)

    def test_a_file_that_exists_is_kept(self):
        path = self.folder / "x.h5"
        path.write_bytes(b"precious")
        arguments = ["--pairs", support.pairs_file(), "--limit", "2", "-o", path]
        self.assert_error(ablate(*arguments), 3, "x.h5", "--force")
        self.assertEqual(path.read_bytes(), b"precious")
        self.assert_ok(ablate(*arguments, "--force"))
        self.assert_ok(run("verify", path))

    def test_places_that_cannot_be_written(self):
        arguments = ["--pairs", support.pairs_file(), "--limit", "2", "-o"]
        self.assert_error(ablate(*arguments, self.folder / "absent" / "x.h5"), 3, "absent")
        (self.folder / "file").write_text("")
        self.assert_error(ablate(*arguments, self.folder / "file" / "x.h5"), 3, "file")
        self.assert_error(ablate(*arguments, self.folder / ("n" * 300 + ".h5")), 3)

    def test_the_pairs_are_never_overwritten(self):
        pairs = self.folder / "p.jsonl"
        pairs.write_text(support.pairs_text())
        os.symlink(pairs, self.folder / "p.h5")
        self.assert_error(ablate("--pairs", pairs, "-o", self.folder / "p.h5", "--force"), 2)
        self.assertEqual(pairs.read_text(), support.pairs_text())

    def test_same_options_same_bytes_and_resume_keeps_them(self):
        paths = [self.folder / "a.h5", self.folder / "b.h5"]
        for path in paths:
            self.assert_ok(ablate("--pairs", support.pairs_file(), "--limit", "4", "--resamples",
                                  "500", "--per-prompt", "-o", path, "--quiet"))
        self.assertEqual(paths[0].read_bytes(), paths[1].read_bytes())
        self.assert_ok(ablate("--pairs", support.pairs_file(), "--limit", "4", "--resamples",
                              "500", "--per-prompt", "-o", paths[0], "--resume", "--quiet"))
        self.assertEqual(paths[0].read_bytes(), paths[1].read_bytes())

    def test_resume_with_other_options_is_refused(self):
        path = self.folder / "a.h5"
        self.assert_ok(ablate("--pairs", support.pairs_file(), "--limit", "4", "-o", path))
        self.assert_error(ablate("--pairs", support.pairs_file(), "--limit", "4", "--method", "mean",
                                 "-o", path, "--resume"), 2, "method")

    def test_a_signal_stops_it_and_resume_gives_the_same_bytes(self):
        arguments = ["--pairs", support.pairs_file(), "--unit", "neuron", "--neurons", "*.*",
                     "--naive", "--verify", "0", "--resamples", "500", "--threads", "1", "--quiet"]
        path = self.folder / "x.h5"
        status, _ = support.stop_once_it_keeps_shards(["ablate", "-m", support.MODEL, *arguments],
                                                      path, signal.SIGTERM)
        if status == 0:
            self.skipTest("the sweep was done before the signal came")
        self.assertEqual(status, 143)
        self.assertFalse(path.exists())
        self.assert_ok(ablate(*arguments, "-o", path, "--resume"))
        self.assert_ok(ablate(*arguments, "-o", self.folder / "y.h5"))
        self.assertEqual(path.read_bytes(), (self.folder / "y.h5").read_bytes())


class BadPairs(CliTest):
    def refused(self, name, text, *parts, options=(), code=2):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        out = self.folder / "x.h5"
        self.assert_error(ablate("--pairs", path, *options, "-o", out), code, *parts)
        self.assertFalse(out.exists())
        self.assertFalse(pathlib.Path(f"{out}.parts").exists())

    def changed(self, **values):
        return json.dumps(PAIR | values) + "\n"

    def test_files_that_hold_nothing(self):
        self.refused("e.jsonl", "", "no pairs")
        self.refused("e.csv", "", "empty")
        self.refused("e.csv", "clean,corrupt,answer,wrong\n", "no pairs")
        self.refused("e.json", "[]", "no pairs")
        self.refused("e.json", "{", "JSON")
        self.refused("e.txt", "the on", ".jsonl, .csv, .tsv or .json")
        self.assert_error(ablate("--pairs", self.folder / "absent.jsonl"), 2, "absent.jsonl")
        self.assert_error(ablate("--pairs", self.folder), 2)

    def test_answers(self):
        self.refused("a.jsonl", self.changed(wrong=" to"), "a.jsonl:1", "the same")
        self.refused("a.jsonl", self.changed(answer=None), "a.jsonl:1", "no answer")
        self.refused("a.jsonl", self.changed(answer=5), "answer", "a text")
        self.refused("a.jsonl", self.changed(answer=""), "no answer")
        self.refused("a.jsonl", json.dumps({"clean_ids": [5, 6], "answer_id": 1000, "wrong_id": 3}),
                     "0 to 999", "1000")
        self.refused("a.csv", ",clean,corrupted,correct_idx,incorrect_idx\n"
                              "1,the on,the and,30,31\n", "correct_idx", "--answer-ids")
        self.refused("a.csv", "clean,corrupted,label\nthe on,the and,52\n", "no answer",
                     '"label"')

    def test_misaligned(self):
        text = self.changed() + self.changed(corrupt="the and")
        path = self.folder / "m.jsonl"
        path.write_text(text)
        result = self.assert_error(ablate("--pairs", path), 2, "m.jsonl:2", "do not align", "clean ",
                                   " and corrupt ", "--skip-misaligned")
        self.assertIn(" and", result.err)
        kept = json.loads(self.assert_ok(ablate("--pairs", path, "--skip-misaligned", "--json")).out)
        self.assertEqual((kept["prompts"], kept["misaligned"]), (1, 1))

    def test_bad_lines(self):
        text = self.changed() + "not json\n"
        self.refused("b.jsonl", text, "b.jsonl:2", "JSON")
        self.refused("b.jsonl", self.changed().replace("}", ', "clean": "x"}'), "clean")
        self.refused("b.jsonl", b'{"clean": "\xff"}\n', "UTF-8")
        (self.folder / "b.jsonl").write_text(text)
        result = self.assert_ok(ablate("--pairs", self.folder / "b.jsonl", "--skip-bad"))
        self.assertIn("1 bad line", result.err)

    def test_copies_in_several_groups_are_named(self):
        path = self.folder / "copies.jsonl"
        path.write_text((json.dumps(PAIR) + "\n") * 12)
        done = self.assert_ok(ablate("--pairs", path, "--layers", "0"))
        self.assertIn("12 pairs count as 1 draw", done.err)
        self.assertNotIn("repeat the clean prompt", done.err)
        # The same prompt with another answer is no copy, and no draw of its own either.
        path.write_text((json.dumps(PAIR) + "\n") * 12 + json.dumps(PAIR | {"wrong": " on"}) + "\n")
        done = self.assert_ok(ablate("--pairs", path, "--layers", "0"))
        self.assertIn("1 pair repeat", done.err)
        path.write_text((json.dumps({**PAIR, "group": "a"}) + "\n") * 12)
        done = self.assert_ok(ablate("--pairs", path, "--layers", "0"))
        self.assertNotIn("repeat the clean prompt", done.err)

    def stored_warnings(self, *arguments, model=support.MODEL):
        out = self.folder / "warned.h5"
        done = self.assert_ok(run("ablate", "-m", model, "-o", out, "--force", *arguments))
        warnings = json.loads(out.with_suffix(".json").read_text())["warnings"]
        for line in warnings:
            self.assertIn(line, done.err)
        return warnings

    def own_value_warnings(self, *arguments):
        return [line for line in self.stored_warnings(*arguments) if "puts in" in line]

    def test_units_that_keep_their_own_value_are_named(self):
        one = ["--prompt", "the on and", "--answer", " to", "--metric", "log-prob", "--layers", "0"]
        [line] = self.own_value_warnings(*one, "--method", "mean-pos,mean")
        self.assertIn("--method mean-pos puts in what is there already on 1 of 1 prompt, since "
                      "the mean is over this prompt alone", line)
        for effect in json.loads(ablate(*one, "--method", "mean-pos", "--json").out)["cells"]:
            self.assertLess(abs(effect["effect"]), 1e-5)
        token = ["--ids", "7", "--answer-id", "9", *one[4:]]
        [line] = self.own_value_warnings(*token, "--method", "mean")
        self.assertIn("--method mean puts in", line)
        path = self.folder / "copies.jsonl"
        same = {**PAIR, "corrupt": PAIR["clean"]}
        path.write_text("".join(json.dumps(pair) + "\n" for pair in (same, PAIR)))
        [line] = self.own_value_warnings("--pairs", path, "--method", "resample,zero")
        self.assertIn("--method resample puts in what is there already on 1 of 2 prompts, since "
                      "the prompt that values come from is the prompt itself", line)
        path.write_text("".join(json.dumps(pair) + "\n" for pair in (PAIR, PAIR)))
        self.assertEqual(self.own_value_warnings("--pairs", path, "--method", "resample,mean-pos"),
                         [])

    def test_a_model_whose_activations_overflow(self):
        # Squares of the residual stream are infinite in float32, and the norm then gives zeros.
        model = self.folder / "large"
        shutil.copytree(support.SOURCE / "probes" / "demo" / "tiny-english", model)
        weights = model / "model.safetensors"
        data = bytearray(weights.read_bytes())
        size = struct.unpack("<Q", data[:8])[0]
        for name, tensor in json.loads(data[8:8 + size]).items():
            if not any(part in name for part in ("embed_tokens", "o_proj", "down_proj")):
                continue
            place = slice(*(8 + size + offset for offset in tensor["data_offsets"]))
            values = array.array("f", bytes(data[place]))
            data[place] = array.array("f", [value * 1e25 for value in values]).tobytes()
        weights.write_bytes(data)
        prompt = ["--prompt", "Words: river Tom", "--answer", " lamp", "--metric", "log-prob",
                  "--layers", "0"]
        [line] = self.stored_warnings(*prompt, "--method", "zero", model=model)
        self.assertIn("all effects of zero are exactly 0 on every prompt", line)
        self.assertIn("attnscope doctor", line)
        self.assertEqual(self.stored_warnings(*prompt, "--dtype", "f64", model=model), [])

    def test_one_group_gives_no_interval(self):
        path = self.folder / "g.jsonl"
        path.write_text("".join(self.changed(clean=f"the {w} and", corrupt=f"the {w} to", group="g")
                                for w in ("on", "to", "a")))
        result = self.assert_ok(ablate("--pairs", path, "--json", "--layers", "0"))
        self.assertIn("one group", result.err)
        self.assertTrue(all(c["ci"] is None for c in json.loads(result.out)["cells"]))

    def test_a_prompt_beyond_the_context(self):
        self.refused("l.jsonl", self.changed(clean="the" + " on" * 2000, corrupt="the" + " to" * 2000))

    def test_methods_that_the_pairs_do_not_allow(self):
        unequal = self.changed() + self.changed(clean="the on and a", corrupt="the and on a")
        self.refused("u.jsonl", unequal, "length", options=["--method", "mean-pos"])
        alone = json.dumps({k: v for k, v in PAIR.items() if k != "corrupt"}) + "\n"
        self.refused("r.jsonl", alone, "resample", options=["--method", "resample"])


class BadArguments(CliTest):
    def refused(self, *arguments, code=2):
        parts = arguments[-1]
        out = self.folder / "x.h5"
        self.assert_error(ablate("--pairs", support.pairs_file(), "-o", out, *arguments[:-1]), code,
                          *parts)
        self.assertFalse(out.exists())

    def test_units(self):
        self.refused("--unit", "heads", ("--unit", '"heads"', "head"))
        self.refused("--heads", "9.0", ("--heads", "layer 0 to 4"))
        self.refused("--heads", "0.9", ("--heads", "head 0 to 3"))
        self.refused("--heads", "3-1.0", ("backwards",))
        self.refused("--heads", "nueron:1.2", ("neuron",))
        self.refused("--heads", "0.1,,0.2", ("--heads", "empty"))
        self.refused("--heads", "3.1,3.1", ("--heads", '"3.1" twice', "each name once"))
        self.refused("--heads", "3.1+3.1", ("--heads", "each name once"))
        self.refused("--heads", "3.1+4.1,0.1,4.1+3.1", ("--heads", '"4.1+3.1" twice'))
        self.refused("--unit", "neuron", "--neurons", "0.1,0.1", ("--neurons", "each name once"))
        self.refused("--layers", "99", ("--layers", "0 to 4"))
        self.refused("--layers", "1-", ("--layers",))
        self.refused("--layers", "-1", ("--layers",))
        self.refused("--unit", "neuron", ("--neurons",))
        self.refused("--unit", "neuron", "--neurons", "0.9999", ("--neurons", "neuron 0 to"))
        self.refused("--unit", "head-pos", "--positions", "77", ("--positions",))
        self.refused("--positions", "1", ("--positions", "--unit"))

    def test_methods_and_metrics(self):
        self.refused("--method", "median", ("--method", "mean"))
        self.refused("--method", "zero,zero", ("--method", "once"))
        self.refused("--method", "vector", ("--vector",))
        self.refused("--method", "vector", "--vector", self.folder / "absent.npy", ("absent.npy",))
        self.refused("--metric", "logits", ("--metric", "logit-diff"))
        self.refused("--metric", "label-logit", ("label",))
        self.refused("--at", "99", ("--at", "pairs.jsonl:1", "position 0 to 5"))
        self.refused("--effect", "both", ("--effect", "total, direct"))
        self.refused("--interactions", "1", ("--interactions",))
        self.refused("--interactions", "3", "--heads", "1.1", ("--interactions", "1.1"))
        self.refused("--leave-one-in", "--heads", "1.1", ("--leave-one-in", "1.1"))
        self.refused("--rerun-f32", "3", ("--rerun-f32", "float32"))
        self.refused("--naive", "--verify", "3", ("--verify", "--naive"))
        self.refused("--reference", "r.txt", ("--reference", "mean"))

    def test_numbers(self):
        for option, values in (("--threads", ("0", "10000", "1.5", "0x2", "1e3", "nan", "")),
                               ("--verify", ("-1", "1,5", "99999999999999999999")),
                               ("--resamples", ("0", "1e999")), ("--limit", ("0", "-3")),
                               ("--seed", ("-1", "18446744073709551616"))):
            for value in values:
                self.refused(option, value, (option,))
        self.refused("--budget", "1,5G", ("--budget",))
        self.refused("--budget", "1", ("budget",), code=4)
        self.refused("--budget", "1", "--dry-run", ("budget",), code=4)

    def test_contradictions(self):
        self.refused("--exact", "--naive", ("--naive", "--exact"))
        self.refused("--force", "--resume", ("--force", "--resume"))
        self.refused("--prompt", "the", ("--pairs", "--prompt"))
        self.refused("--answer", " a", ("--answer", "--pairs"))
        self.refused("--method", "zero", "--method", "mean", ("--method", "once"))
        self.refused("--shard", "3/2", ("--shard",))
        self.assert_error(ablate("--pairs", support.pairs_file(), "--per-prompt"), 2,
                          "--per-prompt", "--json")

    def test_options_are_named_as_they_must_be_given(self):
        for given, missing in ((["--ids", "5,6"], "--answer-id"),
                               (["--ids", "5,6", "--answer-id", "7"], "--wrong-id"),
                               (["--prompt", "the"], "--answer"),
                               (["--prompt", "the", "--answer", " on"], "--wrong")):
            result = self.assert_error(ablate(*given), 2, f"{missing}: is missing")
            self.assertIn(missing, result.err.split("e.g.")[1])
        self.assert_error(ablate("--ids", "5", "--answer-id", "7", "--wrong-id", "8", "--bos", "on"),
                          2, "--bos", "--ids")

    def test_a_model_without_a_head_is_pointed_to_its_metric(self):
        model = support.headless_model(self.folder)
        pair = ["--ids", "5,6", "--answer-id", "7", "--wrong-id", "8"]
        for verb, more in (("ablate", pair), ("patch", [*pair, "--corrupt-ids", "6,5"])):
            self.assert_error(run(verb, "-m", model, *more), 2, "has no head",
                              "use --metric embedding-shift")
        self.assert_error(run("verdict", "-m", model, "--pairs", support.pairs_file()), 2,
                          "has no head", "attnscope ablate --metric embedding-shift")
        done = self.assert_ok(run("ablate", "-m", model, "--ids", "5,6", "--metric",
                                  "embedding-shift", "--json"))
        self.assertGreater(max(c["effect"] for c in json.loads(done.out)["cells"]), 0)

    def test_models(self):
        self.assert_error(run("ablate", "--pairs", support.pairs_file()), 2, "--model")
        self.assert_error(run("ablate", "-m", self.folder / "absent", "--pairs",
                              support.pairs_file()), 2, "absent")


if __name__ == "__main__":
    unittest.main()
