"""Every command and program of the README, run in a clone's layout."""
import os
import re
import shlex
import signal
import subprocess
import sys
import unittest
import urllib.request

from support import BIN, SOURCE, CliTest

README = (SOURCE / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)^```$", README, re.M | re.S)


class Readme(CliTest):
    def setUp(self):
        super().setUp()
        # What is written must not land in the source tree.
        for name in ("probes", "tests", "README.md"):
            (self.folder / name).symlink_to(SOURCE / name)
        self.env = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "MPLBACKEND": "Agg",
                    "MPLCONFIGDIR": str(self.folder)}

    def test_commands_and_programs_run_as_they_stand(self):
        commands = [b for b in blocks("sh") if "./run" not in b]
        self.assertGreater(len(commands), 2)
        for block in commands:
            with self.subTest(block=block):
                if block.startswith("attnscope view ") and "--html" not in block:
                    self.check_server(block)
                    continue
                done = subprocess.run(["sh", "-e", "-c", block], cwd=self.folder, env=self.env,
                                      capture_output=True, text=True, timeout=300, check=False)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                if "attnscope patch" in block:  # an example without an interval would teach little
                    self.assertRegex(done.stdout, r"(?m)^\d@\d+ +\S+ +\[\S+, \S+\]")
        try:
            import h5py  # noqa: F401
            import matplotlib  # noqa: F401
        except ImportError as missing:
            self.skipTest(f"the README's Python example needs a module: {missing}")
        programs = blocks("python")
        self.assertEqual(len(programs), 1)
        for program in programs:
            done = subprocess.run([sys.executable, "-c", program], cwd=self.folder, env=self.env,
                                  capture_output=True, text=True, timeout=300, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertTrue((self.folder / "head.png").read_bytes().startswith(b"\x89PNG"))

    def check_server(self, block):
        command = shlex.split(block) + ["--no-open", "--port", "0"]
        with subprocess.Popen(command, cwd=self.folder, env=self.env, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as server:
            try:
                address = re.search(r"http://\S+", server.stdout.readline() + server.stdout.readline())
                with urllib.request.urlopen(address.group(), timeout=30) as answer:
                    self.assertEqual(answer.status, 200)
            finally:
                server.send_signal(signal.SIGINT)
            server.communicate(timeout=30)
            self.assertEqual(server.returncode, 0)

    def test_only_the_script_is_left_out(self):
        left_out = [b for b in blocks("sh") if "./run" in b]
        self.assertEqual(left_out, ["./run demo\n./run test\n"])

    def test_links_lead_somewhere(self):
        for target in re.findall(r"\]\(([^)#]+)\)", README):
            if not target.startswith("http"):
                self.assertTrue((SOURCE / target).exists(), target)


if __name__ == "__main__":
    unittest.main()
