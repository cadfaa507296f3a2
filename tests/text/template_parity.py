#!/usr/bin/env python3
"""Compares Rollcall's chat templates with Python's jinja2: template_parity.py PROGRAM [--random N] [--seed S] [--share X]; PROGRAM is render_templates.
Without --random: the cases of template_cases.py, of those of installed packages a share (1: the long form). Outputs must be equal, or both must fail. What Rollcall says it does not support is counted apart."""

import argparse
import json
import os
import re
import subprocess
import sys

import jinja_reference

UNTOLD = re.compile(r"0x[0-9a-f]{6,}")  # addresses: no two runs agree


class Program:
    def __init__(self, path):
        self.path = path
        self.start()

    def start(self):
        environment = {**os.environ, "SOURCE_DATE_EPOCH": jinja_reference.EPOCH}
        self.process = subprocess.Popen([self.path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)

    def rendered(self, template, variables):
        self.process.stdin.write(json.dumps({"template": template, "variables": variables}).encode() + b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            self.start()
            return {"crash": status}
        return json.loads(line)


def verdict(ours, theirs):
    """same, unsupported, skipped or different."""
    if "crash" in ours:
        return "different"
    if "error" in ours and "error" in theirs:
        return "same"
    if "output" in theirs and UNTOLD.search(theirs["output"]):
        return "skipped"
    if "error" in ours and "is not supported" in ours["error"]:
        return "unsupported"
    return "same" if ours.get("output") == theirs.get("output") and "output" in ours else "different"


def cases(arguments):
    if arguments.random:
        import random_templates

        for i in range(arguments.random):
            yield (f"seed {arguments.seed + i}", *random_templates.case(arguments.seed + i))
    else:
        import template_cases

        yield from template_cases.cases(arguments.share, arguments.seed)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1)
    parser.add_argument("--show", type=int, default=10)
    parser.add_argument("--show-unsupported", action="store_true")
    arguments = parser.parse_args()
    program = Program(arguments.program)
    counts = {"same": 0, "unsupported": 0, "skipped": 0, "different": 0, "both fail": 0}
    for name, template, variables in cases(arguments):
        theirs = jinja_reference.rendered(template, variables)
        ours = program.rendered(template, variables)
        found = verdict(ours, theirs)
        counts["both fail" if found == "same" and "error" in ours else found] += 1
        if (found == "different" and counts["different"] <= arguments.show) or (found == "unsupported" and arguments.show_unsupported):
            print(f"{name}: {found}\n  template  {template!r}\n  variables {variables!r}\n  jinja2    {theirs!r}\n  rollcall  {ours!r}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in counts.items()) + f" ({json.dumps(jinja_reference.versions())})")
    unsupported_fails = counts["unsupported"] > 0 and not arguments.random
    sys.exit(1 if counts["different"] or unsupported_fails or not counts["same"] else 0)


if __name__ == "__main__":
    main()
