"""attnscope doctor and demo."""
import json
import unittest

import support
from support import CliTest, run


class Doctor(CliTest):
    def report(self, *arguments):
        return json.loads(self.assert_ok(run("doctor", "--json", *arguments, timeout=300)).out)

    def test_versions(self):
        report = self.report()
        for key in ("attnscope", "hdf5", "processor", "cores", "memory", "libtorch",
                    "instructions", "threads", "gpu"):
            self.assertTrue(report[key], key)
        self.assertRegex(report["hdf5"], r"^[0-9]+\.[0-9]+\.[0-9]+, (not )?thread-safe$")
        self.assertTrue(report["passed"])
        self.assertGreater(len(report["checks"]), 5)

    def test_it_says_why_there_is_no_gpu(self):
        report = self.report()
        if "GPU" in report["gpu"] and not report["gpu"].startswith("none"):
            self.skipTest("this machine has a GPU")
        none, why = report["gpu"].split(": ", 1)
        self.assertEqual(none, "none")
        # Whichever of the two it is, asking for one says the same.
        self.assertIn(why, ("this LibTorch was built without CUDA",
                            "no GPU was found, though this LibTorch was built with CUDA"))
        linked = support.subprocess.run(["ldd", support.RUNNER], capture_output=True, text=True,
                                        check=True).stdout
        self.assertEqual("without CUDA" in why, "libtorch_cuda" not in linked)
        for verb in (["doctor"], ["capture", "-m", support.MODEL, "--prompt", "x", "-o",
                                  self.folder / "x.h5"]):
            result = run(*verb, "--device", "cuda")
            self.assertEqual(result.code, 3, result)
            self.assertIn(f"--device cuda: {why}; use --device cpu", result.err)

    def test_every_family_passes(self):
        for family in sorted(p.name for p in (support.FIXTURES / "families").iterdir()):
            with self.subTest(family):
                report = self.report("-m", support.FIXTURES / "families" / family)
                results = {c["check"]: c["result"] for c in report["checks"]}
                self.assertNotIn("failed", results.values())
                # A check that never applies would prove nothing.
                self.assertGreater(list(results.values()).count("passed"), 6, results)

    def test_text(self):
        result = self.assert_ok(run("doctor", "-m", support.MODEL))
        self.assertIn("LibTorch".lower(), result.out.lower())
        self.assertIn("resid_pre + attn_out = resid_mid", result.out)

    def test_bad_model(self):
        result = run("doctor", "-m", self.folder / "none")
        self.assertEqual(result.code, 2, result)
        self.assertRegex(result.err, support.ERROR_LINE)


class Demo(CliTest):
    def test_it_says_what_it_found(self):
        result = self.assert_ok(run("demo", "-o", self.folder / "demo", timeout=300))
        files = sorted((self.folder / "demo").rglob("*.h5"))
        self.assertGreaterEqual(len(files), 2)
        for file in files:
            self.assertIn(file.name, result.out)
            self.assert_ok(run("verify", file))
        again = run("demo", "-o", self.folder / "demo", timeout=300)
        self.assert_error(again, 3, "demo")


if __name__ == "__main__":
    unittest.main()
