#!/usr/bin/env python3
"""Compiles the CUDA kernels for sm_80 and sm_90a, their host code aside, and compares what each kernel takes with the recorded table. Needs nvcc, no GPU.

usage: cuda_resources.py NVCC TABLE SOURCE...        compare
       cuda_resources.py --write NVCC TABLE SOURCE...  record anew
No kernel may spill or keep a stack frame. Registers and shared memory are compared where the compiler is the one that the table was made with.
"""
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TARGETS = ["arch=compute_80,code=sm_80", "arch=compute_90a,code=sm_90a"]
ROOT = Path(__file__).resolve().parents[2]
HEAD = "# What each kernel takes: architecture, kernel, registers, bytes of static shared memory. Made by tests/kernels/cuda_resources.py --write with "


def compiled(nvcc, source):
    """ptxas's words on every kernel of a source."""
    with tempfile.TemporaryDirectory() as folder:
        targets = [word for target in TARGETS for word in ("-gencode", target)]
        command = [nvcc, "-std=c++20", "-O3", "--fmad=false", f"-I{ROOT}", *targets, "-Xptxas", "-v", "-fatbin", source, "-o", f"{folder}/kernels.fatbin"]
        made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        sys.exit(f"{source} does not compile:\n{made.stderr}")
    return made.stderr


def readable(names):
    """Kernels' names without namespaces and parameters."""
    plain = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True).stdout.splitlines()
    return [re.sub(r"\(anonymous namespace\)::|^void |\((?!anonymous).*$|rollcall::kernels::cuda::", "", name.replace("(int)", "")) for name in plain]


def usages(text):
    """(architecture, mangled kernel) -> (registers, shared bytes, spilled or stacked bytes)."""
    found = {}
    for part in text.split("Compiling entry function")[1:]:
        name, architecture = re.match(r" '(\w+)' for '(\w+)'", part).groups()
        spilled = sum(int(n) for n in re.findall(r"(\d+) bytes (?:stack frame|spill stores|spill loads)", part))
        shared = re.search(r"(\d+) bytes smem", part)
        found[architecture, name] = (int(re.search(r"Used (\d+) registers", part).group(1)), int(shared.group(1)) if shared else 0, spilled)
    return found


def main(arguments):
    write = arguments[:1] == ["--write"]
    if write:
        arguments = arguments[1:]
    if len(arguments) < 3:
        sys.exit(__doc__)
    nvcc, table, *sources = arguments
    version = re.search(r"release ([\d.]+), V([\d.]+)", subprocess.run([nvcc, "--version"], capture_output=True, text=True, check=True).stdout).group(2)
    with ThreadPoolExecutor(2) as pool:
        found = usages("\n".join(pool.map(lambda source: compiled(nvcc, source), sources)))
    if not found:
        sys.exit("no kernel was found in what the compiler said; has its output changed?")
    keys = list(found)
    lines, problems = [], []
    for (architecture, _), name, (registers, shared, spilled) in zip(keys, readable([k for _, k in keys]), found.values()):
        lines.append(f"{architecture} {name} {registers} {shared}")
        if spilled:
            problems.append(f"{name} spills or keeps a stack frame on {architecture} ({spilled} bytes); give its threads less to hold")
    text = "\n".join([HEAD + f"nvcc {version}.", *sorted(lines), ""])
    if write:
        Path(table).write_text(text)
    recorded = Path(table).read_text()
    if recorded.splitlines()[0] == text.splitlines()[0]:
        now, before = set(lines), set(recorded.splitlines()[1:])
        problems += [f"not in {table}: {line}" for line in sorted(now - before)] + [f"in {table} only: {line}" for line in sorted(before - now)]
    else:
        print(f"the table was made with another nvcc than {version}: registers are not compared")
    for problem in problems:
        print(problem)
    print(f"cuda_resources: {len(lines)} kernels, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
