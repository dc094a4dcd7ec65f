"""What each executable links, and what it does not."""
import re
import subprocess
import unittest

import support
from support import CliTest


def needed(path):
    """Every library that the loader would map, also those needed by others."""
    text = subprocess.run(["ldd", path], capture_output=True, text=True, check=True).stdout
    return re.sub(r" \(0x[0-9a-f]+\)", "", text)  # addresses may spell a name


# torch::autograd computes gradients; everything else of that namespace is the runtime of programs.
LOADERS = re.compile(r"\btorch::(?!autograd::)\w|\bcaffe2::serialize::|[Pp]ickle|^dlm?open\b|^dlv?sym\b"
                     r"|^system\b|^popen\b")


def undefined_symbols(path):
    """Names that `path`, a program or a static library, takes from elsewhere, demangled."""
    options = ["-u", "--demangle"] + ([] if path.suffix == ".a" else ["-D"])
    lines = subprocess.run(["nm", *options, path], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    return [line.split(maxsplit=1)[1] for line in lines if line.strip().startswith(("U ", "w "))]


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

    def test_no_loader_of_programs(self):
        """Pickles and TorchScript are programs: nothing here can load one, or a library by name."""
        libraries = sorted(support.BIN.parent.glob("src/*/*.a")) + \
            sorted(support.BIN.parent.glob("probes/*/*.a"))
        self.assertGreater(len(libraries), 10)
        for path in [support.ATTNSCOPE, support.RUNNER, *libraries]:
            for symbol in undefined_symbols(path):
                self.assertNotRegex(symbol, LOADERS, path)

    def test_what_counts_as_a_loader(self):
        """LibTorch's own loaders, as it spells them, are found by the pattern above."""
        torch = re.search(r"=> (/\S*libtorch_cpu\S*)", needed(support.RUNNER)).group(1)
        names = subprocess.run(["nm", "-D", "--defined-only", "--demangle", torch],
                               capture_output=True, text=True, check=True).stdout
        for loader in ("torch::jit::load(", "torch::jit::import_ir_module(", "torch::pickle_load(",
                       "torch::jit::unpickle(", "torch::jit::Unpickler::", "torch::jit::pickle_load(",
                       "caffe2::serialize::PyTorchStreamReader::", "torch::serialize::InputArchive::",
                       "torch::jit::_load_for_mobile("):
            self.assertIn(loader, names)
            self.assertRegex(loader, LOADERS)
        for symbol in undefined_symbols(support.RUNNER):
            if symbol.startswith("at::"):
                break
        else:
            self.fail("nm showed no symbol of LibTorch")

    def test_search_path_of_libraries(self):
        """An empty or relative part would load libraries from the folder the command is run in."""
        for path in (support.ATTNSCOPE, support.RUNNER):
            dynamic = subprocess.run(["readelf", "-d", path], capture_output=True, text=True,
                                     check=True).stdout
            for paths in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", dynamic):
                for part in paths.split(":"):
                    self.assertRegex(part, r"^(/|\$ORIGIN(/|$))", f"{path}: {paths}")

    def test_runner_has_no_options(self):
        for arguments in ([], ["--help"], ["--threads", "1"]):
            process = subprocess.run([support.RUNNER, *arguments], capture_output=True,
                                     stdin=subprocess.DEVNULL, check=False, timeout=60)
            self.assert_error(support.Result(process), 2, "attnscope-run")


if __name__ == "__main__":
    unittest.main()
