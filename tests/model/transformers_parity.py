#!/usr/bin/env python3
"""Loads model folders written by export_reference with Hugging Face transformers and compares token log-probs.

Usage: transformers_parity.py FOLDER...   each with config.json, model.safetensors and reference.json
Exit status: 0 when every log-prob agrees, 1 otherwise. Needs torch and transformers.
"""

import json
import pathlib
import sys

import torch
from transformers import AutoModelForCausalLM

TOLERANCE = 1e-4


def largest_difference(folder: pathlib.Path) -> float:
    model, loading = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    unexpected = set(loading["unexpected_keys"])
    missing = set(loading["missing_keys"])
    if unexpected or missing:
        raise SystemExit(f"{folder}: unexpected tensors {sorted(unexpected)}, missing tensors {sorted(missing)}")
    reference = json.loads((folder / "reference.json").read_text())
    worst = 0.0
    for tokens, logprobs in zip(reference["tokens"], reference["logprobs"], strict=True):
        with torch.no_grad():
            logits = model.eval()(torch.tensor([tokens])).logits[0, :-1].double()
        expected = logits.log_softmax(-1).gather(1, torch.tensor(tokens[1:])[:, None])[:, 0]
        worst = max(worst, (expected - torch.tensor(logprobs, dtype=torch.float64)).abs().max().item())
    print(f"{folder.name}: {type(model).__name__}, largest difference of a log-prob {worst:.2e}")
    return worst


def main() -> int:
    folders = [pathlib.Path(argument) for argument in sys.argv[1:]]
    if not folders:
        print(__doc__, file=sys.stderr)
        return 2
    return 0 if all([largest_difference(folder) <= TOLERANCE for folder in folders]) else 1


if __name__ == "__main__":
    sys.exit(main())
