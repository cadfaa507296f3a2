#!/usr/bin/env python3
"""Leaves bound checks of the CUDA kernels out, one by one, and expects the emulated device to notice each: a report, or another result.

usage: bound_checks.py [--build BUILD [--only N]]
Without --build: only that each check of the table is still in the sources, once. With it: each mutated file is compiled with the commands of that build tree and
bound_probe runs with it (12 s a check on one core). Exit code: 0 all noticed, 1 not.
"""
import argparse
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
KERNELS = ROOT / "kernels" / "cuda"

# File, the check, what stands there without it. The text is found once in its file.
CHECKS = [
    ("product", "if (i >= begin && i < end && i * kLines < rows) copy_async(", "if (i >= begin && i < end) copy_async("),
    ("product", "if (j == 0 && copied + chunk >= inputs) weights.rows = tokens.rows = 0;", ""),
    ("product", "if (!whole && j * kAtATime >= left) continue;", ""),
    ("product", "bias != nullptr && of < f.w.count ? bias[of]", "bias != nullptr ? bias[of]"),
    ("product", "if (n < p.x.count && of < f.w.count) y[at]", "if (of < f.w.count) y[at]"),
    ("product", "if (n < p.x.count && of < f.w.count) y[at]", "if (n < p.x.count) y[at]"),
    ("product", "s < slices ? part[s * count + at] : 0.0F", "part[s * count + at]"),
    ("product", "const std::int64_t at = element();\n  if (at >= count) return;\n  float sum[8];", "const std::int64_t at = element();\n  float sum[8];"),
    ("product", "packed_bf16(j < k ? x[row * k + j] : 0.0F, j + 1 < k ? x[row * k + j + 1] : 0.0F)", "packed_bf16(x[row * k + j], x[row * k + j + 1])"),
    ("product", "const std::int64_t at = element();\n  if (at >= count) return;\n  const std::int64_t row = at / (stride / 2)",
     "const std::int64_t at = element();\n  const std::int64_t row = at / (stride / 2)"),
    ("product", "= row + i < n && first + column < k ?", "= first + column < k ?"),
    ("product", "= row + i < n && first + column < k ?", "= row + i < n ?"),
    ("product", "if (first + i < k) to[", "to["),
    ("attention", "page + (slot < seen ? (kKeys + slot) * a.width + c : 0), slot < seen);", "page + (kKeys + slot) * a.width + c, true);"),
    ("attention", "packed_bf16(query < count && c < d ? q[0] : 0.0F, query < count && c + 1 < d ? q[1] : 0.0F)", "packed_bf16(c < d ? q[0] : 0.0F, c + 1 < d ? q[1] : 0.0F)"),
    ("attention", "packed_bf16(query < count && c < d ? q[0] : 0.0F, query < count && c + 1 < d ? q[1] : 0.0F)", "packed_bf16(query < count ? q[0] : 0.0F, query < count ? q[1] : 0.0F)"),
    ("attention", "if (p + 1 < pages) load_page", "load_page"),
    ("attention", "if (query + i % 2 < count && c < a.shape.head_dim)", "if (c < a.shape.head_dim)"),
    ("attention", "if (query + i % 2 < count && c < a.shape.head_dim)", "if (query + i % 2 < count)"),
    ("attention", "if (lane / 4 % 2 == 0 && query + i % 2 < count && c < a.shape.head_dim) a.rounded", "if (lane / 4 % 2 == 0 && c < a.shape.head_dim) a.rounded"),
    ("attention", "if (lane / 4 % 2 == 0 && query + i % 2 < count && c < a.shape.head_dim) a.rounded", "if (lane / 4 % 2 == 0 && query + i % 2 < count) a.rounded"),
    ("attention_backward", "from + ((at < 0 ? 0 : at) * heads + head) * a.width + c, at >= 0);", "from + (at * heads + head) * a.width + c, true);"),
    ("attention_backward", "first + i < of.rows ? of.begin + first + i : -1", "of.begin + first + i"),
    ("attention_backward", "return p < of.before + of.rows ? of.begin + p - of.before : -1;", "return of.begin + p - of.before;"),
    ("attention_backward", "return query < of.rows && key <= of.before + query;", "return key <= of.before + query;"),
    ("attention_backward", "if (at >= 0 && c < a.shape.head_dim) to[", "if (c < a.shape.head_dim) to["),
    ("attention_backward", "if (at >= 0 && c < a.shape.head_dim) to[", "if (at >= 0) to["),
    ("attention_backward", "if (query >= 0 && part == 0 && threadIdx.x % 4 == 0)", "if (part == 0 && threadIdx.x % 4 == 0)"),
    ("attention_backward", "packed_bf16(c < d ? x[head + c] : 0.0F, c + 1 < d ? x[head + c + 1] : 0.0F)", "packed_bf16(x[head + c], x[head + c + 1])"),
    ("attention_backward", "if (at >= count) return;", ""),
    ("parameters", "if (const std::int64_t i = begin + j * kBlock; i < count) {", "if (const std::int64_t i = begin + j * kBlock; true) {"),
    ("parameters", "const std::int64_t i = element();\n  if (i >= count) return;\n  constexpr", "const std::int64_t i = element();\n  constexpr"),
    ("parameters", "j < columns ? stepped_weight(a, step, row * columns + j) : 0.0F", "stepped_weight(a, step, row * columns + j)"),
    ("parameters", "j + 1 < columns ? stepped_weight(a, step, row * columns + j + 1) : 0.0F", "stepped_weight(a, step, row * columns + j + 1)"),
    ("parameters", "i < count ? place_and_bits(first + i, values[i]) : 0", "place_and_bits(first + i, values[i])"),
    ("rows", "if (j >= d) return;\n  float sum = 0.0F;", "float sum = 0.0F;"),
    ("rows", "if (j >= d) return;\n  float sum = dweight[j];", "float sum = dweight[j];"),
    ("rows", "if (j >= width) return;", ""),
    ("rows", "if (j + 1 < d) y[row + j + 1] = high;", "y[row + j + 1] = high;"),
    ("rows", "j + 1 < d ? x[row + j + 1] * r * weight[j + 1] : 0.0F", "x[row + j + 1] * r * weight[j + 1]"),
    ("rows", "if (at >= count) return;\n  const std::int64_t row = at / (stride / 2)", "const std::int64_t row = at / (stride / 2)"),
    ("rows", "if (j + 1 < f) y[i + 1] = high;", "y[i + 1] = high;"),
    ("token_columns", "target[i] < 0 ? 0.0F : ", ""),
]


def mutated(check):
    name, old, new = check
    text = (KERNELS / f"{name}.cu").read_text(encoding="utf-8")
    # However clang-format breaks it into lines.
    tokens = re.findall(r"\w+|\s+|[^\w\s]", old)
    spelled = re.compile(r"\s*".join(r"\s" if token.isspace() else re.escape(token) for token in tokens))
    return (spelled.sub(lambda _: new, text), len(spelled.findall(text)))


def commands(build, target):
    return subprocess.run(["ninja", "-C", build, "-t", "commands", target], capture_output=True, text=True, check=True).stdout.splitlines()


def probe(build, folder, check):
    """The output of bound_probe with the mutated file in place of the build's."""
    name = check[0]
    source, made = folder / f"{name}.cu", folder / f"{name}.o"
    source.write_text(mutated(check)[0], encoding="utf-8")
    original = str(KERNELS / f"{name}.cu")
    lines = commands(build, "bin/bound_probe")
    compile_line = next(line for line in lines if shlex.split(line)[-1] == original)
    words = shlex.split(compile_line)
    built = words[words.index("-o") + 1]
    words[words.index("-o") + 1], words[words.index("-MF") + 1], words[-1] = str(made), str(folder / "d"), str(source)
    words.insert(-1, "-w")  # a parameter may be used by the check alone
    result = subprocess.run(words, cwd=build, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        return "does not compile: " + result.stderr
    link = re.search(r"&& (.*) && :$", lines[-1])[1].replace(built, str(made)).replace("-o bin/bound_probe", f"-o {folder}/probe")
    subprocess.run(link, shell=True, cwd=build, check=True, capture_output=True)
    run = subprocess.run([folder / "probe"], capture_output=True, text=True, check=False, timeout=300)
    return run.stdout + run.stderr + (f"exit code {run.returncode}" if run.returncode != 0 else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build")
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    lost = [f"{name}.cu: {count} times: {old!r}" for check in CHECKS for name, old, _ in [check] for count in [mutated(check)[1]] if count != 1]
    print("\n".join(lost) or f"all {len(CHECKS)} checks are in the sources, each once")
    if lost or not options.build:
        return 1 if lost else 0
    right = subprocess.run([Path(options.build) / "bin" / "bound_probe"], capture_output=True, text=True, check=True).stdout
    if right.count("\n") != 1:
        print("the whole kernels are not clean:\n" + right)
        return 1
    reported = missed = 0
    for number, check in enumerate(CHECKS):
        if options.only not in (None, number):
            continue
        with tempfile.TemporaryDirectory() as folder:
            said = probe(options.build, Path(folder), check)
        first = said.splitlines()[0]
        noticed = said != right and not said.startswith("does not compile")
        reported += noticed and not first.startswith("checksum")
        missed += not noticed
        print(f"{number:2} {check[0]}: {check[1][:70]!r}: {'MISSED' if not noticed else 'another result' if first.startswith('checksum') else first[:150]}", flush=True)
        if said.startswith("does not compile"):
            print(said[:600])
    print(f"{len(CHECKS) - missed} of {len(CHECKS)} noticed, {reported} by a report" if options.only is None else "")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
