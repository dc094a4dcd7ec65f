"""Which files a capture opens, by strace: the model, the prompts and the system's own for reading, the
output and the cache for writing, nothing else and no socket. Skipped where there is no strace."""
import json
import os
import re
import shutil
import struct
import subprocess
import unittest

import support
from support import CliTest

STRACE = shutil.which("strace")
CALLS = "%file,socket,connect"
LINE = re.compile(r"^\d+ +(?P<call>\w+)\((?P<arguments>.*)\) += (?P<result>-?\d+|\?)(?P<rest>.*)$")
QUOTED = re.compile(r'(?:(?:AT_FDCWD|\d+)<(?P<folder>[^>]*)>, )?"(?P<path>(?:[^"\\]|\\.)*)"')
LOOKS = ("stat", "lstat", "newfstatat", "fstatat64", "statx", "access", "faccessat", "faccessat2",
         "readlink", "readlinkat", "execve", "getcwd", "statfs", "chdir")
# Programs, libraries, locales, the loader's cache, the time zone; what the kernel says of the machine.
SYSTEM = ("/bin/", "/lib", "/usr/", "/etc/ld.so", "/etc/localtime", "/proc/", "/sys/", "/dev/null",
          "/dev/urandom")


def needed_folders():
    """Where the libraries lie that the executables link: LibTorch, for one."""
    folders = {os.path.realpath(support.BIN) + "/"}
    for program in (support.ATTNSCOPE, support.RUNNER):
        text = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        for path in re.findall(r"=> (/\S+)", text):
            folders.update({os.path.dirname(path) + "/",
                            os.path.dirname(os.path.realpath(path)) + "/"})
    return tuple(sorted(folders))


class Opened:
    """One call that names a file, with the path made absolute."""

    def __init__(self, call, path, writes, failed):
        self.call, self.path, self.writes, self.failed = call, path, writes, failed

    def __repr__(self):
        return f"{self.call} {self.path}{' (writes)' if self.writes else ''}"


def parse(log, cwd):
    for line in log.read_text(errors="replace").splitlines():
        match = LINE.match(line)
        if not match:
            continue
        call, arguments = match["call"], match["arguments"]
        if call in ("socket", "connect"):
            yield Opened(call, arguments, True, False)
            continue
        writes = call not in LOOKS and ("O_RDONLY" not in arguments or "O_CREAT" in arguments)
        for quoted in QUOTED.finditer(arguments if call != "execve" else arguments.split(",")[0]):
            path = os.path.normpath(os.path.join(quoted["folder"] or cwd, quoted["path"]))
            yield Opened(call, path, writes, match["result"].startswith("-1"))


@unittest.skipUnless(STRACE, "strace is not installed: which files a capture opens is not checked")
class Opens(CliTest):
    def setUp(self):
        super().setUp()
        # /proc shows real paths.
        self.folder = self.folder.resolve()
        for name in ("out", "cache", "home", "tmp", "cwd"):
            (self.folder / name).mkdir()
        self.model = self.folder / "model"
        shutil.copytree(support.MODEL, self.model)
        self.prompts = self.folder / "prompts.txt"
        self.prompts.write_text("Once upon a time\nThe cat\n")

    def trace(self, *arguments, code=0):
        log = self.folder / "strace.log"
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder / "home"),
                       "TMPDIR": str(self.folder / "tmp"), "LANG": "C.UTF-8",
                       "ATTNSCOPE_CACHE": str(self.folder / "cache"),
                       # Sanitized builds look for their leaks with ptrace, which strace holds.
                       "ASAN_OPTIONS": "detect_leaks=0"}
        process = subprocess.run(
            [STRACE, "-f", "-y", "-qq", "-s", "4096", "-e", "trace=" + CALLS, "-o", log,
             support.ATTNSCOPE, *arguments],
            cwd=self.folder / "cwd", env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=300, check=False)
        result = support.Result(process)
        if b"ptrace" in process.stderr:
            self.skipTest("strace may not trace here: which files a capture opens is not checked")
        self.assertEqual(result.code, code, result)
        found = list(parse(log, str(self.folder / "cwd")))
        self.assertGreater(len(found), 20, "strace showed nothing")
        return found

    def is_under(self, path, *names):
        return any(path == str(self.folder / name) or path.startswith(f"{self.folder / name}/")
                   for name in names)

    def test_capture(self):
        found = self.trace("capture", "-m", self.model, "--prompts", self.prompts, "-o",
                           self.folder / "out" / "run.h5", "--quiet")
        readable = SYSTEM + needed_folders()
        for opened in found:
            looks = opened.call in LOOKS
            if opened.writes:
                self.assertTrue(self.is_under(opened.path, "out", "cache"), opened)
            elif not looks and not self.is_under(opened.path, "model", "prompts.txt", "out", "cache"):
                self.assertTrue(opened.path.startswith(readable), opened)
            # Nothing is even looked for in the current folder or for temporary files.
            self.assertFalse(self.is_under(opened.path, "tmp") or
                             opened.path.startswith(f"{self.folder}/cwd/"), opened)
        # The check sees what it is about.
        for name in ("model/model.safetensors", "prompts.txt", "out/run.h5"):
            self.assertTrue(any(opened.path == str(self.folder / name) for opened in found), name)
        self.assertTrue(any(o.writes and self.is_under(o.path, "out") for o in found))
        self.assertEqual(sorted(p.name for p in (self.folder / "out").iterdir()),
                         ["run.h5", "run.json"])

    def test_hostile_index(self):
        weights = self.model / "model.safetensors"
        outside = self.folder / "outside.safetensors"
        weights.rename(outside)
        [length] = struct.unpack("<Q", outside.read_bytes()[:8])
        names = json.loads(outside.read_bytes()[8:8 + length])
        link = self.model / "link.safetensors"
        link.symlink_to(outside)
        for entry in ("../outside.safetensors", str(outside), "model/../../outside.safetensors",
                      "./../outside.safetensors", "link.safetensors", "/etc/passwd", "/dev/zero"):
            with self.subTest(entry):
                (self.model / "model.safetensors.index.json").write_text(
                    json.dumps({"weight_map": {name: entry for name in names}}))
                for verb in (["inspect", self.model],
                             ["capture", "-m", self.model, "--prompt", "x", "-o",
                              self.folder / "out" / "run.h5"]):
                    for opened in self.trace(*verb, code=2):
                        if opened.call in LOOKS:
                            continue
                        self.assertNotIn(opened.path, (str(outside), str(link), "/etc/passwd",
                                                       "/dev/zero"), verb)
        self.assertEqual(list((self.folder / "out").iterdir()), [])


if __name__ == "__main__":
    unittest.main()
