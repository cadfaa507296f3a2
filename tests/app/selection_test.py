"""What a scheduler leaves out or weighs is remembered: mini-batches hold only what trains, the archive says what did, replay and training from the archive do the same again."""
import json

from harness import check, main, metrics, result, sets

STEPS = 5
SMALL = sets(sft__steps=20, train__steps=STEPS, eval__before="false", eval__after="false", checkpoint__every=2, archive__pack_every=3, train__min_lr_ratio=1)
SEVERAL = sets(train__mini_batches=4, train__epochs=2)
# Groups are left out whole, or in part, or weighed.
POLICIES = {
    "dapo": sets(scheduler__policy="dapo"),
    "greso": sets(scheduler__policy="greso", objective__recipe="dapo"),
    "pods": sets(scheduler__policy="pods", scheduler__knobs__keep_share=0.5, train__rollouts_per_prompt=8),
    "d3s": sets(scheduler__policy="d3s"),
    "gdro_reweight": sets(scheduler__policy="gdro_reweight"),
}


def run(harness, name, *words, ranks=1):
    folder = harness.work / name
    if not folder.exists():
        harness.ranks(ranks).train(folder, *SMALL, *words)
    return folder


def exported(harness, folder, *words):
    return [json.loads(line) for line in harness.succeed("archive", "export", folder, "--purpose", "train", *words).splitlines()]


def groups_of(rollouts):
    groups = {}
    for rollout in rollouts:
        groups.setdefault((rollout["step"], rollout["prompt_id"], rollout["draw"]), []).append(rollout)
    return groups


def the_archive_says_what_trained(harness):
    """Selections leave something out and weights weigh, or the rest of this test says nothing; GRPO's advantages are those of the group."""
    for name, words in POLICIES.items():
        rollouts = exported(harness, run(harness, name, *SEVERAL, *words))
        left_out, weights = [r for r in rollouts if not r["trained"]], {r["weight"] for r in rollouts}
        check((len(left_out) > 0) != (name == "gdro_reweight"), f"{name}: {len(left_out)} of {len(rollouts)} rollouts are left out")
        check((len(weights) > 1) == (name == "gdro_reweight"), f"{name}: weights {weights}")
        for group in groups_of(rollouts).values():
            check(name != "dapo" or len({r["trained"] for r in group}) == 1, f"{name}: a group is left out in part")
            rewards = [r["reward"] for r in group]
            mean = sum(rewards) / len(rewards)
            std = (sum((r - mean) ** 2 for r in rewards) / (len(rewards) - 1)) ** 0.5
            for r in group:
                check(name not in ("dapo", "gdro_reweight") or abs(r["advantage"] - (r["reward"] - mean) / (std + 1e-6)) < 1e-4, f"{name}: advantage {r['advantage']} of {rewards}")
    rollouts = exported(harness, run(harness, "tokens", *sets(objective__recipe="ppo")))
    check(all(r["advantage"] is None and r["trained"] and r["weight"] == 1 for r in rollouts), "an advantage a token is no rollout's")


def mini_batches_hold_only_what_trains(harness):
    """Each optimizer step is a version: as many as there are mini-batches with something to train. Groups are dealt evenly."""
    for name in ("dapo", "greso"):
        folder = run(harness, name, *SEVERAL, *POLICIES[name])
        groups = groups_of(exported(harness, folder, "--tokens"))
        versions, trained = {}, {}
        for (step, *_), group in groups.items():
            versions.setdefault(step, set()).update(v for r in group for t in r["turns"] if t["role"] == "policy" for v in t["policy_version"])
            trained[step] = trained.get(step, 0) + any(r["trained"] for r in group)
        check(all(len(v) == 1 for v in versions.values()), f"{name}: a step is sampled by versions {versions}")
        taken = [max(versions[step + 1]) - max(versions[step]) for step in range(1, STEPS)]
        check(taken == [2 * min(4, trained[step]) for step in range(1, STEPS)], f"{name}: {taken} optimizer steps over {trained} groups")
        rows = metrics(folder)
        check([row["train/rollouts_trained"] for row in rows] == [sum(r["trained"] for (s, *_), g in groups.items() for r in g if s == row["step"]) for row in rows],
              f"{name}: train/rollouts_trained {[row['train/rollouts_trained'] for row in rows]}")
        drawn, epochs = 0, []
        for row in rows:
            drawn += sum(s == row["step"] for s, *_ in groups)
            epochs.append(drawn / 64)
        check([row["train/epoch"] for row in rows] == epochs, f"{name}: train/epoch {[row['train/epoch'] for row in rows]}, drawn {epochs}")
        means = [sum(r["reward"] for (s, *_), g in groups.items() for r in g if s == row["step"]) / row["train/rollouts_generated"] for row in rows]
        check(all(abs(row["critic/score/mean"] - mean) < 1e-9 for row, mean in zip(rows, means)), f"{name}: critic/score/mean is not that of all that was drawn")


def nothing_to_train_is_no_step(harness):
    """Rewards that are all equal leave dapo without a group: weights and moments stay as they are, with one mini-batch as with four."""
    for several in ([], SEVERAL):
        folder = run(harness, f"nothing_{len(several)}", *several, *POLICIES["dapo"], *sets(sft__steps=0, sampling__max_new_tokens=1, task__min_level=2, task__format_weight=0))
        rollouts = exported(harness, folder, "--tokens")
        check(not any(r["trained"] for r in rollouts), "something trained after all")
        check({v for r in rollouts for t in r["turns"] if t["role"] == "policy" for v in t["policy_version"]} == {0}, "a step without anything to train moved the policy")
        check([row["train/rollouts_trained"] for row in metrics(folder)] == [0] * STEPS, "train/rollouts_trained")


def training_from_the_archive_is_the_same_training(harness):
    for several, kind in ((SEVERAL, ""), ([], "_once")):
        for name, words in POLICIES.items() if several else [("pods", POLICIES["pods"])]:
            original = run(harness, name + kind, *several, *words)
            again = run(harness, f"{name}{kind}_again", *several, *words, "--from-archive", original)
            check(result(again)["policy_sha256"] == result(original)["policy_sha256"], f"{name}{kind}: other weights than the run that sampled")
            check([row["train/rollouts_trained"] for row in metrics(again)] == [row["train/rollouts_trained"] for row in metrics(original)], f"{name}{kind}: rollouts_trained")


# What else leaves out or weighs.
OTHERS = ("dler", "prs_vspo", "scalerl", "brorl", "reinforce_ada", "reinforce_ada_positive",
          "dars_et", "dars_hw", "rstar2_agent", "gdro_both")


def every_selection_is_found_again(harness):
    others = []
    for name in OTHERS:
        words = sets(scheduler__policy=name, sft__steps=10, train__steps=4,
                     train__rollouts_per_prompt=8, archive__pack_every=2)
        if name == "dars_hw":
            words += sets(scheduler__max_rollouts=64)
        original = run(harness, name, *words)
        again = run(harness, f"{name}_again", *words, "--from-archive", original)
        if result(again)["policy_sha256"] != result(original)["policy_sha256"]:
            others.append(name)
    check(not others, f"other weights than the run that sampled: {others}")


def ranks_write_the_same(harness):
    for ranks in (3, 4):
        for name in ("dapo", "gdro_reweight"):
            one, many = run(harness, name, *SEVERAL, *POLICIES[name]), run(harness, f"{name}_{ranks}", *SEVERAL, *POLICIES[name], ranks=ranks)
            check(result(one)["policy_sha256"] == result(many)["policy_sha256"], f"{name} on {ranks} ranks: another policy")
            check(exported(harness, one) == exported(harness, many), f"{name} on {ranks} ranks: the archive says something else")
    for ranks in (3, 4):  # the leader alone has the step
        one, many = run(harness, "dapo_once", *POLICIES["dapo"]), run(harness, f"dapo_once_{ranks}", *POLICIES["dapo"], ranks=ranks)
        check(result(one)["policy_sha256"] == result(many)["policy_sha256"] and exported(harness, one) == exported(harness, many), f"one mini-batch on {ranks} ranks")


REPLAY = sets(scheduler__policy="dapo", replay__share=0.5, replay__max_staleness=16, train__mini_batches=2)


def replay_brings_back_only_what_trained(harness):
    folder = run(harness, "replay", *REPLAY)
    trained = {}
    for (step, *_), group in groups_of(exported(harness, folder)).items():
        trained[step] = trained.get(step, 0) + group[0]["trained"]
    rows = metrics(folder)
    check(sum(trained.values()) > 0 and any("replay/groups" in row for row in rows), "nothing was replayed")
    for row in rows:
        check(row.get("replay/groups", 0) <= trained[row["step"]], f"step {row['step']}: {row.get('replay/groups')} groups come back beside {trained[row['step']]}")
        check(row["train/rollouts_trained"] == 4 * trained[row["step"]] + row.get("replay/rollouts", 0), f"step {row['step']}: train/rollouts_trained")


def a_kill_changes_nothing(harness):
    """What was trained on is read again from files beside the shards and from the archive."""
    copies = {2: harness.work / "killed_2", 4: harness.work / "killed_4"}
    harness.ranks(1).train(harness.work / "watched", *SMALL, *REPLAY, keep=copies)
    for folder, ranks in ((copies[2], 1), (copies[4], 3)):
        harness.ranks(ranks).train(folder, *SMALL, *REPLAY, "--resume")
        for key in ("policy_sha256", "archive_sha256"):
            check(result(folder)[key] == result(run(harness, "replay", *REPLAY))[key], f"{folder.name}: {key}")
        check(exported(harness, folder) == exported(harness, run(harness, "replay", *REPLAY)), f"{folder.name}: the archive says something else of what trained")


def a_run_may_end_by_its_rollouts(harness):
    """Learning rates and KL schedules end where the run does: with its rollouts as with its steps."""
    schedules = sets(train__min_lr_ratio=0.1, train__mini_batches=2, objective__pieces__regularizer="kl", objective__knobs__kl_coef=0.5, objective__knobs__kl_coef_end=0.01)
    by_steps = run(harness, "by_steps", *schedules, *sets(train__steps=4))
    by_rollouts = run(harness, "by_rollouts", *schedules, *sets(train__steps=1000, train__rollouts=4 * 32))
    check(len(metrics(by_rollouts)) == 4 and result(by_rollouts)["policy_sha256"] == result(by_steps)["policy_sha256"], "the end by rollouts is another run")
    again = run(harness, "by_rollouts_again", *schedules, *sets(train__steps=1000, train__rollouts=4 * 32), "--from-archive", by_rollouts)
    check(len(metrics(again)) == 4 and result(again)["policy_sha256"] == result(by_rollouts)["policy_sha256"], "trained from, it is another run")


def many_prompts(harness):
    """A run without a warm start of its own, whose examples would be those of its prompts."""
    return run(harness, "many_prompts", *sets(sft__steps=0), "--init-from", run(harness, "warm"))


def stored_prompts_are_found_by_content(harness):
    """With fewer prompts than were stored, and with a file whose lines have been turned round: what a column says of a prompt is that prompt's."""
    fewer = harness.work / "fewer"
    source = many_prompts(harness)
    words = sets(run__dir=fewer, task__train_prompts=16, sft__steps=0)
    code, out, err, _ = harness.run("train", harness.tiny, *SMALL, *words, "--init-from", run(harness, "warm"), "--from-archive", source)
    check(code == 0 and "prompts that the run file does not have" in err, f"{code}\n{out}\n{err}")
    check(result(fewer)["policy_sha256"] == result(source)["policy_sha256"], "GRPO reads no column by prompt, and trains otherwise")
    questions = [{"question": f"{n} {m} ", "answer": str(n), "prior": (n + 1) / 12} for n in range(10) for m in range(12)]
    ends = {}
    for order in ("forth", "back"):
        path = harness.work / f"{order}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in (questions if order == "forth" else questions[::-1])))
        words = sets(task__name="file", task__file=path, task__train_prompts=1000, task__fields__prior="prior", task__answer_marker="", text__tokenizer="byte", sft__steps=0,
                     objective__recipe="v0-5")
        ends[order] = run(harness, order, *words) if order == "forth" else run(harness, order, *words, "--from-archive", ends["forth"])
    check(result(ends["back"])["policy_sha256"] == result(ends["forth"])["policy_sha256"], "a column by prompt fell on another prompt")


def other_sampling_is_named(harness):
    source = many_prompts(harness)
    words = sets(run__dir=harness.work / "cooler", sampling__temperature=0.5, sampling__top_k=3, train__steps=1)
    code, _, err, _ = harness.run("train", harness.tiny, *SMALL, *words, "--from-archive", source)
    check(code == 0 and "sampling.temperature is 0.5, and was 1" in err and "sampling.top_k is 3, and was 0" in err and "max_new_tokens" not in err, err)
    file = next(source.glob("archive/train_*.h5"))
    moved = harness.work / "moved.h5"
    moved.write_bytes(file.read_bytes())
    code, _, err, _ = harness.run("train", harness.tiny, *SMALL, *words, *sets(run__dir=harness.work / "cooler_file"), "--from-archive", moved)
    check(code == 0 and "sampling.temperature is 0.5, and was 1" in err and "top_k" not in err, f"a file alone tells its temperature: {err}")


main(the_archive_says_what_trained, mini_batches_hold_only_what_trains,
     nothing_to_train_is_no_step, training_from_the_archive_is_the_same_training,
     every_selection_is_found_again, ranks_write_the_same, replay_brings_back_only_what_trained,
     a_kill_changes_nothing, a_run_may_end_by_its_rollouts, stored_prompts_are_found_by_content, other_sampling_is_named)
