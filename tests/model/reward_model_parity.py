#!/usr/bin/env python3
"""Lets Hugging Face transformers score the reward models that export_reward_models writes, and compares.

Usage: reward_model_parity.py [--write FIXTURE] EXPORT_REWARD_MODELS
Each sequence by itself, in fp32 with eager attention; scores within 1e-4. With --write, what transformers said goes to FIXTURE, to which
tests/model/reward_model_test.cpp holds Rollcall on every machine. Exit status: 0 when all agree, 1 otherwise. Needs torch, transformers, safetensors.
"""

import json
import pathlib
import sys

import parity
import torch
from transformers import AutoModelForSequenceClassification

TOLERANCE = 1e-4


def judge(folder: pathlib.Path) -> tuple[bool, dict]:
    """Whether all agrees, and the folder's part of the fixture."""
    ours = json.loads((folder / "reference.json").read_text())
    model, loading = AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True)
    wrong = {key: sorted(loading[key]) for key in ("unexpected_keys", "missing_keys", "mismatched_keys") if loading[key]}
    if wrong:
        raise SystemExit(f"{folder}: {wrong}")
    with torch.no_grad():
        theirs = [model.eval()(torch.tensor([tokens])).logits.item() for tokens in ours["sequences"]]
    worst = max(abs(a - b) for a, b in zip(theirs, ours["scores"], strict=True))
    print(f"{folder.name}: {type(model).__name__}, pad {model.config.pad_token_id}, {len(theirs)} scores from {min(theirs):.3f} to {max(theirs):.3f}, largest difference {worst:.1e}"
          f"{'' if worst <= TOLERANCE else ' -- NOT OK'}")
    return worst <= TOLERANCE, {"sequences": ours["sequences"], "scores": [round(value, 7) for value in theirs]}


if __name__ == "__main__":
    sys.exit(parity.compare(__doc__, "export_reward_models", judge))
