#!/usr/bin/env python3
"""Per-token log-probs of real texts by a real model: `rollcall logprob FOLDER` against Hugging Face transformers, both in fp32.

Usage: real_model_parity.py --rollcall BINARY FOLDER TEXTS.jsonl [--count 200] [--tolerance 2e-3]
TEXTS.jsonl: a text a line, made of the strings of each object joined by newlines (of GSM8K: question and answer). Prints the largest difference of a log-prob,
where it is, and how long each side took. Exit status: 0 within the tolerance, 1 beyond it. Needs torch and transformers.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import time

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rollcall", required=True)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("texts", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--tolerance", type=float, default=2e-3)
    arguments = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(arguments.folder)
    lines = arguments.texts.read_text().splitlines()[: arguments.count]
    texts = ["\n".join(value for value in json.loads(line).values() if isinstance(value, str)) for line in lines]
    ids = [tokenizer(text)["input_ids"] for text in texts]

    began = time.monotonic()
    answered = subprocess.run([arguments.rollcall, "logprob", arguments.folder], input="".join(json.dumps(one) + "\n" for one in ids),
                              stdout=subprocess.PIPE, text=True, check=True).stdout
    ours, our_time = [json.loads(line) for line in answered.splitlines()], time.monotonic() - began

    began = time.monotonic()
    model = AutoModelForCausalLM.from_pretrained(arguments.folder, dtype=torch.float32, attn_implementation="eager").eval()
    worst, where = 0.0, ""
    for i, (tokens, logprobs) in enumerate(zip(ids, ours, strict=True)):
        with torch.no_grad():
            rows = model(torch.tensor([tokens])).logits[0, :-1].log_softmax(-1)
        theirs = rows.gather(1, torch.tensor(tokens[1:])[:, None])[:, 0].double()
        difference = (theirs - torch.tensor(logprobs, dtype=torch.float64)).abs()
        if difference.max() > worst:
            worst, where = difference.max().item(), f"text {i + 1}, token {difference.argmax().item() + 2} of {len(tokens)}"
    print(f"{len(ids)} texts, {sum(map(len, ids))} tokens, longest {max(map(len, ids))}: largest difference of a log-prob {worst:.2e} ({where}); "
          f"rollcall {our_time:.1f} s, transformers {transformers.__version__} with torch {torch.__version__} {time.monotonic() - began:.1f} s")
    return 0 if worst <= arguments.tolerance else 1


if __name__ == "__main__":
    sys.exit(main())
