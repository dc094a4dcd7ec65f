"""What each executable links, and what it does not."""
import subprocess
import unittest

import support
from support import CliTest


def needed(path):
    """Every library that the loader would map, also those needed by others."""
    return subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout


class Links(CliTest):
    def test_front_links_no_libtorch(self):
        libraries = needed(support.ATTNSCOPE)
        for name in ("torch", "c10", "gomp", "mkl"):
            self.assertNotIn(name, libraries)
        self.assertIn("libhdf5", libraries)

    def test_runner_links_libtorch(self):
        libraries = needed(support.RUNNER)
        for name in ("libtorch_cpu", "libc10", "libhdf5"):
            self.assertIn(name, libraries)
        self.assertNotIn("not found", libraries)

    def test_no_loader_of_pickles(self):
        for path in (support.ATTNSCOPE, support.RUNNER):
            symbols = subprocess.run(["nm", "-D", "--undefined-only", "--demangle", path],
                                     capture_output=True, text=True, check=True).stdout
            for name in ("torch::jit::load", "torch::load", "pickle_load", "import_ir_module"):
                self.assertNotIn(name, symbols)

    def test_runner_has_no_options(self):
        for arguments in ([], ["--help"], ["--threads", "1"]):
            process = subprocess.run([support.RUNNER, *arguments], capture_output=True,
                                     stdin=subprocess.DEVNULL, check=False, timeout=60)
            self.assert_error(support.Result(process), 2, "attnscope-run")


if __name__ == "__main__":
    unittest.main()
