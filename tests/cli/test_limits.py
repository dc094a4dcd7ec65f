"""Limits on memory and processes: every run ends well, or with exit 4 and one line."""
import os
import resource
import subprocess
import unittest

import support
from support import CliTest

# Loading LibTorch takes some 450 MiB of addresses, the run of a tiny model hardly more.
FIRST_MIB, LAST_MIB, STEP_MIB = 300, 900, 40


def run_limited(limits, *arguments):
    def limit():
        for which, value in limits.items():
            resource.setrlimit(which, (value, value))
    return support.Result(subprocess.run(
        [support.ATTNSCOPE, *map(os.fsencode, arguments)], stdin=subprocess.DEVNULL,
        capture_output=True, check=False, timeout=120, preexec_fn=limit))


class Limits(CliTest):
    def capture(self, limits, *options):
        path = self.folder / "x.h5"
        result = run_limited(limits, "capture", "-m", support.MODEL, "--prompt",
                             "Once upon a time", "-o", path, "--force", "--quiet", *options)
        if result.code == 0:
            self.assertEqual(result.err, "", result)
            self.assertTrue(path.exists())
        else:
            self.assert_error(result, 4)
            left = [p.name for p in self.folder.iterdir() if p.name not in ("x.h5", "x.json")]
            self.assertEqual(left, [], result)
        return result.code

    def test_address_space(self):
        codes = []
        for mib in range(FIRST_MIB, LAST_MIB + 1, STEP_MIB):
            for threads in ("1", "2"):
                codes.append(self.capture({resource.RLIMIT_AS: mib << 20}, "--threads", threads))
        self.assertIn(4, codes)
        if 0 not in codes:
            self.skipTest("this LibTorch needs more than the largest limit that was tried")

    def test_doctor(self):
        result = run_limited({resource.RLIMIT_AS: FIRST_MIB << 20}, "doctor")
        self.assert_error(result, 4)

    def test_files_are_read_without_libtorch(self):
        path = support.text_capture()
        self.assert_ok(run_limited({resource.RLIMIT_AS: FIRST_MIB << 20}, "inspect",
                                   support.MODEL))
        self.assertIn(run_limited({resource.RLIMIT_AS: FIRST_MIB << 20}, "stats", path).code,
                      (0, 4))

    @unittest.skipIf(os.geteuid() == 0, "root may start any number of processes")
    def test_processes(self):
        self.capture({resource.RLIMIT_NPROC: 1}, "--threads", "2")


if __name__ == "__main__":
    unittest.main()
