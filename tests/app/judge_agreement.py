#!/usr/bin/env python3
"""How well a real model judges a trivial property: `rollcall score --judge` against a rule, and against the rule's answers shuffled, which is the control.

Usage: judge_agreement.py --rollcall BINARY FOLDER [--count 200] [--numerics bf16_sliced8] [--threads 2]
The property: whether a few words name an animal or an object; the rule is the list that the noun is from, half of them animals. Prints how often verdict and rule agree,
how often under 1,000 shuffles of the rule's answers (mean and highest), undecided ones, and verdicts a second. Exit status: 0 where the judge agrees more often
than under any shuffle, and the same bits come of another batch and thread count; 1 otherwise.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

ANIMALS = "dog cat horse lion tiger rabbit sheep monkey elephant goat pig duck frog snake wolf bear fox mouse deer donkey eagle whale shark parrot turtle".split()
THINGS = "table chair spoon window hammer bottle candle guitar carpet pencil lamp bridge mirror shirt basket ladder clock pillow bucket camera ticket wallet drawer blanket engine".split()
SENTENCES = ("a {}", "the old {}", "my {}", "that {}")
QUESTION, PREFIX, WORDS = "Animal or object? {response}", "It is an", "words:animal|object"


def sentences(count, draw):
    """(text, whether it names an animal), as many of either kind."""
    every = [(sentence.format(noun), kind) for sentence in SENTENCES for noun, kind in [(n, True) for n in ANIMALS] + [(n, False) for n in THINGS]]
    draw.shuffle(every)
    return [pair for kind in (True, False) for pair in [p for p in every if p[1] == kind][: count // 2]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rollcall", required=True)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--numerics", default="bf16_sliced8")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--prompt", default=QUESTION)
    parser.add_argument("--prefix", default=PREFIX)
    parser.add_argument("--extract", default=WORDS)
    arguments = parser.parse_args()
    draw = random.Random(1)
    asked = sentences(arguments.count, draw)
    draw.shuffle(asked)
    truth = [kind for _, kind in asked]

    with tempfile.NamedTemporaryFile("w", suffix=".toml") as run_file:
        run_file.write(f"[run]\nnumerics = {json.dumps(arguments.numerics)}\n[judge]\nmodel = {json.dumps(str(arguments.folder))}\nprompt = {json.dumps(arguments.prompt)}\n"
                       f"assistant_prefix = {json.dumps(arguments.prefix)}\nextract = {json.dumps(arguments.extract)}\nmax_new_tokens = 16\n")
        run_file.flush()

        def verdicts(order, threads):
            lines = "".join(json.dumps({"response": asked[i][0], "answer": ""}) + "\n" for i in order)
            command = [arguments.rollcall, "score", "-", "--judge", run_file.name, "--threads", str(threads)]
            answered = subprocess.run(command, input=lines, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
            return {i: answer for i, answer in zip(order, answered, strict=True)}

        began = time.monotonic()
        first = verdicts(range(len(asked)), arguments.threads)
        seconds = time.monotonic() - began
        again = verdicts([i for i in reversed(range(len(asked)))][: len(asked) // 4], 1)

    said = [json.loads(first[i]) for i in range(len(asked))]
    decided = [i for i, line in enumerate(said) if line["verdict"] != "undecided"]

    def agreement(rule):
        return sum((said[i]["verdict"] == "correct") == rule[i] for i in decided) / max(len(decided), 1)

    own, shuffled = agreement(truth), []
    for _ in range(1000):
        rule = truth[:]
        draw.shuffle(rule)
        shuffled.append(agreement(rule))
    yes = sum(said[i]["verdict"] == "correct" for i in decided)
    same = all(first[i] == answer for i, answer in again.items())
    print(f"{len(asked)} answers, {len(asked) - len(decided)} undecided, {yes} yes: agreement with the rule {own:.3f}; shuffled mean {sum(shuffled) / 1000:.3f}, "
          f"highest of 1,000 {max(shuffled):.3f}; {len(asked) / seconds:.1f} verdicts a second (start included) on {arguments.threads} threads in {arguments.numerics}; "
          f"{len(again)} in another batch on one thread: {'the same' if same else 'OTHERS'}")
    return 0 if own > max(shuffled) and same else 1


if __name__ == "__main__":
    sys.exit(main())
