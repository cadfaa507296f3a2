"""The policy of a short run of SmolLM2-135M-Instruct, per numerics: a real model's shapes, tokenizer,
chat template and rewards. Skipped where its folder is not there: scripts/real_model --folder-only
makes it as .deps/smollm2, and ROLLCALL_SMOLLM2 names another place. Recorded on AMD Zen 3 (AVX2)."""
import os
import pathlib
import sys

from harness import SKIPPED, check, main, policy_line, sets

RECORDED = {"fp32_fixed_order": "6ad09d0a99490477d77d58d0d0b807db4dc7d3d0013b957a3822f3826ece2669",
            "bf16_sliced8": "7b183fcb6bf2075a8cb895093069c0f5ea58f3541ed06756cf17acb15c942db9"}
# Two steps without a warm start. Sums of single digits, some of which the model knows: the second step has a gradient.
SHORT = sets(run__memory_limit="", train__steps=2, train__prompts_per_step=4, train__rollouts_per_prompt=8, scheduler__min_rollouts=8, scheduler__max_rollouts=8,
             sampling__max_new_tokens=12, task__digits="[1]", task__train_prompts=64, task__heldout_prompts=8, eval__before="false", eval__after="false")


def folder(source):
    return pathlib.Path(os.environ.get("ROLLCALL_SMOLLM2") or pathlib.Path(source) / ".deps/smollm2").absolute()


def the_policy_is_the_recorded_one(harness):
    for numerics, recorded in RECORDED.items():
        said = harness.train(harness.work / numerics, *SHORT, *sets(model__path=folder(harness.source), run__numerics=numerics), run_file=harness.source / "jobs/runs/smollm2-arithmetic.toml")
        seen = policy_line(said).removeprefix("policy sha256 ")
        check(seen == recorded, f"{numerics}: the policy is {seen}, recorded is {recorded}. If a change of what a run computes is meant, say so in the changelog and record the new one here")


if not (folder(sys.argv[2]) / "model.safetensors").exists():
    print(f"skipped: {folder(sys.argv[2])} holds no model; scripts/real_model --folder-only makes .deps/smollm2, or set ROLLCALL_SMOLLM2 to its folder")
    sys.exit(SKIPPED)
main(the_policy_is_the_recorded_one)
