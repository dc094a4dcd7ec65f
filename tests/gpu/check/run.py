"""What all steps share: verdicts, time, and running programs."""
import contextlib
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
FIXTURES = ROOT / "tests/fixtures"


class Skip(Exception):
    """The step cannot be done here; the reason."""


class Failed(Exception):
    """The step was done and does not hold; what is wrong."""


@dataclasses.dataclass
class Outcome:
    """Of a program."""
    code: int
    out: str
    err: str

    def last_lines(self, count=6):
        return "\n".join((self.out + self.err).strip().split("\n")[-count:])


@dataclasses.dataclass
class Context:
    """What steps get."""
    machine: object            # machine.Machine
    carry: pathlib.Path        # folder with carry.tar.gz
    out: pathlib.Path          # where results and logs go
    work: pathlib.Path         # where the build and all other files go
    deadline: float            # of the whole check, by time.monotonic()
    step_deadline: float = 0   # of the step that runs
    background: dict = dataclasses.field(default_factory=dict)  # by name, programs that run beside

    @property
    def build(self):
        return self.work / "build"

    @property
    def attnscope(self):
        return self.built("bin/attnscope")

    def built(self, name):
        path = self.build / name
        if not path.exists():
            raise Skip(f"{path.name} was not built")
        return path

    def need_gpu(self):
        if self.machine.gpu is None:
            raise Skip(self.machine.why_no_gpu)
        if not self.machine.torch.cuda:
            raise Skip("this LibTorch was built without CUDA")

    def seconds_left(self):
        return self.step_deadline - time.monotonic()

    def run(self, *command, env=None, log=None):
        """Runs a program until it ends or the step's time is up."""
        with started(*command, env=env) as process:
            return finish(process, self.seconds_left(), log and self.out / log)

    def capture(self, path, model, device, *options, env=None):
        """One capture; fails the step if it does not end with 0. Returns what it says of itself."""
        done = self.run(self.attnscope, "capture", "-m", model, "-o", path, "--json", "--quiet",
                        "--device", device, *options, env=env)
        if done.code != 0:
            raise Failed(f"capture on {device} ended with {done.code}: {done.err.strip()}")
        return json.loads(done.out)

    def verify(self, path):
        done = self.run(self.attnscope, "verify", path)
        if done.code != 0:
            raise Failed(f"verify of {path.name} ended with {done.code}: {done.last_lines()}")


@contextlib.contextmanager
def started(*command, env=None):
    """A program in a process group of its own, which does not outlive the block."""
    process = subprocess.Popen([os.fspath(c) if isinstance(c, os.PathLike) else str(c)
                                for c in command],
                               env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               errors="replace", start_new_session=True)
    try:
        yield process
    finally:
        kill(process)


def kill(process):
    """The program and its children, unless it has ended."""
    if process.poll() is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def finish(process, seconds, log=None):
    try:
        out, err = process.communicate(timeout=max(0.1, seconds))
    except subprocess.TimeoutExpired:
        kill(process)
        out, err = process.communicate()
        if log:
            log.write_text(out + err)
        raise Failed(f"took longer than its {seconds:.0f} s") from None
    if log:
        log.write_text(out + err)
    return Outcome(process.returncode, out, err)
