"""Steps that run the parity tests: every family against its oracle."""
import json
import re

from run import Failed


def run_tests(context, name, pattern, device):
    """Runs the tests of a pattern; fails the step with the names of those that fail."""
    report = context.out / f"{name}.json"
    done = context.run(context.built("tests/parity/parity_tests"), f"--gtest_filter={pattern}",
                       f"--gtest_output=json:{report}",
                       env={"ATTNSCOPE_TEST_DEVICE": device, "OMP_NUM_THREADS": "2"},
                       log=f"{name}.log")
    if not report.exists():
        raise Failed(f"ended with {done.code} before its report: {done.last_lines()}")
    tests = [test for suite in json.loads(report.read_text())["testsuites"]
             for test in suite["testsuite"]]
    failed = [f"{test['classname']}.{test['name']}" for test in tests if test.get("failures")]
    skipped = [test["name"] for test in tests if test["result"] == "SKIPPED"]
    details = {"tests": len(tests), "failed": failed, "skipped": len(skipped),
               "largest": largest_differences(done.out)}
    if failed or not tests:
        raise Failed(f"{len(failed)} of {len(tests)} tests fail: {', '.join(failed[:8])}")
    return details


def largest_differences(text):
    """By kind of array, over all families, of the lines that device_parity_test.cpp prints."""
    largest = {}
    for kind, value in re.findall(r"(?:, |: )([a-z_ ]+) (\d\.\de[+-]\d\d)", text):
        largest[kind.strip()] = max(largest.get(kind.strip(), 0.0), float(value))
    return largest


def on_cpu(context):
    """Every family in float32, float64, bfloat16 and float16 on the CPU, with this LibTorch."""
    return run_tests(context, "parity-cpu", "*FamilyParity*:*LowPrecision*-*RealModel*:*DeviceParity*",
                     "cpu")


def on_device(context):
    """Every family on the GPU against the oracles: float32 (no TF32), float64, bfloat16, float16."""
    context.need_gpu()
    return run_tests(context, "parity-device", "*DeviceParity*", "cuda")


def statistics(context):
    """Statistics and maps of single heads on the GPU against float64 on the CPU; again for bits."""
    context.need_gpu()
    return run_tests(context, "statistics-device", "*DeviceStatistics*", "cuda")


def kernels(context):
    """The kernels by themselves on the GPU, against dense loops in double; again for bits."""
    context.need_gpu()
    program = context.work / "kernels/statistics_on_device"
    done = context.run(program, log="kernels-device.log")
    if done.code != 0:
        bad = [line for line in done.out.splitlines() if line.startswith("FAIL")]
        raise Failed("; ".join(bad[:4]) or done.last_lines())
    return {"layers": sum(line.startswith("ok") for line in done.out.splitlines()),
            "times": [line for line in done.out.splitlines() if line.startswith("time")]}
