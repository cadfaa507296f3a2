#!/usr/bin/env python3
"""Lets Math-Verify (PyPI math-verify; 0.9.0 tried) judge the same pairs as Rollcall's verifier `math` and lists every disagreement.

usage: beside_math_verify.py ROLLCALL PAIRS.jsonl [PAIRS.jsonl ...]
PAIRS has lines {"answer": reference, "response": ..., "equal": true | false, "category": ...}, as `math_pairs write SEED COUNT` writes them;
math_cases.jsonl and math_verify_cases.jsonl here are worked by hand, the latter with the "source" of each. Prints a table of
categories (right of each) and the answers a second of processor time, then the disagreements as tab-separated lines: category, reference, response, truth, Rollcall, its reason, Math-Verify.
"""
import collections
import json
import resource
import subprocess
import sys
import time


def main(arguments):
    if len(arguments) < 2:
        print(__doc__)
        return 2
    from math_verify import parse, verify
    lines = [json.loads(line) for path in arguments[1:] for line in open(path, encoding="utf-8") if line.strip()]
    text = "".join(json.dumps({"answer": line["answer"], "response": line["response"]}) + "\n" for line in lines)
    scored = subprocess.run([arguments[0], "score", "-", "--verifier", "math", "--threads", "1"], input=text, capture_output=True, text=True, check=True).stdout
    ours = [json.loads(line) for line in scored.splitlines()]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    our_time = used.ru_utime + used.ru_stime
    start = time.process_time()
    theirs = []
    for line in lines:
        reference = line["answer"] if line["answer"].startswith("$") else f"${line['answer']}$"
        theirs.append(verify(parse(reference), parse(line["response"])))
    their_time = time.process_time() - start
    counts = collections.defaultdict(lambda: [0, 0, 0, 0])
    for line, our, their in zip(lines, ours, theirs, strict=True):
        for name in (line.get("category", "cases"), "all"):
            count = counts[name]
            count[0] += 1
            count[1] += our["verdict"] == ("correct" if line["equal"] else "wrong")
            count[2] += our["verdict"] == "undecided"
            count[3] += their == line["equal"]
    for name, (pairs, right, undecided, their_right) in counts.items():
        print(f"{name:22} {pairs:6} pairs; Rollcall right {right:6}, undecided {undecided:4}; Math-Verify right {their_right:6}")
    print(f"answers a second of processor time: Rollcall {len(lines) / our_time:.0f} (with its start and JSON), Math-Verify {len(lines) / their_time:.0f}")
    for line, our, their in zip(lines, ours, theirs, strict=True):
        if (our["verdict"] == "correct") != their:
            print("\t".join([line.get("category", "cases"), line["answer"], line["response"], "equal" if line["equal"] else "different", our["verdict"], our["reason"],
                             "equal" if their else "different"]))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
