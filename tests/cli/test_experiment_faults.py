"""Faults that ablate, patch, verdict and lens must meet alike: bad pairs, NaN, disks, rivals."""
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import struct
import subprocess
import time
import unittest

import support
from support import CliTest, run

try:
    import h5py
except ImportError:
    h5py = None

# As short as each can be.
OPTIONS = {"ablate": ["--layers", "0", "--resamples", "500"],
           "patch": ["--layers", "0", "--resamples", "500"],
           "verdict": ["--layers", "0", "--resamples", "500"],
           "lens": []}
PAIR = {"clean": "the on and", "corrupt": "the and on", "answer": " to", "wrong": " a"}


def command(verb, pairs, *arguments, model=support.MODEL):
    return [verb, "-m", model, "--pairs", pairs, *OPTIONS[verb], *arguments]


class Pairs(CliTest):
    def refused(self, name, text, *parts, verbs=tuple(OPTIONS)):
        path = self.folder / name
        path.write_text(text)
        for verb in verbs:
            with self.subTest(verb=verb, file=name):
                self.assert_error(run(*command(verb, path, "-o", self.folder / "x.h5")), 2, name,
                                  *parts)
                self.assertEqual([p.name for p in self.folder.iterdir()], [name])
        path.unlink()

    def test_files_that_hold_nothing(self):
        self.refused("e.jsonl", "", "no pairs")
        self.refused("e.csv", "", "empty")
        self.refused("e.json", "[]", "no pairs")
        self.refused("e.txt", "the on", ".jsonl, .csv, .tsv or .json")

    def test_lines(self):
        self.refused("a.jsonl", json.dumps(PAIR | {"wrong": " to"}), "a.jsonl:1", "the same")
        self.refused("a.jsonl", json.dumps(PAIR) + "\nno json\n", "a.jsonl:2", "JSON")
        self.refused("a.jsonl", json.dumps(PAIR | {"corrupt": "the and"}), "a.jsonl:1", "align",
                     verbs=("ablate", "patch", "verdict"))  # a lens reads no corrupt prompt
        self.refused("a.jsonl", json.dumps({"clean_ids": [5, 6], "corrupt_ids": [5, 7],
                                            "answer_id": 5000, "wrong_id": 1}), "0 to 999", "5000")

    def test_unequal_lengths_have_no_means_by_position(self):
        path = self.folder / "u.jsonl"
        path.write_text("".join(json.dumps(PAIR | {
            "clean": "the on and" + " a" * (n % 2), "corrupt": "the and on" + " a" * (n % 2),
            "group": f"g{n}"}) + "\n" for n in range(8)))
        for verb in ("ablate", "verdict"):
            self.assert_error(run(*command(verb, path, "--method", "mean-pos,zero")), 2, "length")


class Copies(CliTest):
    def test_sixty_groups_of_one_pair_are_one_draw(self):
        path = self.folder / "copies.jsonl"
        copies = [PAIR | {"group": f"g{n}"} for n in range(60)]
        said = "60 groups count as 1 draw, so no interval"
        path.write_text("".join(json.dumps(pair) + "\n" for pair in copies))
        for verb in ("ablate", "patch"):
            with self.subTest(verb=verb):
                result = self.assert_ok(run(*command(verb, path, "--json")))
                self.assertEqual(result.err.count("no further draws"), 1, result.err)
                self.assertIn(said, result.err)
                printed = json.loads(result.out)
                self.assertEqual((printed["prompts"], printed["clusters"]), (60, 1))
                for cell in printed["cells"]:
                    self.assertEqual((cell["ci"], cell["p"], cell["groups"]), (None, None, 1))
        self.assert_error(run(*command("verdict", path, "--json")), 2, "copies.jsonl",
                          "exactly the same pairs", "60 groups")
        # Beside three others they are the fourth draw of four.
        others = [PAIR | {"clean": f"the {word} and", "group": word} for word in ("and", "to", "a")]
        path.write_text("".join(json.dumps(pair) + "\n" for pair in copies + others))
        result = self.assert_ok(run(*command("verdict", path, "--json")))
        self.assertIn("63 groups count as 4 draws", result.err)
        printed = json.loads(result.out)
        self.assertEqual(printed["clusters"], 4)
        self.assertIn("needs 20 groups of prompts and there are 4", printed["withheld"])
        for cell in printed["cells"]:
            self.assertIsNone(cell["ci"])
            self.assertNotIn("verdict", cell)


def model_with_nan(folder, token):
    """The small model with a NaN in the embedding of one token, which is also its unembedding."""
    model = folder / "nan-model"
    shutil.copytree(support.MODEL, model)
    path = model / "model.safetensors"
    data = bytearray(path.read_bytes())
    [header_bytes] = struct.unpack("<Q", data[:8])
    entry = json.loads(data[8:8 + header_bytes])["transformer.wte.weight"]
    at = 8 + header_bytes + entry["data_offsets"][0] + token * entry["shape"][1] * 4
    data[at:at + 4] = struct.pack("<f", float("nan"))
    path.write_bytes(data)
    return model


def flat(values):
    return [v for row in values for v in flat(row)] if isinstance(values, list) else [values]


class NotANumber(CliTest):
    def test_it_is_stored_and_counted_or_refused(self):
        tokens = json.loads(run("tokenize", "-m", support.MODEL, "--prompt", "the on and to a",
                                "--json").out)["ids"]
        model = model_with_nan(self.folder, tokens[-1])
        pairs = self.folder / "n.jsonl"
        # The first pair's metric is NaN, that of the others is a number.
        words = [" a", " on", " and", " on", " and", " on", " and", " on"]
        pairs.write_text("".join(json.dumps(PAIR | {"wrong": word, "group": f"g{n}"}) + "\n"
                                 for n, word in enumerate(words)))
        for verb, options in (*OPTIONS.items(),
                              ("patch", ["--senders", "0.1", "--receivers", "logits"])):
            with self.subTest(verb=verb, options=options):
                arguments = [verb, "-m", model, "--pairs", pairs, *options]
                if verb == "verdict":
                    # The default delta is a mean over prompts, which a NaN makes none.
                    self.assert_error(run(*arguments), 2, "logit-diff", "NaN or infinite on 1 of 8",
                                      "n.jsonl:1", "--strict")
                    arguments += ["--delta", "0.1"]
                result = self.assert_ok(run(*arguments, "--json"))
                self.assertIn("NaN", result.err.split("weight")[-1])
                printed = json.loads(result.out)
                for prompt in printed.get("by_prompt", [])[:1]:  # of a lens
                    for name in ("kl", "target_rank", "top_prob", "top_id"):
                        self.assertEqual({json.dumps(v) for v in flat(prompt[name]["values"])},
                                         {"null"}, name)
                    text = self.assert_ok(run(*arguments)).out
                    self.assertIn(" nan ", text)
                    self.assertNotRegex(text, r"(?i)\bnan 0\b")
                for cell in printed.get("cells", []):
                    self.assertIsInstance(cell["effect"], float)
                    self.assertLess(cell["n"], len(words))
                out = self.folder / f"{verb}{options[:1]}.h5"
                self.assert_error(run(*arguments, "--fail-on-nan", "-o", out), 2, "--fail-on-nan",
                                  "--strict")
                self.assertFalse(out.exists())
                self.assert_error(run(*arguments, "--strict"), 2, "transformer.wte.weight")


    def test_a_model_that_gives_nothing_else(self):
        model = model_with_nan(self.folder, 5)
        pairs = self.folder / "n.jsonl"
        # Token 5 is in every prompt.
        pairs.write_text("".join(json.dumps({"clean_ids": [5, 6 + n], "corrupt_ids": [5, 7 + n],
                                             "answer_id": 30, "wrong_id": 31}) + "\n"
                                 for n in range(24)))
        arguments = ["verdict", "-m", model, "--pairs", pairs, *OPTIONS["verdict"]]
        self.assert_error(run(*arguments), 2, "logit-diff", "NaN or infinite on 24 of 24 prompts")
        printed = self.assert_ok(run(*arguments, "--delta", "0.1"))
        in_words = re.sub("NaN or infinite|it is NaN, or|nan-model", "", printed.out)
        self.assertNotRegex(in_words, r"(?i)\b(nan|inf)\b")
        self.assertIn("NaN or infinite", printed.out)
        self.assertIn("The verdict is withheld: ", printed.out)
        control = next(line for line in printed.out.splitlines() if line.startswith("answers swap"))
        self.assertIn("reported", control)  # nothing that was not computed has passed


class Places(CliTest):
    def test_what_exists_is_kept_and_said(self):
        for verb in OPTIONS:
            with self.subTest(verb=verb):
                path = self.folder / f"{verb}.h5"
                path.write_bytes(b"precious")
                self.assert_error(run(*command(verb, support.pairs_file(), "-o", path)), 3,
                                  f"{verb}.h5", "--force")
                self.assertEqual(path.read_bytes(), b"precious")

    def test_folders(self):
        (self.folder / "file").write_text("")
        for verb in OPTIONS:
            for name in ("absent/x.h5", "file/x.h5", "n" * 300 + ".h5"):
                with self.subTest(verb=verb, name=name[:12]):
                    self.assert_error(run(*command(verb, support.pairs_file(), "-o",
                                                   self.folder / name)), 3, name[:4])
        if os.geteuid() == 0:
            return  # root may write everywhere
        self.folder.chmod(0o500)
        for verb in OPTIONS:
            self.assert_error(run(*command(verb, support.pairs_file(), "-o",
                                           self.folder / "x.h5")), 3, "x.h5")
        self.folder.chmod(0o700)

    def test_a_full_disk(self):
        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        for verb in OPTIONS:
            with self.subTest(verb=verb):
                path = self.folder / f"{verb}.h5"
                arguments = command(verb, support.pairs_file(), "-o", path)
                process = subprocess.run([support.ATTNSCOPE, *arguments], capture_output=True,
                                         check=False, timeout=120, preexec_fn=small_files)
                self.assert_error(support.Result(process), 3, path.name)
                self.assertFalse(path.exists())
                self.assertEqual([p.name for p in self.folder.iterdir() if ".tmp" in p.name], [])
                self.assert_ok(run(*arguments, "--force"))  # with room it goes on


def slow(verb, path, *arguments):
    """A run long enough to be caught in the act, started."""
    options = {"ablate": ["--unit", "neuron", "--neurons", "*.*"],
               "patch": ["--site", "q,k,v,z,pattern", "--by", "layer,head,pos"],
               "verdict": ["--controls", "200"]}[verb]
    return [support.ATTNSCOPE, verb, "-m", support.MODEL, "--pairs", support.pairs_file(),
            "--naive", "--verify", "0", "--resamples", "500", "--threads", "1", "--quiet", *options,
            "-o", path, *arguments]


def started(arguments, until):
    process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while not until.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    return process


class Stopped(CliTest):
    """What a stopped run says is what lies there, and its advice is taken."""

    def stopped(self, arguments, path, number, shards):
        status, err = support.stop_once_it_keeps_shards(arguments[1:-2], path, number, shards)
        if status == 0:
            self.skipTest("the run was done before the signal came")
        self.assertEqual(status, 128 + number)
        kept = support.kept_shards(path)
        err = err.decode()
        self.assertRegex(err, r"stopped by a signal after \d+ of \d+ runs; ")
        if kept == 0:
            self.assertIn("; nothing was committed yet; run it again", err)
        else:
            noun = "shard" if kept == 1 else "shards"
            self.assertIn(f"; finished so far and kept: {kept} {noun}; go on with --resume", err)
        return kept, err

    def test_in_the_second_grid_the_shards_of_the_first_count(self):
        path = self.folder / "x.h5"
        arguments = [support.ATTNSCOPE, "patch", "-m", support.MODEL, "--pairs",
                     support.pairs_file(), "--site", "resid_pre,q,z,pattern", "--naive",
                     "--verify", "0", "--resamples", "500", "--threads", "1", "--quiet", "-o", path]
        plan = self.assert_ok(run(*arguments[1:], "--dry-run")).out
        first = int(re.findall(r", (\d+) shards?\n", plan)[0])
        kept, err = self.stopped(arguments, path, signal.SIGINT, first)
        self.assertGreaterEqual(kept, first)
        self.assertIn("stage 2 of 2: patch_layer_head: ", err)
        self.assert_error(run(*arguments[1:]), 3, "--resume")
        self.assert_ok(run(*arguments[1:], "--resume"))

    def test_one_sweep_and_the_stages_of_a_verdict(self):
        for verb, shards in (("ablate", 1), ("verdict", 1), ("ablate", 0), ("verdict", 0)):
            with self.subTest(verb=verb, shards=shards):
                path = self.folder / f"{verb}{shards}.h5"
                arguments = slow(verb, path)
                kept, err = self.stopped(arguments, path, signal.SIGTERM, shards)
                self.assertGreaterEqual(kept, shards)
                if verb == "verdict" and kept:
                    self.assertRegex(err, r"stage \d of 4: ")
                # What is advised is not refused.
                advised = ["--resume"] if kept else []
                self.assert_ok(run(*arguments[1:], *advised, "--dry-run"))

    def test_without_a_file_nothing_is_kept(self):
        for verb in ("ablate", "patch", "verdict"):
            with self.subTest(verb=verb):
                status, err = support.stop_at_once(slow(verb, "")[1:-2], signal.SIGINT)
                self.assertEqual(status, 130, err)
                self.assertRegex(err, r"stopped by a signal after \d+ of \d+ runs?; "
                                      r"run it again with -o FILE, so that --resume ")
        for arguments in (["lens"], ["patch", "--senders", "0.0", "--receivers", "logits"]):
            status, err = support.stop_at_once([*arguments, "-m", support.MODEL, "--pairs",
                                                support.pairs_file()], signal.SIGINT)
            if status:  # not done before the signal came
                self.assertEqual(status, 130, err)
                self.assertIn("stopped by a signal; run it again\n", err)

    def test_a_disk_that_is_full_later(self):
        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        path = self.folder / "x.h5"
        arguments = slow("ablate", path)
        self.stopped(arguments, path, signal.SIGINT, 1)
        process = subprocess.run([*arguments, "--resume"], capture_output=True, check=False,
                                 timeout=120, preexec_fn=small_files)
        self.assert_error(support.Result(process), 3, "free space", ", then go on with --resume")
        self.assert_ok(run(*arguments[1:], "--resume", "--dry-run"))


class Rivals(CliTest):
    def test_the_second_process_names_the_first(self):
        for verb in ("ablate", "patch", "verdict"):
            with self.subTest(verb=verb):
                path = self.folder / f"{verb}.h5"
                first = started(slow(verb, path), pathlib.Path(f"{path}.lock"))
                # The lock is ours, whatever HDF5 is told about its own and about plugins.
                second = run(*command(verb, support.pairs_file(), "-o", path),
                             env={"HDF5_USE_FILE_LOCKING": "FALSE",
                                  "HDF5_PLUGIN_PATH": str(self.folder)})
                third = run(*command(verb, support.pairs_file(), "-o", path, "--force"))
                first.communicate(timeout=120)
                self.assertEqual(first.returncode, 0)  # unharmed
                self.assert_error(second, 3, path.name, str(first.pid))
                self.assert_error(third, 3, path.name, str(first.pid))
                self.assert_ok(run("verify", path))


def finished_shards(path):
    return sorted(pathlib.Path(f"{path}.parts").glob("*.h5"))


class Damaged(CliTest):
    """Shards and files in which a bit has flipped."""

    def flip(self, path):
        data = bytearray(path.read_bytes())
        # In the values of a stored array, which its checksum covers.
        with h5py.File(path) as file:
            offsets = []
            file["experiments"].visititems(
                lambda name, item: offsets.append(place_of_values(item))
                if isinstance(item, h5py.Dataset) else None)
        data[max(offsets, key=lambda place: place[1])[0]] ^= 1
        path.write_bytes(data)

    @unittest.skipIf(h5py is None, "needs h5py")
    def test_a_damaged_shard_is_named_and_computed_anew(self):
        def sweep(path, *more):  # of a few seconds and several shards
            arguments = ["0.*" if a == "*.*" else a for a in slow("ablate", path, *more)]
            return [a for a in arguments if a != "--quiet"]
        path, whole = self.folder / "x.h5", self.folder / "whole.h5"
        process = subprocess.Popen(sweep(path), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        while not finished_shards(path) and process.poll() is None:
            time.sleep(0.01)
        process.kill()
        process.communicate(timeout=60)
        if process.returncode == 0:
            self.skipTest("the sweep was done before it was killed")
        self.flip(finished_shards(path)[0])
        resumed = subprocess.run(sweep(path, "--resume"), capture_output=True, check=True)
        self.assertIn("shard-000000.h5: SHA-256 of", resumed.stderr.decode())
        self.assertIn("this shard is computed again", resumed.stderr.decode())
        subprocess.run(sweep(whole), capture_output=True, check=True)
        self.assertEqual(path.read_bytes(), whole.read_bytes())

    @unittest.skipIf(h5py is None, "needs h5py")
    def test_verify_names_the_damaged_array(self):
        for verb in OPTIONS:
            with self.subTest(verb=verb):
                path = self.folder / f"{verb}.h5"
                self.assert_ok(run(*command(verb, support.pairs_file(), "-o", path)))
                self.flip(path)
                result = run("verify", path)
                self.assertEqual(result.code, 2, result)
                self.assertIn("/experiments/", result.out + result.err)


def place_of_values(dataset):
    """Where the first stored byte of an array lies, and how many there are."""
    if dataset.chunks is None:
        return dataset.id.get_offset() or 0, dataset.id.get_storage_size()
    if dataset.id.get_num_chunks() == 0:
        return 0, 0
    chunk = dataset.id.get_chunk_info(0)
    return chunk.byte_offset + chunk.size // 2, chunk.size


class Interrupted(CliTest):
    def test_an_output_folder_that_vanishes(self):
        for verb in ("ablate", "patch", "verdict"):
            with self.subTest(verb=verb):
                folder = self.folder / verb
                folder.mkdir()
                process = started(slow(verb, folder / "x.h5"), folder / "x.h5.lock")
                # Renamed at once: files come and go in the folder while one removes it.
                folder.rename(self.folder / f"{verb}-gone")
                out, err = process.communicate(timeout=120)
                self.assertEqual(process.returncode, 3, (out, err))
                self.assertRegex(err.decode(), support.ERROR_LINE)
                # Of the file or of the folder, whichever was missed first.
                self.assertIn(str(folder), err.decode())
                self.assertFalse(folder.exists())

    def test_a_run_that_is_suspended_goes_on(self):
        path = self.folder / "x.h5"
        process = started(slow("ablate", path), pathlib.Path(f"{path}.lock"))
        process.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        process.send_signal(signal.SIGCONT)
        process.communicate(timeout=120)
        self.assertEqual(process.returncode, 0)
        self.assert_ok(run("verify", path))


class Killed(CliTest):
    def test_a_verdict_goes_on_to_the_same_bytes(self):
        for name, stop in (("term", signal.SIGTERM), ("kill", signal.SIGKILL)):
            path = self.folder / f"{name}.h5"
            process = started(slow("verdict", path), pathlib.Path(f"{path}.lock"))
            process.send_signal(stop)
            process.communicate(timeout=60)
            self.assertIn(process.returncode, (-signal.SIGKILL, 143))
            self.assertFalse(path.exists())
            self.assertFalse(path.with_suffix(".html").exists())
            subprocess.run(slow("verdict", path, "--resume"), check=True, capture_output=True)
        self.assertEqual(path.read_bytes(), (self.folder / "term.h5").read_bytes())
        self.assertEqual(path.with_suffix(".html").read_bytes(),
                         (self.folder / "term.html").read_bytes())


if __name__ == "__main__":
    unittest.main()
