#!/usr/bin/env python3
"""Is bf16_sliced8 no farther from fp32 than transformers' own bf16? Per-token log-probs of a real model on real texts, against transformers in fp32.

Usage: real_model_bf16.py --rollcall BINARY FOLDER [--texts TEXTS.jsonl] [--count 24]
TEXTS.jsonl: as of real_model_parity.py; without it, paragraphs of this repository's README.md and CONTRIBUTING.md. Prints a line for each way to compute: the mean and
the 99th percentile of |difference of a log-prob| [nats], and the largest. transformers writes its bf16 logits as bf16; the line "logits in fp32" spares it that, to
show what the blocks alone cost. Exit status: 0 when bf16_sliced8 is no farther than transformers in bf16, by mean and by percentile; 1 otherwise.
Needs torch and transformers.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import torch
import transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEAST_WORDS = 20  # headings and commands are no prose


def read_texts(path, count):
    if path:
        lines = path.read_text().splitlines()[:count]
        return ["\n".join(value for value in json.loads(line).values() if isinstance(value, str)) for line in lines]
    paragraphs = [part for name in ("README.md", "CONTRIBUTING.md") for part in (ROOT / name).read_text().split("\n\n")]
    return [part for part in paragraphs if len(part.split()) >= LEAST_WORDS][:count]


def by_rollcall(binary, folder, ids, numerics):
    given = "".join(json.dumps(one) + "\n" for one in ids)
    answered = subprocess.run([binary, "logprob", folder, "--numerics", numerics], input=given, stdout=subprocess.PIPE, text=True, check=True).stdout
    return torch.tensor([value for line in answered.splitlines() for value in json.loads(line)], dtype=torch.float64)


def by_transformers(folder, ids, dtype):
    """Log-probs as transformers computes them, and with the head's product in fp32."""
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="eager").eval()
    plain, wide = [], []
    for tokens in ids:
        with torch.no_grad():
            out = model(torch.tensor([tokens]), output_hidden_states=True)
            full = out.hidden_states[-1][0, :-1].float() @ model.lm_head.weight.float().T  # the last hidden state is that after the final norm
        for logits, logprobs in ((out.logits[0, :-1].float(), plain), (full, wide)):
            logprobs.append(logits.log_softmax(-1).gather(1, torch.tensor(tokens[1:])[:, None])[:, 0].double())
    return torch.cat(plain), torch.cat(wide)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rollcall", required=True)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--texts", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=24)
    arguments = parser.parse_args()
    tokenizer = AutoTokenizer.from_pretrained(arguments.folder)
    ids = [tokenizer(text)["input_ids"] for text in read_texts(arguments.texts, arguments.count)]

    truth, _ = by_transformers(arguments.folder, ids, torch.float32)
    plain, wide = by_transformers(arguments.folder, ids, torch.bfloat16)
    ways = {f"rollcall {numerics}": by_rollcall(arguments.rollcall, arguments.folder, ids, numerics) for numerics in ("fp32_fixed_order", "bf16_sliced8")}
    ways |= {"transformers bfloat16": plain, "transformers bfloat16, logits in fp32": wide}

    print(f"{len(ids)} texts, {len(truth)} log-probs; transformers {transformers.__version__} with torch {torch.__version__}, fp32, is the truth")
    print(f"{'computed by':<40} {'mean':>10} {'99 %':>10} {'largest':>10}")
    far = {}
    for way, logprobs in ways.items():
        difference = (logprobs - truth).abs()
        far[way] = (difference.mean().item(), difference.quantile(0.99).item())
        print(f"{way:<40} {far[way][0]:>10.2e} {far[way][1]:>10.2e} {difference.max().item():>10.2e}")
    ours, theirs = far["rollcall bf16_sliced8"], far["transformers bfloat16"]
    return 0 if ours[0] <= theirs[0] and ours[1] <= theirs[1] else 1


if __name__ == "__main__":
    sys.exit(main())
