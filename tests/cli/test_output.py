"""Where a capture is written: nothing overwritten, nothing half written, signals, locks."""
import json
import os
import resource
import shutil
import signal
import subprocess
import time
import unittest

import support
from support import CliTest, run


def capture(*arguments, **options):
    return run("capture", "-m", support.MODEL, *arguments, **options)


def another_capture():
    """One that can be merged with support.text_capture()."""
    return support.captured("cat", "--prompt", "The cat sat", "--hooks", "pattern,attn_scores,z")


class Existing(CliTest):
    def test_refused_unless_forced(self):
        path = self.folder / "x.h5"
        path.write_bytes(b"precious")
        self.assert_error(capture("--prompt", "Once", "-o", path), 3, "x.h5", "--force")
        self.assertEqual(path.read_bytes(), b"precious")
        self.assert_ok(capture("--prompt", "Once", "-o", path, "--force"))
        self.assert_ok(run("verify", path))

    def test_the_other_writers_too(self):
        file = support.text_capture()
        for arguments in (["export", file, "--head", "0.0"], ["merge", file, another_capture()],
                          ["diff", file, file]):
            for name in ("x.png", "x.h5"):
                (self.folder / name).write_bytes(b"precious")
            name = "x.png" if arguments[0] == "export" else "x.h5"
            refused = self.assert_error(run(*arguments, "-o", self.folder / name), 3, name,
                                        "exists already", "--force")
            self.assertNotIn(".tmp", refused.err)
            self.assertEqual((self.folder / name).read_bytes(), b"precious")
            self.assert_ok(run(*arguments, "-o", self.folder / name, "--force"))

    def test_an_output_that_is_an_input(self):
        shutil.copytree(support.MODEL, self.folder / "model")
        file = self.folder / "a.h5"
        shutil.copy(support.text_capture(), file)
        (self.folder / "q.txt").write_text("Once\n")
        model = self.folder / "model"
        before = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        spec = {"model": str(model), "prompt": "Once"}
        (self.folder / "run.json").write_text(json.dumps(spec))
        (self.folder / "spec.h5").write_text(json.dumps(spec))
        (self.folder / "q.h5").symlink_to("q.txt")
        before |= {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        for arguments in (
                ["capture", "-m", model, "--prompt", "Once", "-o", model / "config.h5"],
                ["capture", "-m", model, "--prompts", self.folder / "q.txt", "-o",
                 self.folder / "q.h5"],
                ["capture", "--spec", self.folder / "run.json", "-o", self.folder / "run.h5"],
                ["capture", "--spec", self.folder / "spec.h5", "-o", self.folder / "spec.h5"],
                ["export", file, "--head", "0.0", "--format", "csv", "-o", file],
                ["merge", file, support.text_capture(), "-o", file],
                ["diff", file, file, "-o", file]):
            with self.subTest(arguments=arguments):
                self.assert_error(run(*arguments, "--force"), 2, "input of this command")
        after = {path: path.read_bytes() for path in self.folder.rglob("*") if path.is_file()}
        self.assertEqual(after, before)

    def test_a_file_with_the_name_of_the_companion_is_kept(self):
        """run.h5 brings run.json, which may be the user's."""
        file = support.text_capture()
        notes = self.folder / "run.json"
        notes.write_text("my notes")
        for arguments in (["capture", "-m", support.MODEL, "--prompt", "Once"],
                          ["capture", "-m", support.MODEL, "--prompt", "Once", "--resume"],
                          ["merge", file, another_capture()], ["diff", file, file]):
            with self.subTest(arguments=arguments):
                self.assert_error(run(*arguments, "-o", self.folder / "run.h5"), 3, "run.json",
                                  "--force")
                self.assertEqual(notes.read_text(), "my notes")
                self.assertFalse((self.folder / "run.h5").exists())

    def test_a_folder_that_takes_no_files(self):
        file = support.text_capture()
        for arguments in (["capture", "-m", support.MODEL, "--prompt", "Once"],
                          ["merge", file, another_capture()], ["diff", file, file],
                          ["export", file, "--head", "0.0", "--format", "csv"]):
            for name, says in (("/proc/x.h5", "cannot create a file in the folder /proc"),
                               (self.folder / "none" / "x.h5", "does not exist")):
                with self.subTest(verb=arguments[0], name=name):
                    result = self.assert_error(run(*arguments, "-o", name), 3, str(name), says)
                    self.assertNotIn("room", result.err)
                    self.assertNotIn(".tmp", result.err)

    def test_file_size_limit(self):
        path = self.folder / "x.h5"
        command = (f"ulimit -f 8; exec '{support.ATTNSCOPE}' capture -m '{support.MODEL}' "
                   f"--prompt 'Once upon a time' --hooks '*' -o '{path}'")
        process = subprocess.run(["bash", "-c", command], capture_output=True, check=False)
        self.assert_error(support.Result(process), 3, "x.h5")
        self.assertFalse(path.exists())

    def test_folder(self):
        missing = self.folder / "none" / "x.h5"
        self.assert_error(capture("--prompt", "Once", "-o", missing), 3, "none")
        (self.folder / "file").write_text("")
        self.assert_error(capture("--prompt", "Once", "-o", self.folder / "file" / "x.h5"), 3,
                          "file")
        self.assert_error(capture("--prompt", "Once", "-o", self.folder / ("n" * 300 + ".h5")), 3)

    def test_read_only_folder(self):
        if os.geteuid() == 0:
            self.skipTest("root may write everywhere")
        self.folder.chmod(0o500)
        self.assert_error(capture("--prompt", "Once", "-o", self.folder / "x.h5"), 3, "x.h5")
        self.folder.chmod(0o700)

    def test_write_limit(self):
        path = self.folder / "x.h5"

        def small_files():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        process = subprocess.run(
            [support.ATTNSCOPE, "capture", "-m", support.MODEL, "--prompt", "Once upon a time",
             "--hooks", "*", "-o", path], capture_output=True, check=False, timeout=120,
            preexec_fn=small_files)
        self.assert_error(support.Result(process), 3, "x.h5")
        self.assertFalse(path.exists())


class LongRun:
    """A capture that lasts long enough to be interrupted."""

    def __init__(self, folder):
        self.path = folder / "long.h5"
        self.prompts = folder / "long.txt"
        self.prompts.write_text("".join(f"Once upon a time there was a cat number {i} and it sat\n"
                                        for i in range(2000)))
        self.command = [support.ATTNSCOPE, "capture", "-m", support.MODEL, "--prompts",
                        self.prompts, "--hooks", "z,resid_post", "--layout", "packed", "--threads",
                        "1", "-o", self.path]

    def start(self, *more):
        return subprocess.Popen([*self.command, *more], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def wait_until_busy(self):
        """Until it holds its lock, which is after the arguments and the model were read."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if any(p.name.startswith("long.h5") for p in self.path.parent.iterdir()):
                return
            time.sleep(0.01)
        raise AssertionError("the capture did not start to write")


class Signals(CliTest):
    def interrupted(self, number, code):
        long_run = LongRun(self.folder)
        process = long_run.start()
        long_run.wait_until_busy()
        time.sleep(0.2)
        process.send_signal(number)
        begun = time.monotonic()
        out, err = process.communicate(timeout=60)
        if process.returncode == 0:
            self.skipTest("the capture was over before the signal")
        self.assertEqual(process.returncode, code, err)
        self.assertLess(time.monotonic() - begun, 30)
        self.assertRegex(err.decode(), support.ERROR_LINE)
        self.assertFalse(long_run.path.exists())
        self.assert_ok(run(*long_run.command[1:], "--resume", "--quiet"))
        self.assert_ok(run("verify", long_run.path))

    def test_interrupt(self):
        self.interrupted(signal.SIGINT, 130)

    def test_terminate(self):
        self.interrupted(signal.SIGTERM, 143)

    def test_kill_then_resume(self):
        long_run = LongRun(self.folder)
        process = long_run.start()
        long_run.wait_until_busy()
        time.sleep(0.3)
        process.kill()
        process.communicate(timeout=60)
        self.assert_ok(run(*long_run.command[1:], "--resume", "--quiet"))
        again = self.folder / "again.h5"
        whole = [again if word is long_run.path else word for word in long_run.command[1:]]
        self.assert_ok(run(*whole, "--quiet"))
        self.assertEqual(long_run.path.read_bytes(), again.read_bytes())

    def test_second_writer_is_refused(self):
        long_run = LongRun(self.folder)
        process = long_run.start("--quiet")
        long_run.wait_until_busy()
        second = capture("--prompt", "Once", "-o", long_run.path)
        if process.poll() is not None:
            process.communicate()
            self.skipTest("the first capture was over too early")
        self.assert_error(second, 3, "long.h5")
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


class Resume(CliTest):
    def test_other_options_are_named(self):
        path = self.folder / "x.h5"
        prompts = self.folder / "p.txt"
        prompts.write_text("Once\nupon\n")
        self.assert_ok(capture("--prompts", prompts, "-o", path))
        result = capture("--prompts", prompts, "-o", path, "--resume", "--topk", "3")
        self.assert_error(result, 2)
        self.assert_ok(capture("--prompts", prompts, "-o", path, "--resume"))

    def test_flipped_bit_is_found(self):
        path = self.folder / "x.h5"
        self.assert_ok(capture("--prompt", "Once upon a time", "--hooks", "*", "-o", path))
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        result = run("verify", path)
        self.assertEqual(result.code, 2, result)


class Memory(CliTest):
    def test_little_memory(self):
        def little():
            resource.setrlimit(resource.RLIMIT_AS, (700 << 20, 700 << 20))
        process = subprocess.run(
            [support.ATTNSCOPE, "capture", "-m", support.MODEL, "--prompt", "Once", "-o",
             self.folder / "x.h5"], capture_output=True, check=False, timeout=120,
            preexec_fn=little)
        # LibTorch itself may fail to load under such a limit, which the loader reports.
        self.assertIn(process.returncode, (0, 3, 4, 127), process.stderr)
        self.assertNotIn(b"terminate called", process.stderr)

    def test_report_has_no_secrets_of_the_place(self):
        path = self.folder / "x.h5"
        self.assert_ok(capture("--prompt", "Once", "-o", path))
        content = path.read_bytes()
        for word in (str(self.folder), os.uname().nodename):
            self.assertNotIn(word.encode(), content)
        self.assertIn(str(path), json.dumps(json.loads((self.folder / "x.json").read_text())))


if __name__ == "__main__":
    unittest.main()
