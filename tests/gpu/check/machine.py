"""What the machine has: compiler, CUDA, LibTorch, GPU, and the tools that were carried."""
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile


OLDEST_TORCH = (2, 11)


def output_of(*command):
    """Standard output, empty if the program is missing or fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


@dataclasses.dataclass
class Gpu:
    name: str
    driver: str
    memory_bytes: int
    architecture: str  # as in 90


def find_gpu():
    """The first GPU, or the reason why there is none."""
    line = output_of("nvidia-smi", "--query-gpu=name,driver_version,memory.total,compute_cap",
                     "--format=csv,noheader,nounits").split("\n")[0]
    fields = [field.strip() for field in line.split(",")]
    if len(fields) == 4:
        return Gpu(fields[0], fields[1], int(fields[2]) << 20, fields[3].replace(".", "")), ""
    if shutil.which("nvidia-smi") is None:
        return None, "no GPU (there is no nvidia-smi)"
    return None, "no GPU (nvidia-smi lists none)"


@dataclasses.dataclass
class Torch:
    folder: pathlib.Path
    version: str
    cuda: bool


def find_torch(given):
    folder = given or os.environ.get("ATTNSCOPE_TORCH", "")
    if not folder:
        folder = output_of("python3", "-c", "import importlib.util as u, os; "
                           "print(os.path.dirname(u.find_spec('torch').origin))")
    path = pathlib.Path(folder) if folder else None
    if path is None or not (path / "lib/libtorch_cpu.so").exists():
        return None
    version = "unknown"
    for name in ("version.py", "../build-version", "build-version"):
        if (path / name).exists():
            text = (path / name).read_text()
            version = (re.search(r"\d+\.\d+\.\d+[\w.+]*", text) or [version])[0]
            break
    return Torch(path, version, (path / "lib/libtorch_cuda.so").exists())


def find_nvcc():
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH") or "/usr/local/cuda"
    return shutil.which("nvcc") or shutil.which("nvcc", path=f"{home}/bin")


@dataclasses.dataclass
class Machine:
    compiler: str
    compiler_version: str
    nvcc: str
    cuda_version: str
    torch: Torch
    gpu: Gpu
    why_no_gpu: str
    cores: int
    cpu: str


def cpu_name():
    try:
        text = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        return "unknown"
    return (re.search(r"model name\s*: (.*)", text) or ["", "unknown"])[1]


def look(torch_folder):
    compiler = shutil.which(os.environ.get("CXX", "g++")) or shutil.which("c++") or ""
    nvcc = find_nvcc() or ""
    gpu, why = find_gpu()
    cuda = re.search(r"release (\S+),", output_of(nvcc, "--version")) if nvcc else None
    return Machine(compiler, output_of(compiler, "-dumpfullversion") if compiler else "", nvcc,
                   cuda[1] if cuda else "", find_torch(torch_folder), gpu, why,
                   len(os.sched_getaffinity(0)), cpu_name())


def older(version, than):
    """Whether a version is known and older; 2.9 is older than 2.11."""
    numbers = tuple(map(int, re.findall(r"\d+", version)[:2]))
    return len(numbers) == 2 and numbers < than


def missing(machine):
    """What a build cannot do without, in words."""
    lacks = []
    if not machine.compiler:
        lacks.append("a C++20 compiler (g++, or name one in CXX)")
    if not machine.nvcc:
        lacks.append("nvcc of CUDA 13 (put it on PATH, or set CUDA_HOME)")
    if machine.torch is None:
        lacks.append("LibTorch 2.11 or later (a python3 that has torch, or --torch DIR with "
                     "include/ and lib/)")
    elif older(machine.torch.version, OLDEST_TORCH):
        lacks.append(f"LibTorch 2.11 or later (this one is {machine.torch.version})")
    return lacks


def unpack(carry, folder):
    """Unpacks the archive of bundle.py; returns its list of contents, none without it."""
    archive = carry / "carry.tar.gz"
    if not archive.exists():
        return []
    contents = folder / "contents.txt"
    if not contents.exists() or contents.stat().st_mtime < archive.stat().st_mtime:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with tarfile.open(archive) as files:
            if sys.version_info >= (3, 12):
                files.extractall(folder, filter="data")
            else:
                files.extractall(folder)
        os.utime(contents)
    return contents.read_text().splitlines()
