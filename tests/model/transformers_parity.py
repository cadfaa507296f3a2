#!/usr/bin/env python3
"""Loads model folders written by export_reference with Hugging Face transformers and compares token log-probs.

Usage: transformers_parity.py [--write FIXTURE] FOLDER...   each with config.json, model.safetensors and reference.json
With --write, what transformers computed goes to FIXTURE, to which tests/model/transformers_test.cpp holds Rollcall on every machine.
Exit status: 0 when every log-prob agrees, 1 otherwise. Needs torch and transformers.
"""

import json
import pathlib
import sys

import torch
import transformers
from transformers import AutoModelForCausalLM

TOLERANCE = 1e-4


def judge(folder: pathlib.Path) -> tuple[float, dict]:
    """The largest difference of a log-prob, and the folder's part of the fixture."""
    model, loading = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    unexpected = set(loading["unexpected_keys"])
    missing = set(loading["missing_keys"])
    if unexpected or missing:
        raise SystemExit(f"{folder}: unexpected tensors {sorted(unexpected)}, missing tensors {sorted(missing)}")
    reference = json.loads((folder / "reference.json").read_text())
    worst, theirs = 0.0, []
    for tokens, logprobs in zip(reference["tokens"], reference["logprobs"], strict=True):
        with torch.no_grad():
            logits = model.eval()(torch.tensor([tokens])).logits[0, :-1].double()
        expected = logits.log_softmax(-1).gather(1, torch.tensor(tokens[1:])[:, None])[:, 0]
        worst = max(worst, (expected - torch.tensor(logprobs, dtype=torch.float64)).abs().max().item())
        theirs.append([round(value, 9) for value in expected.tolist()])
    print(f"{folder.name}: {type(model).__name__}, largest difference of a log-prob {worst:.2e}")
    config = json.loads((folder / "config.json").read_text())
    return worst, {"config": config, "tokens": reference["tokens"], "logprobs": theirs}


def main() -> int:
    arguments = sys.argv[1:]
    fixture = pathlib.Path(arguments[1]) if arguments[:1] == ["--write"] and len(arguments) > 2 else None
    folders = [pathlib.Path(argument) for argument in (arguments[2:] if fixture else arguments)]
    if not folders or str(folders[0]).startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    judged = {folder.name: judge(folder) for folder in folders}
    if fixture:
        versions = {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0]}
        fixture.write_text(json.dumps(versions | {"models": {name: part for name, (_, part) in judged.items()}}) + "\n")
    return 0 if all(worst <= TOLERANCE for worst, _ in judged.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
