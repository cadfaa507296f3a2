#!/usr/bin/env python3
"""Lets Hugging Face transformers score the reward models that export_reward_models writes, and compares.

Usage: reward_model_parity.py [--write FIXTURE] EXPORT_REWARD_MODELS
Each sequence by itself, in fp32 with eager attention; scores within 1e-4. With --write, what transformers said goes to FIXTURE, to which
tests/model/reward_model_test.cpp holds Rollcall on every machine. Exit status: 0 when all agree, 1 otherwise. Needs torch, transformers, safetensors.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers
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


def main() -> int:
    transformers.utils.logging.disable_progress_bar()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=pathlib.Path, metavar="FIXTURE")
    parser.add_argument("export_reward_models", type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([arguments.export_reward_models, work], check=True)
        judged = {folder.name: judge(folder) for folder in sorted(pathlib.Path(work).iterdir())}
    if arguments.write:
        versions = {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0]}
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(part, separators=(',', ':'))}" for name, (_, part) in judged.items())
        arguments.write.write_text(json.dumps(versions)[:-1] + ', "models": {\n' + lines + "\n}}\n")
    return 0 if all(ok for ok, _ in judged.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
