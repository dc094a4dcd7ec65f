"""Steps that build."""
import os
import pathlib
import threading
import time

from machine import missing, unpack
from run import ROOT, Failed, Skip, finish, started

TARGETS = ["attnscope", "attnscope-run", "parity_tests", "device_times"]
ARCHITECTURE_WITHOUT_GPU = "90"


def look(context):
    """What the machine has; everything else needs it."""
    machine = context.machine
    details = {"compiler": f"{machine.compiler} {machine.compiler_version}",
               "cuda": machine.cuda_version or "none",
               "torch": f"{machine.torch.version}, {machine.torch.folder}" if machine.torch
                        else "none",
               "gpu": machine.gpu.name if machine.gpu else machine.why_no_gpu}
    lacks = missing(machine)
    if lacks:
        raise Failed("missing: " + "; ".join(lacks))
    contents = unpack(context.carry, context.work / "carry")
    details["carried"] = contents or "nothing: the system's packages are used"
    start_kernels(context)
    return details


def start_kernels(context):
    """The kernels alone are compiled beside the program: they need no library."""
    def work():
        with started("python3", "-B", ROOT / "tests/gpu/check_compile.py", "--no-run", "--build",
                     context.work / "kernels", env=compiler_environment(context)) as process:
            context.background["kernels process"] = process
            context.background["kernels"] = finish(process, context.deadline - time.monotonic(),
                                                   context.out / "kernels.log")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    context.background["kernels thread"] = thread


def compiler_environment(context):
    """PATH with the carried tools first, and nvcc."""
    folders = [str(context.work / "carry/bin"), str(pathlib.Path(context.machine.nvcc).parent)]
    return {"PATH": os.pathsep.join([*folders, os.environ["PATH"]])}


def configure(context):
    machine = context.machine
    architecture = machine.gpu.architecture if machine.gpu else ARCHITECTURE_WITHOUT_GPU
    options = {"CMAKE_BUILD_TYPE": "Release", "ATTNSCOPE_CUDA": "ON",
               "CMAKE_CUDA_ARCHITECTURES": architecture, "ATTNSCOPE_TORCH": machine.torch.folder,
               "CMAKE_CUDA_COMPILER": machine.nvcc,
               # A compiler of another year may know more warnings.
               "ATTNSCOPE_WERROR": "OFF",
               # The carried packages before what a system has.
               "CMAKE_FIND_PACKAGE_PREFER_CONFIG": "ON",
               "CMAKE_PREFIX_PATH": context.work / "carry"}
    done = context.run("cmake", "-S", ROOT, "-B", context.build, "-G", "Ninja",
                       *(f"-D{name}={value}" for name, value in options.items()),
                       env=compiler_environment(context), log="configure.log")
    if done.code != 0:
        raise Failed(f"CMake ended with {done.code}: {done.last_lines()}")


def build(context):
    """The program, the parity tests and the benchmark, Release, for the GPU that is there."""
    if context.machine.torch is None or not context.machine.nvcc:
        raise Skip("no LibTorch or no nvcc")
    configure(context)
    jobs = context.machine.cores
    done = context.run("cmake", "--build", context.build, "-j", jobs, "--target", *TARGETS, "--",
                       "-k", "0", env=compiler_environment(context), log="build.log")
    if done.code != 0:
        lines = [line for line in done.out.splitlines() if "error" in line or "FAILED" in line]
        raise Failed("; ".join(lines[:4]) or done.last_lines())
    warnings = sum("warning:" in line for line in done.out.splitlines())
    return {"jobs": jobs, "warnings": warnings}


def kernels(context):
    """The kernels by themselves compile for 80 and 90 without a spill."""
    thread = context.background.get("kernels thread")
    if thread is None:
        raise Skip("no compiler or no nvcc")
    thread.join(max(0.1, context.seconds_left()))
    done = context.background.get("kernels")
    if done is None:
        raise Failed("did not end in time; see kernels.log")
    if done.code != 0:
        raise Failed(done.last_lines())
    return {"registers": [line for line in done.out.splitlines() if "registers" in line]}
