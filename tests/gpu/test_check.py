"""What of the device check can be tested without a device: its script, verdicts and report."""
import contextlib
import io
import json
import os
import pathlib
import stat
import struct
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE / "check"), str(HERE)]

import bundle  # noqa: E402
import captures  # noqa: E402
import gpt2_size  # noqa: E402
import machine  # noqa: E402
import main  # noqa: E402
import parity  # noqa: E402
import report  # noqa: E402
import run  # noqa: E402

H200 = "NVIDIA H200, 580.159.03, 143771, 9.0"


def with_program(folder, name, text):
    """The environment in which `name` is a shell script of this text."""
    path = pathlib.Path(folder, name)
    path.write_text("#!/bin/sh\n" + text + "\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


def some_machine(**changes):
    values = {"compiler": "g++", "compiler_version": "12", "nvcc": "/x/nvcc", "cuda_version": "13.0",
              "torch": machine.Torch(pathlib.Path("/x"), "2.14.1", True), "gpu": None,
              "why_no_gpu": "no GPU (nvidia-smi lists none)", "cores": 2, "cpu": "x", **changes}
    return machine.Machine(**values)


class Folder(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def context(self, **changes):
        return run.Context(some_machine(**changes), self.folder, self.folder, self.folder,
                           time.monotonic() + 60, time.monotonic() + 60)


class Script(Folder):
    def check(self, *arguments, env=None):
        return subprocess.run([HERE / "check.sh", *arguments], capture_output=True, text=True,
                              env={**os.environ, **(env or {})}, timeout=60, check=False)

    def test_is_a_shell_script(self):
        subprocess.run(["sh", "-n", HERE / "check.sh"], check=True)

    def test_lists_its_steps(self):
        done = self.check("--dry-run")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), len(main.STEPS))
        for step, line in zip(main.STEPS, lines):
            self.assertTrue(line.startswith(step.name), line)
            self.assertTrue(line.endswith(step.what) and step.what, line)

    def test_says_that_python_is_missing(self):
        for name in ("sh", "dirname"):
            self.folder.joinpath(name).symlink_to(f"/bin/{name}")
        done = self.check(env={"PATH": str(self.folder)})
        self.assertEqual(done.returncode, 2)
        self.assertIn("python3 is missing", done.stderr)

    def test_without_anything_fails_and_says_what_is_missing(self):
        with self.subTest("no LibTorch"):
            done = self.check("--torch", self.folder / "none", "--out", self.folder / "out",
                              "--work", self.folder / "work", "--carry", self.folder)
            self.assertEqual(done.returncode, 1, done.stdout)
            self.assertIn("LibTorch 2.11 or later", done.stdout)
            result = json.loads((self.folder / "out/result.json").read_text())
            verdicts = {step["name"]: step["verdict"] for step in result["steps"]}
            self.assertEqual(verdicts.pop("look"), "failed")
            self.assertEqual(set(verdicts.values()), {"skipped"}, verdicts)


class Machine(Folder):
    def test_reads_the_gpu(self):
        with unittest.mock.patch.dict(os.environ,
                                      with_program(self.folder, "nvidia-smi", f'echo "{H200}"')):
            gpu, why = machine.find_gpu()
        self.assertEqual((gpu.name, gpu.driver, gpu.memory_bytes, gpu.architecture, why),
                         ("NVIDIA H200", "580.159.03", 143771 * 2**20, "90", ""))

    def test_says_why_there_is_no_gpu(self):
        env = with_program(self.folder, "nvidia-smi", "echo 'No devices were found'; exit 6")
        with unittest.mock.patch.dict(os.environ, env):
            self.assertEqual(machine.find_gpu(), (None, "no GPU (nvidia-smi lists none)"))

    def test_finds_libtorch_and_whether_it_has_cuda(self):
        (self.folder / "lib").mkdir()
        (self.folder / "lib/libtorch_cpu.so").touch()
        (self.folder / "version.py").write_text("__version__ = '2.11.0+cu130'\ncuda = '13.0'\n")
        self.assertEqual(machine.find_torch(str(self.folder)),
                         machine.Torch(self.folder, "2.11.0+cu130", False))
        (self.folder / "lib/libtorch_cuda.so").touch()
        self.assertTrue(machine.find_torch(str(self.folder)).cuda)
        self.assertIsNone(machine.find_torch(str(self.folder / "lib")))

    def test_refuses_an_old_libtorch(self):
        for version, refused in (("2.9.1", True), ("1.13.1", True), ("2.11.0+cu130", False),
                                 ("3.0", False), ("unknown", False)):
            lacks = machine.missing(some_machine(torch=machine.Torch(None, version, True)))
            self.assertEqual(len(lacks), int(refused), version)

    def test_names_all_that_is_missing(self):
        self.assertEqual(machine.missing(some_machine()), [])
        self.assertEqual(len(machine.missing(some_machine(compiler="", nvcc="", torch=None))), 3)


class Verdicts(Folder):
    def verdict(self, work):
        with contextlib.redirect_stdout(io.StringIO()):
            return main.run_step(self.context(), main.Step("x", 5, work), 1)

    def test_of_steps(self):
        def fails(_):
            raise run.Failed("differs")

        def skips(_):
            raise run.Skip("no GPU")

        self.assertEqual(self.verdict(lambda context: {"a": 1})["details"], {"a": 1})
        self.assertEqual(self.verdict(lambda context: {"a": 1})["verdict"], "passed")
        self.assertEqual(self.verdict(skips)["verdict"], "skipped")
        self.assertEqual(self.verdict(fails)["reason"], "differs")
        broken = self.verdict(lambda context: 1 // 0)
        self.assertEqual(broken["verdict"], "failed")
        self.assertIn("ZeroDivisionError", broken["reason"])

    def test_a_program_that_hangs_is_ended_with_its_children(self):
        context = self.context()
        context.step_deadline = time.monotonic() + 0.5
        with self.assertRaisesRegex(run.Failed, "took longer"):
            context.run("sh", "-c", "sleep 60 & echo $!; wait", log="hang.log")
        child = int((self.folder / "hang.log").read_text())
        for _ in range(100):
            state = pathlib.Path(f"/proc/{child}/stat")
            if not state.exists() or state.read_text().split()[2] == "Z":
                return
            time.sleep(0.05)
        self.fail("the child still runs")

    def test_every_step_of_the_gpu_is_skipped_without_one(self):
        for step in main.STEPS:
            if step.name in ("look", "build", "kernels compile") or "CPU" in step.name:
                continue
            entry = self.verdict(step.work)
            self.assertEqual((entry["verdict"], entry["reason"]),
                             ("skipped", "no GPU (nvidia-smi lists none)"), step.name)


class Comparisons(Folder):
    def test_missing_values_differ_from_numbers(self):
        self.assertEqual(captures.largest_part([[1.0, None]], [[1.0, None]]), 0)
        self.assertEqual(captures.largest_part([[1.0, 0.0]], [[1.0, None]]), float("inf"))
        self.assertEqual(captures.largest_part([200.0], [100.0]), 1.0)
        self.assertEqual(captures.largest_part([0.25], [0.5]), 0.25)
        self.assertEqual(captures.largest_part([1.0], [1.0, 2.0]), float("inf"))

    def test_reads_the_largest_difference_of_each_kind(self):
        text = ("gpt2: 35 arrays, engines cuda, logits 2.8e-06, resid_post 6.3e-06\n"
                "bert: 34 arrays, engines cuda, logits 3.7e-06, resid_post 1.5e-06\n"
                "bert: statistics 2.2e-06\n")
        self.assertEqual(parity.largest_differences(text),
                         {"logits": 3.7e-06, "resid_post": 6.3e-06, "statistics": 2.2e-06})

    def test_reports_the_tests_that_fail(self):
        program = self.folder / "build/tests/parity/parity_tests"
        program.parent.mkdir(parents=True)
        outcome = {"testsuites": [{"testsuite": [
            {"classname": "A", "name": "One", "result": "COMPLETED"},
            {"classname": "A", "name": "Two", "result": "COMPLETED",
             "failures": [{"failure": "x"}]}]}]}
        (self.folder / "outcome.json").write_text(json.dumps(outcome))
        program.write_text("#!/bin/sh\nfor a; do case $a in --gtest_output=json:*)\n"
                           f"cp {self.folder}/outcome.json ${{a#*json:}};; esac; done\n")
        program.chmod(0o755)
        with self.assertRaisesRegex(run.Failed, r"1 of 2 tests fail: A\.Two"):
            parity.run_tests(self.context(), "x", "*", "cpu")


class Interruption(Folder):
    def interrupt(self, script):
        return captures.interrupt(self.context(), self.folder / "a.h5",
                                  ["sh", "-c", f"cd {self.folder}; {script}"])

    def test_waits_for_a_whole_shard_and_kills(self):
        shards = self.interrupt("echo $$ >pid; mkdir a.h5.parts; touch a.h5.parts/0.h5.tmp; "
                                "sleep 0.3; touch a.h5.parts/0.h5; sleep 60; touch late")
        self.assertEqual(shards, 1)
        process = int((self.folder / "pid").read_text())
        with self.assertRaises(ProcessLookupError):
            os.kill(process, 0)

    def test_fails_if_there_was_nothing_to_kill(self):
        with self.assertRaisesRegex(run.Failed, "ended with 3 before .*: no device"):
            self.interrupt("echo no device >&2; exit 3")


class Model(Folder):
    def test_is_of_the_size_of_gpt2_small(self):
        self.assertEqual(sum(map(gpt2_size.count, dict(gpt2_size.shapes()).values())), 124_439_808)

    def test_writes_safetensors(self):
        small = {"LAYERS": 1, "WIDTH": 4, "HEADS": 2, "CONTEXT": 8, "VOCABULARY": 11, "POOL": 101}
        with unittest.mock.patch.multiple(gpt2_size, **small):
            gpt2_size.write(self.folder)
            shapes = dict(gpt2_size.shapes())
        data = (self.folder / "model.safetensors").read_bytes()
        size, = struct.unpack("<Q", data[:8])
        header, body = json.loads(data[8:8 + size]), data[8 + size:]
        self.assertEqual({name: tuple(of["shape"]) for name, of in header.items()}, shapes)
        self.assertEqual(max(of["data_offsets"][1] for of in header.values()), len(body))

        def values(name):
            begin, end = header[name]["data_offsets"]
            return struct.unpack(f"<{(end - begin) // 4}f", body[begin:end])

        self.assertEqual(values("h.0.ln_1.weight"), (1.0,) * 4)
        self.assertEqual(values("h.0.attn.c_attn.bias"), (0.0,) * 12)
        self.assertEqual(len(set(values("h.0.mlp.c_fc.weight"))), 64)


class Report(unittest.TestCase):
    layer = {"kind": "layer", "n": 8192, "heads": 32, "d_head": 128, "dtype": "bf16",
             "fused_ms": 0.9, "fused_tflops": 611.0, "statistics_ms": 0.6,
             "statistics_tflops": 458.0, "ratio": 0.667, "one_map_ms": 0.7,
             "fused_peak_bytes": 67e6, "statistics_bytes": 24e6}
    model = {"kind": "model", "n": 1024, "dtype": "f32", "engines": ["cuda"], "without_ms": 10.0,
             "with_ms": 12.5, "ratio": 1.25, "without_peak_bytes": 1e9, "with_peak_bytes": 1.1e9}

    def result(self, **changes):
        step = {"name": "benchmark", "what": "", "verdict": "passed", "reason": "", "seconds": 40.0,
                "details": {"rows": [self.layer, self.model]}, **changes}
        return report.document(some_machine(), [step], 61)

    def test_has_a_row_for_every_measurement(self):
        text = report.text(self.result())
        self.assertRegex(text, r"8192 +32x128 +bf16 +0\.900 +611\.0 +0\.600 +458\.0 +0\.67 +0\.700")
        self.assertRegex(text, r"1024 +f32 +10\.00 +12\.50 +1\.25 +1000 +1100 +cuda")
        self.assertIn("1 passed, 0 failed, 0 skipped, in 61 s", text)

    def test_gives_the_reason_of_what_did_not_pass(self):
        text = report.text(self.result(verdict="skipped", reason="no GPU here", details={}))
        self.assertIn("no GPU here", text)
        self.assertIn("0 passed, 0 failed, 1 skipped", text)


class Bundle(Folder):
    def test_packages_are_found_where_cmake_looks_and_refuse_a_newer_version(self):
        package = next(p for p in bundle.PACKAGES if p.name == "HDF5")
        bundle.write_cmake_package(package, "1.10.8", self.folder)
        text = (self.folder / "HDF5/HDF5Config.cmake").read_text()
        self.assertIn("${carry}/lib/libhdf5_serial.a", text)
        self.assertIn("add_library(HDF5::HDF5 STATIC IMPORTED GLOBAL)", text)
        version = (self.folder / "HDF5/HDF5ConfigVersion.cmake").read_text()
        self.assertIn("set(PACKAGE_VERSION 1.10.8)", version)

    def test_gathers_all_that_the_build_asks_for(self):
        listed = (HERE.parents[1] / "CMakeLists.txt").read_text()
        asked = {line.split("(")[1].split()[0] for line in map(str.strip, listed.splitlines())
                 if line.startswith("find_package(")}
        self.assertEqual(asked - {"Threads"}, {package.name for package in bundle.PACKAGES})


if __name__ == "__main__":
    unittest.main()
