"""The second pass, prompts made of the answers of a step, and tiers of help: within their bounds, the same on any ranks and after any kill; what trains is what the archive says."""
import collections
import json
import signal
import time

from harness import await_steps, check, main, metrics, result, sets

STEPS, PROMPTS, ROLLOUTS = 4, 8, 4
FIRST_OTHER = 2**39 + 2**38
KINDS = ["reflection", "refinement", "error", "intervention", "continuation", "summary", "counterpart", "pool"]
SMALL = sets(train__steps=STEPS, eval__before="false", eval__after="false", checkpoint__every=2, archive__pack_every=4, model__max_position_embeddings=64, sft__steps=30)
AGAIN = sets(second_pass__kind="refinement", second_pass__of="failed", second_pass__share=0.5, second_pass__rollouts=2, second_pass__refinement="{prompt}{response};")
ERROR = sets(second_pass__kind="error", second_pass__of="failed", second_pass__rollouts=2, second_pass__error="{prompt}{response}?")
BUFFER = sets(second_pass__buffer=0.25, second_pass__buffer_size=6, second_pass__refinement="{prompt}{response};")
POOL = sets(second_pass__kind="pool", second_pass__factor=2)
PARENT = sets(second_pass__trained_on="parent", second_pass__placement="replaces_one")


def train(harness, name, *more, ranks=1, keep=None):
    folder = harness.work / name
    if not (folder / "result.json").exists():
        harness.ranks(ranks).train(folder, *SMALL, *more, keep=keep)
    return folder


def whole(harness):
    return train(harness, "whole", *AGAIN, keep={2: harness.work / "killed_2", 3: harness.work / "killed_3"})


def same_end(folder, reference):
    for key in ("policy_sha256", "archive_sha256", "rollouts_total"):
        check(result(folder)[key] == result(reference)[key], f"{folder.name}: {key} differs from that of {reference.name}")


def kind_of(number):
    return "task" if number < 2**39 else "verdict" if number < FIRST_OTHER else KINDS[number % 65536 // 8192]


def groups_of(harness, run):
    """step -> prompt number and draw -> rollouts"""
    steps = collections.defaultdict(lambda: collections.defaultdict(list))
    for line in harness.succeed("archive", "export", run, "--purpose", "train").splitlines():
        rollout = json.loads(line)
        steps[rollout["step"]][rollout["prompt_id"], rollout["draw"]].append(rollout)
    return steps


def wrong_answers_are_asked_about(harness):
    rows = {row["step"]: row for row in metrics(whole(harness))}
    asked = 0
    for step, groups in groups_of(harness, whole(harness)).items():
        plain = {key: group for key, group in groups.items() if kind_of(key[0]) == "task"}
        again = {key: group for key, group in groups.items() if kind_of(key[0]) == "refinement"}
        check(len(plain) + len(again) == len(groups), f"step {step}: groups of another kind")
        texts = {r["prompt"] + r["completion"] + ";": r["reference"] for group in plain.values() for r in group if r["finish"] == "stop" and not r["correct"]}
        parents = set()
        for group in again.values():
            check(len(group) == 2, f"step {step}: {len(group)} rollouts of a prompt")
            check(texts.get(group[0]["prompt"]) == group[0]["reference"], f"step {step} asks {group[0]['prompt']!r}, which no wrong answer allows")
            parents.add(group[0]["prompt"].split(">")[0])
        check(len(parents) <= PROMPTS // 2, f"step {step} asks about {len(parents)} of {PROMPTS} groups")
        drawn = sum(map(len, groups.values()))
        row = rows[step]
        told = [row["second_pass/rollouts"], row.get("second_pass/refinement_rollouts", 0), 2 * row.get("second_pass/refinement_groups", 0)]
        check(told == [2 * len(again)] * 3, f"step {step}: metrics tell {told}, the archive has {len(again)} groups")
        check(row["rollout_alloc/drawn"] + row["second_pass/rollouts"] == drawn, f"step {step}: the metrics do not add up to {drawn} rollouts")
        solved = [sum(r["correct"] for r in group) / len(group) for group in plain.values()]
        check(abs(row["train/pass_rate"] - sum(solved) / len(solved)) < 1e-12, f"step {step}: train/pass_rate is not that of the task's prompts")
        asked += len(again)
    check(asked > 0, "nothing was ever asked again")


def the_best_of_each_parent_trains(harness):
    for step, groups in groups_of(harness, whole(harness)).items():
        questions = collections.Counter(group[0]["prompt"] for key, group in groups.items() if kind_of(key[0]) == "task")
        again = [group for key, group in groups.items() if kind_of(key[0]) == "refinement"]
        question = {group[0]["prompt"]: next(q for q in questions if group[0]["prompt"].startswith(q)) for group in again}
        kept = collections.Counter(question[group[0]["prompt"]] for group in again for r in group if r["trained"])
        check(set(kept) == set(question.values()), f"step {step}: of {sorted(set(question.values()) - set(kept))} no refinement trains")
        check(all(count <= questions[q] for q, count in kept.items()), f"step {step}: {kept} refinements train, and second_pass.keep is 1")


def same_on_three_ranks_and_after_kills(harness):
    same_end(train(harness, "three", *AGAIN, ranks=3), whole(harness))
    for steps, ranks in ((2, 3), (3, 1)):
        folder = harness.work / f"killed_{steps}"
        harness.ranks(ranks).train(folder, *SMALL, *AGAIN, "--resume")
        same_end(folder, whole(harness))


def killed_between_rounds(harness):
    """SIGKILL as soon as shards of the round in question are in the folder; three ranks go on."""
    for number in (0, 1):
        folder = harness.work / f"round_{number}"
        process = harness.start("train", harness.tiny, "--set", f"run.dir={folder}", *SMALL, *AGAIN, stdout=None, stderr=None)
        await_steps(process, folder, 3)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and process.poll() is None and not list(folder.glob(f"shards/train-000004-{number:02}-*")):
            time.sleep(0.0005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if not (folder / "result.json").exists():
            harness.ranks(3).train(folder, *SMALL, *AGAIN, "--resume")
        same_end(folder, whole(harness))


def its_archive_trains_the_same(harness):
    again = train(harness, "again", *AGAIN, "--from-archive", whole(harness))
    check(result(again)["policy_sha256"] == result(whole(harness))["policy_sha256"], "training from the archive is another training")
    harness.succeed("archive", "verify", whole(harness))


def untouched_where_nothing_fits(harness):
    plain = train(harness, "plain")
    long = "x" * 55  # with the shortest question there is room, and none for a verdict
    none = train(harness, "none", *AGAIN, "--set", f"second_pass.refinement={{prompt}}{{response}}{{feedback}}{long}")
    check(result(none)["policy_sha256"] == result(plain)["policy_sha256"], "a second pass that asks nothing changes the training")
    check(all(row["second_pass/rollouts"] == 0 for row in metrics(none)), "something was asked")
    check(sum(row["second_pass/left_out"] for row in metrics(none)) > 0, "nothing was left out")
    check(result(whole(harness))["policy_sha256"] != result(plain)["policy_sha256"], "a second pass changes nothing")


def every_kind_is_the_same_on_three_ranks(harness):
    for name, settings in (("parent", [*AGAIN, *PARENT]), ("error", ERROR), ("critique", [*AGAIN, *ERROR[-2:], *sets(second_pass__feedback="critique", second_pass__refinement="{prompt}{response}{feedback};")]),
                           ("buffer", BUFFER), ("pool_bf16", [*POOL, *sets(second_pass__numerics="bf16_sliced8")])):
        one = train(harness, name, *settings)
        same_end(train(harness, name + "_3", *settings, ranks=3), one)
    rows = metrics(harness.work / "buffer")
    check(rows[0].get("second_pass/continuation_groups", 0) == 0 and sum(row.get("second_pass/continuation_groups", 0) for row in rows) > 0, f"no history was continued: {rows}")
    check(all(row["rollout_alloc/drawn"] + row.get("second_pass/continuation_rollouts", 0) == PROMPTS * ROLLOUTS for row in rows), "continuations are not of the step's budget")
    check(sum(row["second_pass/error_groups"] for row in metrics(harness.work / "error")) > 0, "no error was asked for")


def help_is_the_same_on_three_ranks(harness):
    """Tiers of help in the question, and as a beginning that trains: they begin as the worked solution, and their archive trains the same."""
    for name, settings in (("question", sets(scheduler__policy="ghpo")), ("beginning", sets(scheduler__policy="adhint", hints__as="beginning", hints__learns="true", objective__recipe="adhint"))):
        one = train(harness, name, *settings)
        same_end(train(harness, name + "_3", *settings, ranks=3), one)
        again = train(harness, name + "_again", *settings, "--from-archive", one)
        check(result(again)["policy_sha256"] == result(one)["policy_sha256"], f"{name}: training from the archive is another training")
        tiers = collections.Counter()
        for step, groups in groups_of(harness, one).items():
            for (prompt, draw), group in groups.items():
                origin, question = group[0].get("from"), groups[prompt, 0][0]["prompt"]
                check((draw > 0) == (origin is not None), f"step {step}: draw {draw} of prompt {prompt} comes from {origin}")
                if origin is None:
                    continue
                tiers[origin["tier"]] += 1
                help_given = group[0]["prompt"].removeprefix(question + "\n\nHint:\n") if name == "question" else group[0]["completion"][:1]
                check(origin["kind"] == "hint" and help_given and group[0]["reference"].startswith(help_given), f"step {step}: {origin} gives {help_given!r} of {group[0]['reference']}")
        check(tiers[3] > 0 and (name == "beginning" or min(tiers[1], tiers[2]) > 0), f"{name}: {tiers} were asked")


def pools_are_drawn_again_by_their_rewards(harness):
    pool = train(harness, "pool", *POOL)
    rows = {row["step"]: row for row in metrics(pool)}
    for step, groups in groups_of(harness, pool).items():
        plain = {key: group for key, group in groups.items() if key[1] < 2048}
        check(sum(map(len, plain.values())) == PROMPTS * ROLLOUTS == rows[step]["rollout_alloc/drawn"], f"step {step}: the scheduler's budget is not exact")
        check(rows[step]["second_pass/pool_rollouts"] == rows[step]["second_pass/rollouts"] == 2 * PROMPTS * ROLLOUTS, f"step {step}: {rows[step]}")
        for (prompt, draw), group in plain.items():
            first = {r["sample"]: r for r in groups[prompt, draw + 2048]}
            check(len(first) == 2 * len(group), f"step {step}: a pool of {len(first)}")
            check(all(first[r["sample"]]["completion"] == r["completion"] for r in group), f"step {step}: what is drawn again is another rollout")
            paid, kept = [r["reward"] for r in first.values()], [r["reward"] for r in group]
            check(max(paid) == max(kept) and min(paid) == min(kept), f"step {step}: of {paid} were drawn again {kept}")
            check(not any(r["trained"] for r in first.values()), f"step {step}: a pool trains")


main(pools_are_drawn_again_by_their_rewards, wrong_answers_are_asked_about, the_best_of_each_parent_trains, same_on_three_ranks_and_after_kills, killed_between_rounds, its_archive_trains_the_same, untouched_where_nothing_fits, every_kind_is_the_same_on_three_ranks, help_is_the_same_on_three_ranks)
