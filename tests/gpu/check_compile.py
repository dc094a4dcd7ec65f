#!/usr/bin/env python3
"""Compile the CUDA kernels for every architecture they are for, and fail on a warning or a spill.

    check_compile.py [--build DIR] [--no-run]

Also builds the program of this folder, and runs it where a device answers (unless --no-run);
elsewhere it says why not. The compiler is the machine's nvcc; where there is none, that of NVIDIA's wheels is installed
into the virtual environment that this Python belongs to (about 300 MB).
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNELS = sorted((ROOT / "src/kernels").glob("*.cu"))
ARCHITECTURES = ["80", "90"]
# C++17: what CMake 3.25 can ask of nvcc.
DEVICE_FLAGS = ["-std=c++17", "-O3", "-Xptxas=-v,-warn-spills", "-Xcompiler=-Wall,-Wextra"]
HOST_FLAGS = ["-std=c++20", "-O2",
              "-Xcompiler=-Wall,-Wextra,-fopenmp-simd,-Wno-missing-field-initializers"]
INCLUDES = [f"-I{ROOT / folder}" for folder in ("include", "src/kernels", "tests/kernels")]
# What the program needs of the host's side; it links no library but the CUDA runtime.
LIBRARY = [path for path in sorted((ROOT / "src/kernels").glob("*.cpp"))
           if path.name != "no_cuda.cpp"] + [ROOT / "src/support/error.cpp"]
PROGRAM = [ROOT / "tests/gpu/statistics_on_device.cpp"] + [
    ROOT / "tests/kernels" / name
    for name in ("brute_force.cpp", "cuda_cases.cpp", "cuda_emulation.cpp")]
# The versions of CUDA 13.0, the oldest toolkit 13.
WHEELS = ["nvidia-cuda-nvcc==13.0.88", "nvidia-nvvm==13.0.88", "nvidia-cuda-crt==13.0.88",
          "nvidia-cuda-runtime==13.0.96", "nvidia-cuda-cccl==13.0.85"]


def wheel_toolkit():
    return pathlib.Path(sysconfig.get_paths()["purelib"]) / "nvidia/cu13"


def find_nvcc():
    """The compiler and the flags that its toolkit needs."""
    found = shutil.which("nvcc")
    if found:
        return [found]
    toolkit = wheel_toolkit()
    if not (toolkit / "bin/nvcc").exists():
        if sys.prefix == sys.base_prefix:
            sys.exit("no nvcc: install CUDA 13, or run this with the Python of a virtual environment")
        print("Installing NVIDIA's compiler into", sys.prefix, flush=True)
        subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "install",
                        *WHEELS], check=True)
    return [str(toolkit / "bin/nvcc"), f"-L{toolkit / 'lib'}"]


def compile_file(nvcc, flags, source, output):
    """Compiles one file and returns what the compiler said; ends the check if it complained."""
    done = subprocess.run([*nvcc, *flags, *INCLUDES, "-c", str(source), "-o", str(output)],
                          capture_output=True, text=True)
    said = done.stdout + done.stderr
    if done.returncode != 0 or re.search(r"\bwarning\b", said):
        print(said)
        sys.exit(f"{source.relative_to(ROOT)}: does not compile without a warning")
    return said


def kernel_name(mangled):
    demangled = subprocess.run(["c++filt", mangled], capture_output=True, text=True).stdout.strip()
    name = re.sub(r"attnscope::|cuda::|\(anonymous namespace\)::|void |\(.*\)$", "", demangled)
    return name.strip()


def check_resources(said, architecture):
    """Prints registers, and ends the check if a kernel spills or needs a stack."""
    entries = re.findall(r"Function properties for (\S+)\s+(\d+) bytes stack frame, "
                         r"(\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers",
                         said, flags=re.S)
    if not entries:
        print(said)
        sys.exit("no kernel was compiled")
    for name, stack, stores, loads, registers in entries:
        print(f"sm_{architecture} {kernel_name(name)}: {registers} registers, {stack} bytes of "
              f"stack, {int(stores) + int(loads)} of spills")
        if (stack, stores, loads) != ("0", "0", "0"):
            sys.exit("a kernel spills its registers")


def side_by_side(function, items):
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(function, items))


def build_program(nvcc, folder):
    code = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in ARCHITECTURES]
    library = folder / "libkernels.a"
    library.unlink(missing_ok=True)
    jobs = [(flags, source, folder / (source.name + ".o"))
            for flags, sources in (([*DEVICE_FLAGS, *code], KERNELS), (HOST_FLAGS, LIBRARY),
                                   (HOST_FLAGS, PROGRAM))
            for source in sources]
    side_by_side(lambda job: compile_file(nvcc, *job), jobs)
    members = [output for _, source, output in jobs if source not in PROGRAM]
    objects = [output for _, source, output in jobs if source in PROGRAM]
    program = folder / "statistics_on_device"
    subprocess.run(["ar", "rcs", str(library), *map(str, members)], check=True)
    subprocess.run([*nvcc, *code, *map(str, objects), str(library), "-o", str(program)], check=True)
    return program


def why_no_device():
    """Empty if there seems to be a device."""
    if os.path.exists("/dev/nvidia0") or os.path.exists("/dev/dxg"):
        return ""
    return "this machine has no NVIDIA device (/dev/nvidia0)"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=str(ROOT / "build/gpu"))
    parser.add_argument("--no-run", action="store_true")
    options = parser.parse_args()
    folder = pathlib.Path(options.build)
    folder.mkdir(parents=True, exist_ok=True)
    nvcc = find_nvcc()
    pairs = [(architecture, source) for architecture in ARCHITECTURES for source in KERNELS]
    said = side_by_side(
        lambda pair: compile_file(nvcc, [*DEVICE_FLAGS, f"-arch=sm_{pair[0]}"], pair[1],
                                  folder / f"{pair[1].stem}.sm_{pair[0]}.o"), pairs)
    for (architecture, _), text in zip(pairs, said):
        check_resources(text, architecture)
    program = build_program(nvcc, folder)
    print("built", program)
    if options.no_run:
        return 0
    reason = why_no_device()
    if reason:
        print(f"device tests: skipped, {reason}")
        return 0
    return subprocess.run([str(program)]).returncode


if __name__ == "__main__":
    sys.exit(main())
