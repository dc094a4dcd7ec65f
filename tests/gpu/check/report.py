"""result.json and result.txt."""
import datetime
import json

import bench
from machine import output_of
from run import ROOT

RESULTS = ("result.json", "result.txt")


def commit():
    return output_of("git", "-C", str(ROOT), "describe", "--always", "--dirty=+", "--abbrev=12",
                     "--exclude=*") or "unknown"


def document(machine, steps, seconds):
    gpu = machine.gpu
    return {"schema": "attnscope-gpu-check/1",
            "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
            "device": gpu.name if gpu else None, "why_no_device": machine.why_no_gpu,
            "driver": gpu.driver if gpu else None, "cuda": machine.cuda_version,
            "torch": machine.torch.version if machine.torch else None,
            "compiler": machine.compiler_version, "cpu": machine.cpu, "cores": machine.cores,
            "commit": commit(), "seconds": round(seconds, 1), "steps": steps}


def brief(step):
    """What a line of the table says of a step."""
    if step["verdict"] != "passed":
        return step["reason"]
    details = step["details"]
    if step["name"] == "look":
        return f"{details['gpu']}; CUDA {details['cuda']}; LibTorch {details['torch']}"
    if "tests" in details:
        largest = ", ".join(f"{kind} {value:.1e}" for kind, value in details["largest"].items())
        return f"{details['tests']} tests; largest: {largest}" if largest else \
            f"{details['tests']} tests"
    if step["name"].startswith("dense"):
        return "; ".join(f"{name}: maps {of['pattern']:.1e}, statistics {of['statistics']:.1e}"
                         for name, of in details.items())
    if step["name"].startswith("capture"):
        return "; ".join(f"{name}: engine {of['engine']}, {of['bytes']} bytes"
                         for name, of in details.items())
    if step["name"] == "memory":
        return "exit 4 for " + ", ".join(details)
    if step["name"] == "benchmark":
        return f"{len(details['rows'])} rows" + (", cut short" if "cut" in details else "")
    return ", ".join(f"{name} {value}" for name, value in details.items()
                     if not isinstance(value, list))


def text(result):
    head = (f"attnscope {result['commit']} on {result['device'] or 'no GPU'}, {result['date']}, "
            f"driver {result['driver']}, CUDA {result['cuda']}, LibTorch {result['torch']}, "
            f"{result['cores']} cores of {result['cpu']}")
    lines = [head, "", f"{'step':<18} {'verdict':<8} {'s':>6}  what"]
    for step in result["steps"]:
        lines.append(f"{step['name']:<18} {step['verdict']:<8} {step['seconds']:>6.1f}  "
                     f"{brief(step)}")
    for step in result["steps"]:
        if step["name"] == "benchmark" and step["verdict"] == "passed":
            lines += bench.tables(step["details"]["rows"])
    verdicts = [step["verdict"] for step in result["steps"]]
    lines += ["", f"{verdicts.count('passed')} passed, {verdicts.count('failed')} failed, "
              f"{verdicts.count('skipped')} skipped, in {result['seconds']:.0f} s"]
    return "\n".join(lines) + "\n"


def write(folder, result):
    (folder / "result.json").write_text(json.dumps(result, indent=2) + "\n")
    (folder / "result.txt").write_text(text(result))
