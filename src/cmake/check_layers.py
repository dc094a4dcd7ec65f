#!/usr/bin/env python3
"""Check the layering: which module may include which, and that no file outgrows its limit.

    check_layers.py [ROOT]

Rules: an include of "attnscope/<module>/..." must be allowed by ALLOWED (arrows are transitive);
modules above the LibTorch line include no ATen, c10 or torch header; torch/torch.h and
torch/script.h are banned everywhere; a family's name appears in its own file only; source files
have at most MAX_LINES lines.
"""
import pathlib
import re
import sys

MAX_LINES = 600
DIRECT = {
    "support": [],
    "stats": ["support"],
    "sites": ["support"],
    "kernels": ["support"],
    "checkpoint": ["support", "sites", "kernels"],
    "tokenizer": ["support"],
    "data": ["support", "sites", "tokenizer"],
    "storage": ["support", "sites"],
    "render": ["support", "storage"],
    "spec": ["support", "sites", "data"],
    "serve": ["support"],
    "core": ["kernels", "sites"],
    "model": ["core", "checkpoint"],
    "capture": ["core", "model", "storage", "data", "spec"],
    "probes": ["capture", "render", "stats"],
}
NO_TORCH = {"support", "stats", "sites", "kernels", "checkpoint", "tokenizer", "data", "storage",
            "render", "spec", "serve"}
FAMILIES = ["gpt2", "gpt_neox", "gptneox", "llama", "mistral", "qwen2", "qwen3", "gemma2", "roberta",
            "distilbert", "albert"]
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')


def closure():
    allowed = {}
    for module, direct in DIRECT.items():
        seen, todo = set(), list(direct)
        while todo:
            m = todo.pop()
            if m not in seen:
                seen.add(m)
                todo += DIRECT[m]
        allowed[module] = seen | {module}
    return allowed


def module_of(path):
    parts = path.parts
    if parts[0] == "include" and len(parts) > 3:
        return parts[2]
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    return parts[0] if parts[0] in ("probes", "cli", "tests") else None


def strip_comments(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def check(root):
    allowed = closure()
    problems = []
    files = [p for top in ("include", "src", "probes", "cli", "tests")
             for p in (root / top).rglob("*") if p.suffix in (".h", ".cpp", ".cu", ".py")]
    for path in sorted(files):
        rel = path.relative_to(root)
        text = path.read_text(encoding="utf-8")
        lines = text.splitlines()
        if len(lines) > MAX_LINES:
            problems.append(f"{rel}: {len(lines)} lines, at most {MAX_LINES}")
        if path.suffix == ".py":
            continue
        module = module_of(rel)
        for number, line in enumerate(lines, 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            header = found.group(1)
            if header in ("torch/torch.h", "torch/script.h"):
                problems.append(f"{rel}:{number}: {header} is banned, include ATen headers")
            if module in NO_TORCH and re.match(r"(ATen|c10|torch)/", header):
                problems.append(f"{rel}:{number}: module {module} must not include {header}")
            parts = header.split("/")
            if parts[0] == "attnscope" and len(parts) > 2 and module in allowed:
                if parts[1] not in allowed[module]:
                    problems.append(f"{rel}:{number}: module {module} must not include {header}")
        if module not in ("tests", None) and "families" not in rel.parts:
            code = strip_comments(text).lower()
            for family in FAMILIES:
                if re.search(rf"\b{family}\b", code):
                    problems.append(f"{rel}: names the family {family}, which belongs in its own "
                                    "file under src/checkpoint/families")
    return problems


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                        pathlib.Path(__file__).resolve().parents[2])
    problems = check(root)
    for problem in problems:
        print(problem)
    print(f"layers: {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
