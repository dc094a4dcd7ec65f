"""--dry-run refuses what the run would refuse because of its output or its budget, in the same words,
and makes nothing."""
import fcntl
import shutil
import unittest

import support
from support import CliTest, run


def commands():
    """Every verb that knows --dry-run: its arguments but for -o."""
    pairs = ["-m", support.MODEL, "--pairs", support.pairs_file()]
    few = pairs + ["--limit", "2"]
    return {
        "capture": ["capture", "-m", support.MODEL, "--prompt", "Once upon a time"],
        "ablate": ["ablate", *few],
        "patch": ["patch", *few],
        "paths": ["patch", *few, "--senders", "0.0", "--receivers", "logits"],
        "lens": ["lens", *few],
        "verdict": ["verdict", *pairs, "--matched-sets", "20", "--controls", "20",
                    "--resamples", "200"],
    }


class DryRun(CliTest):
    def files(self):
        return sorted((p.relative_to(self.folder), p.read_bytes() if p.is_file() else None)
                      for p in self.folder.rglob("*"))

    def refused_alike(self, arguments, code, *parts):
        """By the run and by the dry run, which leaves everything as it is."""
        before = self.files()
        dry = self.assert_error(run(*arguments, "--dry-run", cwd=self.folder), code, *parts)
        self.assertEqual((dry.out, self.files()), ("", before))
        self.assertEqual(run(*arguments, cwd=self.folder).err, dry.err)

    def for_every_command(self, work):
        self.assertEqual({arguments[0] for arguments in commands().values()},
                         {verb for verb in support.VERBS if "--dry-run" in support.options_of(verb)})
        for name, arguments in commands().items():
            with self.subTest(name):
                shutil.rmtree(self.folder)
                self.folder.mkdir()
                work(arguments)

    def test_the_output(self):
        def work(arguments):
            (self.folder / "there.h5").write_bytes(b"precious")
            (self.folder / "taken.json").write_bytes(b"{}")
            (self.folder / "begun.h5.parts").mkdir()
            (self.folder / "folder.h5").mkdir()
            for out, parts in (("there.h5", ["there.h5", "exists already", "--force"]),
                               ("taken.h5", ["taken.json", "companion"]),
                               ("begun.h5", ["begun.h5.parts", "--resume"]),
                               ("folder.h5", ["folder.h5", "not a regular file"]),
                               ("no/x.h5", ["the folder no does not exist"]),
                               ("there.h5/x.h5", ["there.h5"])):
                self.refused_alike([*arguments, "-o", out], 3, *parts)
            for options in (["-o", "new.h5"], ["-o", "there.h5", "--force"], []):
                before = self.files()
                self.assert_ok(run(*arguments, *options, "--dry-run", cwd=self.folder))
                self.assertEqual(self.files(), before)
        self.for_every_command(work)

    def test_a_run_that_goes_on(self):
        def work(arguments):
            lock = self.folder / "x.h5.lock"
            with lock.open("w+") as held:
                held.write("123\n")
                held.flush()
                fcntl.flock(held, fcntl.LOCK_EX)
                self.refused_alike([*arguments, "-o", "x.h5"], 3, "being written by process 123")
            # What a killed run left behind is in nobody's way.
            self.assert_ok(run(*arguments, "-o", "x.h5", "--dry-run", cwd=self.folder))
            self.assertTrue(lock.exists())
        self.for_every_command(work)

    def test_what_is_resumed(self):
        def work(arguments):
            resumed = [*arguments, "-o", "x.h5", "--resume"]
            self.assert_ok(run(*resumed, "--quiet", cwd=self.folder))
            before = self.files()
            self.assert_ok(run(*resumed, "--dry-run", cwd=self.folder))
            self.assertEqual(self.files(), before)
            self.refused_alike([*resumed, "--seed", "9"], 2, '"seed" differs', "expected 0, got 9")
        self.for_every_command(work)

    def test_the_budget(self):
        def work(arguments):
            if "--senders" not in arguments:  # paths have no plan of their memory and refuse one
                self.refused_alike([*arguments, "--budget", "1", "-o", "x.h5"], 4, "--budget")
        self.for_every_command(work)

    def test_options_that_contradict_the_model_or_the_prompts(self):
        names = commands()
        (self.folder / "short.json").write_text("[1, 2]")
        for arguments, parts in (
                ([*names["ablate"], "--effect", "direct", "--at", "3,4"],
                 ["--effect direct", "several positions", "--at"]),
                ([*names["ablate"], "--effect", "direct", "--metric", "loss"],
                 ["--effect direct", "many positions"]),
                ([*names["ablate"], "--method", "optimal", "--metric", "rank"],
                 ["--method optimal", "--metric logit-diff"]),
                ([*names["ablate"], "--method", "vector", "--vector", "no.npy"],
                 ["no.npy", "cannot open"]),
                ([*names["ablate"], "--method", "vector", "--vector", "short.json"], ["length"]),
                ([*names["patch"], "--senders", "3.1", "--receivers", "0.1.q"],
                 ["--senders", "behind every receiver"]),
                ([*names["patch"], "--senders", "neuron:0.1", "--receivers", "logits"],
                 ["cannot send"]),
                ([*names["patch"], "--edge", "knockout", "--queries", "last", "--keys", "0",
                  "--window", "6"], ["--window", "expected 1 to 5, got 6"]),
                ([*names["verdict"], "--at", "3,4"], ["several positions", "--at"])):
            with self.subTest(arguments[-4:]):
                self.refused_alike([*arguments, "-o", "x.h5"], 2, *parts)

    def test_the_report_of_a_verdict(self):
        (self.folder / "x.html").write_bytes(b"precious")
        arguments = [*commands()["verdict"], "-o", "x.h5"]
        self.refused_alike(arguments, 3, "x.html", "exists already")
        result = run(*arguments, "--html", "no/x.html", "--dry-run", cwd=self.folder)
        self.assert_error(result, 3, "no/x.html: the folder no does not exist; make the folder")
        self.assertNotIn("-o", result.err)


if __name__ == "__main__":
    unittest.main()
