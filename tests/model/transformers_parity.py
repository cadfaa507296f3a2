#!/usr/bin/env python3
"""Lets Hugging Face transformers evaluate the model folders that export_reference writes, and compares everything.

Usage: transformers_parity.py [--write FIXTURE] EXPORT_REFERENCE
Compared, in fp32 with eager attention: logits, log-probs and entropies within 1e-4; the gradient of each tensor, of the loss sum(c * log-prob + d * entropy),
within 1e-4 of its norm (plus 1e-6 of the whole gradient's, for tensors whose true gradient is zero); greedy tokens; the configuration after transformers
has read and written it. With --write, what transformers computed goes to FIXTURE, to which tests/model/transformers_test.cpp holds Rollcall on every machine;
of a gradient that is the norm and four sums with random signs; also the log-probs of transformers in bf16, and how far its gradients in bf16 are from those in fp32. Exit status: 0 when all agree, 1 otherwise. Needs torch, transformers, safetensors, numpy.
"""

import json
import pathlib
import sys

import numpy
import parity
import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoModelForCausalLM

TOLERANCE = 1e-4
FLOOR = 1e-6  # of the whole gradient's norm
SUMS = 4


def signed_sums(tensor: torch.Tensor) -> list[float]:
    """Sums with the signs of reference_models.hpp: top bit of splitmix64 of 4 i + k."""
    values = tensor.detach().double().numpy().ravel()
    with numpy.errstate(over="ignore"):
        z = (numpy.arange(SUMS * values.size, dtype=numpy.uint64) + numpy.uint64(1)) * numpy.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94D049BB133111EB)
    signs = 1.0 - 2.0 * ((z ^ (z >> numpy.uint64(31))) >> numpy.uint64(63)).astype(numpy.float64)
    return [float(sum_) for sum_ in values @ signs.reshape(-1, SUMS)]


def load(folder: pathlib.Path, dtype=torch.float32):
    model, loading = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype, attn_implementation="eager", output_loading_info=True)
    wrong = {key: sorted(loading[key]) for key in ("unexpected_keys", "missing_keys", "mismatched_keys") if loading[key]}
    if wrong:
        raise SystemExit(f"{folder}: {wrong}")
    return model.eval()


def run(model, ours: dict):
    """Log-probs, entropies and the shown sequence's logits; gradients of the loss stay in the parameters."""
    tokens, offsets = ours["tokens"], ours["offsets"]
    logprobs, entropies = [], []
    for i, (begin, end) in enumerate(zip(offsets, offsets[1:])):
        sequence = torch.tensor(tokens[begin:end])
        logits = model(sequence[None]).logits[0].float()
        if i == ours["shown"]:
            shown = logits.detach()
        rows = logits[:-1].log_softmax(-1)
        logprobs.append(rows.gather(1, sequence[1:, None])[:, 0])
        entropies.append(-(rows.exp() * rows).sum(-1))
    logprob, entropy = torch.cat(logprobs), torch.cat(entropies)
    (logprob @ torch.tensor(ours["logprob_weights"]) + entropy @ torch.tensor(ours["entropy_weights"])).backward()
    return logprob.tolist(), entropy.tolist(), shown.tolist()


def evaluate(model, ours: dict) -> dict:
    """Columns and what else transformers says of the sequences."""
    logprobs, entropies, shown = run(model, ours)
    begin, end = ours["offsets"][ours["shown"]], ours["offsets"][ours["shown"] + 1]
    prompt = torch.tensor([ours["tokens"][begin:end]])
    continued = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=ours["greedy_tokens"], pad_token_id=0)
    return {"logprobs": logprobs, "entropies": entropies, "logits": shown, "greedy": continued[0, end - begin :].tolist()}


def in_bf16(folder: pathlib.Path, ours: dict, full) -> dict:
    """What the rounding to bf16 makes of log-probs and gradients in transformers: Rollcall's bf16_sliced8 may be no farther from fp32 than that. Of a gradient:
    the norm of its difference from `full`'s, which is in fp32."""
    model = load(folder, torch.bfloat16)
    logprobs, _, _ = run(model, ours)
    exact = dict(full.named_parameters())
    errors = {name: float(f"{(p.grad.float() - exact[name].grad).norm().item():.7g}") for name, p in model.named_parameters()}
    return {"logprobs_bf16": numpy.round(numpy.array(logprobs), 7).tolist(), "gradient_errors_bf16": errors}


def gradient_difference(model, gradient: dict) -> tuple[float, str]:
    """The largest difference in units of what is tolerated, and the tensor that has it."""
    theirs = {name: parameter.grad for name, parameter in model.named_parameters()}
    if set(theirs) != set(gradient):
        raise SystemExit(f"other tensors: {sorted(set(theirs) ^ set(gradient))}")
    whole = torch.sqrt(sum((grad**2).sum() for grad in theirs.values())).item()
    ratio = {name: (gradient[name] - grad).norm().item() / (TOLERANCE * grad.norm().item() + FLOOR * whole) for name, grad in theirs.items()}
    worst = max(ratio, key=ratio.get)
    return ratio[worst], worst


def judge(folder: pathlib.Path) -> tuple[bool, dict]:
    """Whether all agrees, and the folder's part of the fixture."""
    ours, model = json.loads((folder / "reference.json").read_text()), load(folder)
    theirs = evaluate(model, ours)
    worst = {key: numpy.abs(numpy.array(theirs[key]) - numpy.array(ours[key])).max() for key in ("logits", "logprobs", "entropies")}
    gradient, tensor = gradient_difference(model, load_file(folder / "gradient.safetensors"))
    written = folder / "written_by_transformers"
    model.config.save_pretrained(written)
    before, after = (AutoConfig.from_pretrained(at).to_dict() for at in (folder, written))
    lost = sorted(key for key in before if key not in ("_name_or_path", "transformers_version") and before[key] != after.get(key))
    ok = max(worst.values()) <= TOLERANCE and gradient <= 1.0 and theirs["greedy"] == ours["greedy"] and not lost
    shown = ", ".join(f"{key} {value:.1e}" for key, value in worst.items())
    print(f"{folder.name}: {type(model).__name__}, largest differences: {shown}, gradient {gradient:.3f} of what is tolerated ({tensor}), "
          f"{len(ours['greedy'])} greedy tokens {'equal' if theirs['greedy'] == ours['greedy'] else 'DIFFER'}{f', configuration changed in {lost}' if lost else ''}{'' if ok else ' -- NOT OK'}")
    rounded = {key: numpy.round(numpy.array(theirs[key]), 7).tolist() for key in worst} | in_bf16(folder, ours, model)
    gradients = {name: [float(f"{v:.7g}") for v in (p.grad.norm().item(), *signed_sums(p.grad))] for name, p in model.named_parameters()}
    return ok, {"config": json.loads((folder / "config.json").read_text()), "written": json.loads((written / "config.json").read_text()),
                "tokens": ours["tokens"], "greedy": theirs["greedy"], "gradients": gradients} | rounded


if __name__ == "__main__":
    sys.exit(parity.compare(__doc__, "export_reference", judge))
