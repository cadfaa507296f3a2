"""run.memory_limit: what `plan` says is what a run takes, whatever it trains, a limit changes how much runs at once and no bit, and a run that does not fit is refused before it begins."""
import os
import re
import resource

from harness import check, main, policy_line, sets

MISCONFIGURED = 2
# 10 million parameters: large beside what the libraries take. Leaves of 512 tokens, which a step fills, since every rollout is trained.
LARGER = sets(model__hidden_size=384, model__intermediate_size=1024, model__num_hidden_layers=6, model__num_attention_heads=6, model__num_key_value_heads=3,
              model__head_dim=64, train__steps=1, train__prompts_per_step=64, train__rollouts_per_prompt=4, train__leaf_tokens=512, sft__steps=1, sft__batch_size=64,
              run__threads=2, eval__before="false", eval__after="false", objective__recipe="asymre")
UNITS = {"kB": 1e3, "MB": 1e6, "GB": 1e9}


def peak_bytes(harness, *arguments):
    """Largest resident set of a process, its stdout and its stderr."""
    process = harness.start(*arguments)
    out, err = process.stdout.read(), process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    check(process.returncode == 0, f"exit code {process.returncode}\n{out}\n{err}")
    return usage.ru_maxrss * 1024, out, err


def planned_bytes(harness, *arguments):
    text = harness.succeed("plan", harness.tiny, *arguments)
    number, unit = re.search(r"coordinator, generation, scoring, update +([\d.]+) (kB|MB|GB)", text).groups()
    return float(number) * UNITS[unit]


def plan_says_what_a_run_takes(harness):
    few = sets(objective__recipe="grpo")  # trains a part of the rollouts
    for folder, settings in (("free", LARGER), ("few", [*LARGER, *few]), ("bf16", [*LARGER, *sets(run__numerics="bf16_sliced8")])):
        planned = planned_bytes(harness, *settings)
        taken, _, _ = peak_bytes(harness, "train", harness.tiny, *sets(run__dir=harness.work / folder), *settings)
        print(f"{folder}: planned {planned / 1e6:.0f} MB, taken {taken / 1e6:.0f} MB", flush=True)
        check(0.9 * planned < taken < 1.1 * planned, f"{folder}: plan says {planned / 1e6:.0f} MB, the run took {taken / 1e6:.0f} MB")
    check(planned < planned_bytes(harness, *LARGER), "packed weights of bf16 take no less")


def prompts_are_in_the_plan(harness):
    """A million made prompts take more than the rest of a small run, and a limit that leaves them no room is refused."""
    planned, taken = [], []
    for count in (10_000, 1_000_000):
        many = sets(task__train_prompts=count, task__min_level=6, task__max_level=12, model__max_position_embeddings=64, train__steps=1, sft__steps=0, eval__before="false", eval__after="false")
        planned.append(planned_bytes(harness, *many))
        taken.append(peak_bytes(harness, "train", harness.tiny, *sets(run__dir=harness.work / f"prompts{count}"), *many)[0])
        print(f"{count} prompts: planned {planned[-1] / 1e6:.0f} MB, taken {taken[-1] / 1e6:.0f} MB", flush=True)
        check(taken[-1] < 1.15 * planned[-1], f"{count} prompts: plan says {planned[-1] / 1e6:.0f} MB, the run took {taken[-1] / 1e6:.0f} MB")
    # A small run's plan is mostly what the libraries may take at most: only the large one is held from below, at 0.85 of its plan when this was written.
    check(0.8 * planned[1] < taken[1], f"a million prompts: plan says {planned[1] / 1e6:.0f} MB, the run took {taken[1] / 1e6:.0f} MB")
    more, real = planned[1] - planned[0], taken[1] - taken[0]
    check(0.85 * more < real < 1.15 * more, f"a million prompts: plan says {more / 1e6:.0f} MB more, the run took {real / 1e6:.0f} MB more")
    code, _, err, _ = harness.run("train", harness.tiny, *sets(run__dir=harness.work / "no_room", run__memory_limit="400M"), *many)
    check(code == MISCONFIGURED and "texts and tokens" in err, f"exit code {code}\n{err}")


def what_a_checkpoint_gives_back_takes_no_more(harness):
    """24 million parameters with a reference beside them, and next to nothing for steps: in memory as a whole the files of a checkpoint would stand out, 0.4 GB."""
    limit = 1050 * 2**20
    heavy = [*LARGER, *sets(model__hidden_size=512, model__intermediate_size=1408, model__num_hidden_layers=8, model__num_attention_heads=8, model__num_key_value_heads=4,
                            train__leaf_tokens=64, train__prompts_per_step=8, train__steps=3, objective__pieces__regularizer="kl", objective__knobs__kl_coef=0.5,
                            objective__recipe="grpo", objective__pieces__advantage="fixed_baseline", train__on_nonfinite="rollback",
                            train__loss_spike_factor=1e-9, train__max_bad_steps=100, run__memory_limit=limit)]
    for what, more in (("rolling back", []), ("resuming", ["--resume", *sets(train__steps=4, run__log_level="info")])):
        taken, out, err = peak_bytes(harness, "train", harness.tiny, *sets(run__dir=harness.work / "heavy"), *heavy, *more)
        print(f"{what}: limit {limit / 1e6:.0f} MB, taken {taken / 1e6:.0f} MB", flush=True)
        check(what in out + err, f"not said that it is {what}:\n{out}\n{err}")
        check(0.85 * limit < taken < 1.05 * limit, f"{what}: the limit is {limit / 1e6:.0f} MB, the run took {taken / 1e6:.0f} MB")


def a_limit_changes_no_bit(harness):
    free = planned_bytes(harness, *LARGER)
    tight = [*LARGER, *sets(run__memory_limit=int(0.8 * free))]
    planned = planned_bytes(harness, *tight)  # all that is left may go to keys and values, and plan tells whole MB
    check(planned <= 0.8 * free + 0.5e6, f"plan says {planned / 1e6:.0f} MB with a limit of {0.8 * free / 1e6:.1f} MB")
    taken, out, _ = peak_bytes(harness, "train", harness.tiny, *sets(run__dir=harness.work / "tight"), *tight)
    check(taken < 0.8 * free, f"a run with a limit of {0.8 * free / 1e6:.1f} MB took {taken / 1e6:.1f} MB")
    reference = harness.succeed("train", harness.tiny, "--resume", *sets(run__dir=harness.work / "free"), *LARGER)
    check(policy_line(out) == policy_line(reference), f"a limit changes the policy:\n{out}\n{reference}")


def what_does_not_fit_is_refused(harness):
    for limit, needed in (("100M", "needs"), ("6X", "which is no size")):
        code, out, err, _ = harness.run("train", harness.tiny, *sets(run__dir=harness.work / "none", run__memory_limit=limit), *LARGER)
        check(code == MISCONFIGURED and needed in err, f"run.memory_limit={limit}: exit code {code}\n{out}\n{err}")
        check(not (harness.work / "none").exists(), "a refused run left a folder")


def what_the_system_has_not_got_is_said_at_once(harness):
    """Addresses are limited to 2.2 GB: enough for all but the steps' leaves."""
    large = [*LARGER, *sets(run__dir=harness.work / "large", train__leaf_tokens=4096)]
    addresses = 2_200_000_000
    process = harness.start("train", harness.tiny, *large, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses)))
    out, err = process.communicate(timeout=60)
    check(process.returncode == MISCONFIGURED and re.search(r"the system refuses the [\d.]+ GB that this rank's steps take", err), f"{process.returncode}\n{out}\n{err}")
    check(not (harness.work / "large" / "metrics.jsonl").exists(), "a step was begun")


main(plan_says_what_a_run_takes, prompts_are_in_the_plan, what_a_checkpoint_gives_back_takes_no_more, a_limit_changes_no_bit, what_does_not_fit_is_refused, what_the_system_has_not_got_is_said_at_once)
