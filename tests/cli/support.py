"""What the tests of the command share: running it, fixtures, captures made once a process."""
import atexit
import functools
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

BIN = pathlib.Path(os.environ["ATTNSCOPE_BIN"])
SOURCE = pathlib.Path(os.environ["ATTNSCOPE_SOURCE"])
FIXTURES = SOURCE / "tests" / "fixtures"
ATTNSCOPE = BIN / "attnscope"
RUNNER = BIN / "attnscope-run"
MODEL = FIXTURES / "models" / "tiny-random-gpt2"

VERBS = ["demo", "doctor", "inspect", "tokenize", "capture", "ablate", "patch", "verdict", "lens",
         "stats", "view", "show", "export", "verify", "merge", "diff"]
ERROR_LINE = re.compile(r"^attnscope: error \[[A-Z][A-Z0-9][0-9]{2}\] .+\n$")


class Result:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout.decode("utf-8")
        self.err = process.stderr.decode("utf-8")

    def __repr__(self):
        return f"exit {self.code}\n--- standard output\n{self.out}\n--- standard error\n{self.err}"


def run(*arguments, cwd=None, env=None, timeout=120):
    """Runs attnscope with `arguments` (str, bytes or paths); `env` is added to the environment."""
    command = [os.fsencode(ATTNSCOPE)] + [os.fsencode(a) for a in arguments]
    environment = dict(os.environ)
    for name in ("NO_COLOR", "CLICOLOR_FORCE", "COLUMNS"):
        environment.pop(name, None)
    environment.update(env or {})
    return Result(subprocess.run(command, cwd=cwd, env=environment, timeout=timeout,
                                 stdin=subprocess.DEVNULL, capture_output=True, check=False))


@functools.cache
def scratch():
    folder = tempfile.mkdtemp(prefix="attnscope-cli-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return pathlib.Path(folder)


@functools.cache
def captured(name, *options):
    """A capture of the small model with `options`, made once; `name` names the file."""
    path = scratch() / f"{name}.h5"
    result = run("capture", "-m", MODEL, "-o", path, "--quiet", *options)
    assert result.code == 0, result
    return path


def text_capture():
    return captured("text", "--prompt", "Once upon a time", "--hooks", "pattern,attn_scores,z")


def pairs_text():
    """Pairs for MODEL that align, of words that are one token each, in groups of two, of which no
    two groups hold the same."""
    words = ["on", "the", "and", "to", "a"]
    lines = []
    for number in range(48):
        order = sorted(range(5), key=lambda w: ((number + 1) * (w + 3) * 7 + w * w) % 41)
        a, b, c, d, e = (words[w] for w in order)
        lines.append(json.dumps({"clean": f"the {a} {b} {c} {a}", "corrupt": f"the {b} {a} {c} {a}",
                                 "answer": f" {d}", "wrong": f" {e}", "group": f"g{number // 2}",
                                 "source": c}))
    return "\n".join(lines) + "\n"


@functools.cache
def pairs_file():
    path = scratch() / "pairs.jsonl"
    path.write_text(pairs_text())
    return path


def kept_shards(out):
    """How many finished shards lie beside the file that a run would have written."""
    return len(list(pathlib.Path(f"{out}.parts").glob("*.h5")))


def stop_once_it_keeps_shards(arguments, out, number, shards=0):
    """Runs attnscope with `arguments` and `-o out`, sends the signal when OUT.parts is there and
    holds so many, and returns the exit status (0: it was done before) and what it wrote to
    stderr."""
    process = subprocess.Popen([ATTNSCOPE, *map(str, arguments), "-o", out],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    parts = pathlib.Path(f"{out}.parts")
    end = time.monotonic() + 60
    while ((not parts.exists() or kept_shards(out) < shards) and process.poll() is None
           and time.monotonic() < end):
        time.sleep(0.01)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    return process.returncode, err


def stop_at_once(arguments, number):
    """Runs attnscope with `arguments` and sends the signal as soon as it would not be killed by it."""
    process = subprocess.Popen([ATTNSCOPE, *map(str, arguments)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
        caught = re.search(r"^SigCgt:\s*(\w+)", status, re.M)
        if caught and int(caught[1], 16) >> (number - 1) & 1:
            break
        time.sleep(0.01)
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    return process.returncode, err


def start_view(*arguments, cwd=None, preexec_fn=None):
    """Starts `attnscope view` with `arguments`; the process and the address that it prints."""
    process = subprocess.Popen([ATTNSCOPE, "view", *map(str, arguments)], cwd=cwd,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, bufsize=0, preexec_fn=preexec_fn)
    for line in process.stdout:
        found = re.search(rb"http://\S+", line)
        if found:
            return process, found[0].decode()
    raise AssertionError(process.communicate(timeout=10)[1])


@functools.cache
def has_viewer():
    """False if this attnscope was built without the page of the viewer."""
    result = run("view", text_capture(), "--html", scratch() / "viewer.html")
    assert result.code == 0 or "built without the page" in result.err, result
    return result.code == 0


def stop_server(process, _address, number=signal.SIGTERM):
    """Ends it as a user does; what it wrote to standard error."""
    process.send_signal(number)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 0, err
    return err.decode()


def headless_model(folder):
    """A small encoder without a head, as sentence encoders are."""
    source = FIXTURES / "families" / "bert"
    model = folder / "headless"
    shutil.copytree(source, model)
    config = json.loads((model / "config.json").read_text())
    config["architectures"] = ["BertModel"]
    (model / "config.json").write_text(json.dumps(config))
    return model


OPTION_LINE = re.compile(r"^  (?:-\w,)?(--[a-z0-9-]+)(?: (\S+))?", re.M)


@functools.cache
def help_of(verb):
    return run(verb, "--help").out


def options_of(verb):
    """Long name → what its value is called ("" for a flag), as the help says."""
    # A flag's name is followed by the column of spaces before its text.
    return {name: value or "" for name, value in OPTION_LINE.findall(help_of(verb))}


class CliTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=scratch()))

    def assert_ok(self, result):
        self.assertEqual(result.code, 0, result)
        return result

    def assert_error(self, result, code, *parts):
        """The exit code, one line on standard error, and each of `parts` in it."""
        self.assertEqual(result.code, code, result)
        self.assertRegex(result.err, ERROR_LINE, result)
        for part in parts:
            self.assertIn(part, result.err, result)
        return result
