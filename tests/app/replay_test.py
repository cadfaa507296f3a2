"""What a step's policy did not sample: replayed groups, an expert's answers, greedy baselines, a guide's beginnings; and what it is asked besides. The same bits on any ranks and after a kill, and counted apart."""
import json
import shutil

from harness import check, main, metrics, result, sets

STEPS, BUDGET = 12, 32
SMALL = sets(sft__steps=20, train__steps=STEPS, train__mini_batches=2, eval__before="false", eval__after="false", checkpoint__every=3, archive__pack_every=6)
REPLAY = sets(replay__share=0.5, replay__max_staleness=10)
KINDS = {
    "uniform": [*REPLAY, *sets(objective__recipe="dots-rr", replay__old_policy="current")],
    "advantage": [*REPLAY, *sets(objective__recipe="skywork-r1v2-ssb", replay__choose="advantage")],
    "current": [*REPLAY, *sets(objective__recipe="remix-squeeze", replay__old_policy="current", replay__choose="newest", train__epochs=2)],
    "restart": [*REPLAY, *sets(objective__recipe="remix-squeeze", replay__old_policy="current", reference__refresh_every=4, train__mini_batches=1)],
    "chord": sets(objective__recipe="chord", experts__share=0.5, objective__knobs__mu_warmup=0),
    "dypo": sets(objective__recipe="dypo", experts__share=1),
    "both": [*REPLAY, *sets(objective__recipe="chord", experts__share=0.5, objective__knobs__mu_warmup=0)],
    "greedy": sets(objective__recipe="remax"),
    "drift": sets(objective__recipe="spo-single-stream", scheduler__policy="spo"),
    "guide": sets(objective__recipe="rlgf", guide__model="guide_policy", guide__share=0.5, guide__max_tokens=3),
    "probes": sets(objective__recipe="spae-step-potential", model__max_position_embeddings=40, task__name="word_sorting", task__min_level=2, task__max_level=3, sampling__max_new_tokens=10, sft__steps=60,
                   probes__delimiter='" "', probes__opener='"="', probes__max_tokens=3),
}


def whole(harness, kind):
    folder = harness.work / kind
    if kind == "guide" and not (harness.work / "guide_model").exists():
        harness.succeed("sft", harness.tiny, *sets(run__dir=harness.work / "guide_model", sft__steps=60))
        harness.succeed("export", harness.work / "guide_model", harness.work / "guide_policy")
    if not folder.exists():
        harness.ranks(1).train(folder, *SMALL, *KINDS[kind])
    return folder


def same_end(folder, reference):
    for key in ("policy_sha256", "archive_sha256", "rollouts_total"):
        check(result(folder)[key] == result(reference)[key], f"{folder.name}: {key} differs from that of {reference.name}")


def same_on_three_ranks(harness):
    for kind, settings in KINDS.items():
        whole(harness, kind)
        harness.ranks(3).train(harness.work / f"{kind}_3", *SMALL, *settings)
        same_end(harness.work / f"{kind}_3", whole(harness, kind))


def differs_from_none(harness):
    """What is added changes the training, so equal bits above say something."""
    plain = harness.work / "plain"
    harness.ranks(1).train(plain, *SMALL, *sets(objective__recipe="grpo", objective__pieces__weight="importance", objective__pieces__aggregate="token-mean",
                                                objective__knobs__importance_high=1e9))  # the row dots-rr, which is refused without replay
    check(result(plain)["policy_sha256"] != result(whole(harness, "uniform"))["policy_sha256"], "replay changes nothing")
    check(result(whole(harness, "chord"))["policy_sha256"] != result(whole(harness, "both"))["policy_sha256"], "replay beside experts changes nothing")


def counted_apart(harness):
    for kind in KINDS:
        rows = metrics(whole(harness, kind))
        check(len(rows) == STEPS and result(whole(harness, kind))["rollouts_total"] == STEPS * BUDGET, f"{kind}: replayed, expert or greedy rollouts count as sampled")
        check(all(row["train/rollouts_generated"] == BUDGET for row in rows), f"{kind}: another number of rollouts is called generated")
        first = "" if kind == "restart" else "_first"  # which makes one update a step
        check(all(row[f"actor/ratio_min{first}"] == 1 == row[f"actor/ratio_max{first}"] for row in rows), f"{kind}: the ratio of fresh tokens is not 1 at first")
        beside = [row.get("replay/rollouts", 0) + row.get("experts/rollouts", 0) for row in rows]
        check([row["train/rollouts_trained"] for row in rows] == [BUDGET + more for more in beside], f"{kind}: the number of trained rollouts")
        check(kind in ("greedy", "guide", "drift", "probes") or sum(beside) > 0, f"{kind}: nothing was added to any step")
        entries = json.loads((whole(harness, kind) / "archive/manifest.json").read_text())["files"]
        archived = {purpose: sum(e["rollouts"] for e in entries if e["purpose"] == purpose) for purpose in ("train", "greedy")}
        check(archived["train"] == STEPS * BUDGET, f"{kind}: the archive holds {archived['train']} training rollouts")
        check((archived["greedy"] == sum(row.get("greedy/rollouts", 0) for row in rows) > 0) == (kind == "greedy"), f"{kind}: greedy rollouts {archived['greedy']}")


def a_new_base_model_starts_the_data_anew(harness):
    """After steps 4 and 8 the policy is the base model: nothing older comes back, and the divergence from it begins at 0."""
    rows = metrics(whole(harness, "restart"))
    for row in rows:
        since = (row["step"] - 1) % 4  # steps since the change
        check(row.get("replay/staleness_max", 0) <= since, f"step {row['step']} replays what is older than the base model: {row}")
        check(("replay/groups" in row) == (since > 0), f"step {row['step']}: {row.get('replay/groups')} groups came back")
        check((row["actor/kl_convex_loss"] == 0) == (since == 0), f"step {row['step']}: {row['actor/kl_convex_loss']} from the base model")


def experts_are_several_teachers(harness):
    """Of two solutions of every question a step takes either: the policy is that of neither alone, and the same on three ranks."""
    ways, ends = ("#### {}", "so #### {}"), {}
    for name, taken, ranks in (("both", ways, 1), ("both_3", ways, 3), ("first", ways[:1], 1), ("second", ways[1:], 1)):
        file = harness.work / f"teachers_{name}.jsonl"
        file.write_text("".join(json.dumps({"question": f"{a}+{b}", "answer": [way.format(a + b) for way in taken]}) + "\n" for a in range(5) for b in range(5)))
        settings = sets(task__name="file", task__file=file, sft__steps=0, train__steps=4, model__max_position_embeddings=48, sampling__max_new_tokens=16, eval__before="false", eval__after="false")
        harness.ranks(ranks).train(harness.work / f"teachers_{name}", *settings, *KINDS["dypo"])
        ends[name] = result(harness.work / f"teachers_{name}")["policy_sha256"]
    check(ends["both"] == ends["both_3"], "another teacher is drawn on three ranks")
    check(len({ends["both"], ends["first"], ends["second"]}) == 3, f"one of two teachers is not heard: {ends}")


def replayed_metrics(harness):
    rows = metrics(whole(harness, "uniform"))
    check("replay/groups" not in rows[0] and all(row["replay/groups"] == 8 for row in rows[1:]), "half of the groups, and none in the first step")
    check(all(0 < row["replay/staleness_mean"] <= row["replay/staleness_max"] <= 10 for row in rows[1:]), "staleness")
    check(max(row["replay/staleness_max"] for row in rows[1:]) == 10, "the staleness limit was never reached, so it says nothing")
    check(all(row["replay/ratio_min"] < 1 < row["replay/ratio_max"] for row in rows[3:]), "the ratio of replayed tokens does not move")
    check(all(row.get("replay/ppo_kl_first", 0) == 0 for row in metrics(whole(harness, "current"))), "with old_policy = current old and new log-prob are one at first")


def guided(harness):
    """Half of the groups begin with one to three tokens that are not the policy's; with a share of 0 nothing is left of it."""
    rows, limit = metrics(whole(harness, "guide")), 3
    began = [row.get("guide/rollouts", 0) for row in rows]
    check(0.25 * STEPS * BUDGET < sum(began) < 0.75 * STEPS * BUDGET, f"{sum(began)} rollouts began with the guide's tokens")
    check(all(1 <= row["guide/tokens_mean"] <= limit for row in rows if "guide/rollouts" in row), "lengths of beginnings")
    without = {}
    for share, folder in ((None, "rlgf_alone"), (0, "rlgf_share_0")):
        settings = sets(objective__recipe="rlgf") if share is None else [*KINDS["guide"], *sets(guide__share=0)]
        harness.ranks(1).train(harness.work / folder, *SMALL, *settings)
        without[folder] = result(harness.work / folder)["policy_sha256"]
    check(len(set(without.values())) == 1, "a guide with a share of 0 changes the policy")
    check(result(whole(harness, "guide"))["policy_sha256"] not in without.values(), "the guide changes nothing")


def a_guided_archive_is_trained_from(harness):
    """Its texts hold the guide's beginnings, its policy turns do not."""
    folder = harness.work / "from_guided"
    harness.ranks(1).train(folder, *SMALL, *KINDS["guide"], "--from-archive", whole(harness, "guide"))
    check(result(folder)["policy_sha256"] == result(whole(harness, "guide"))["policy_sha256"], "training from the archive of a guided run is another training")


def probes_are_asked_again(harness):
    """They are not in the archive: training from it asks again and finds the same. Without the gains the policy is another."""
    run, again, plain = whole(harness, "probes"), harness.work / "from_probed", harness.work / "unshaped"
    rows = metrics(run)
    check(sum(row["probes/steps"] for row in rows) > 50, f"steps: {[row['probes/steps'] for row in rows]}")
    check(all(0 < row["probes/accuracy_mean"] < 1 and 0 < row["probes/confidence_mean"] <= 1 for row in rows if row["probes/steps"] > 0), "what probes found")
    harness.ranks(1).train(again, *SMALL, *KINDS["probes"], "--from-archive", run)
    check(result(again)["policy_sha256"] == result(run)["policy_sha256"], "training from the archive of a probed run is another training")
    check([row["probes/accuracy_mean"] for row in metrics(again)] == [row["probes/accuracy_mean"] for row in rows], "probes find something else")
    harness.ranks(1).train(plain, *SMALL, *KINDS["probes"], *sets(objective__knobs__shaping=0))
    check(result(plain)["policy_sha256"] != result(run)["policy_sha256"], "what probes find changes nothing")


def drift_is_that_of_the_previous_answers(harness):
    """The tracker of the scheduler and that of the objective agree, and what it forgets by is recomputed from archive and checkpoint."""
    run = whole(harness, "drift")
    state = {name: json.loads((run / f"checkpoints/train_{STEPS:06}/{name}.json").read_text()) for name in ("objective", "scheduler")}
    tracked = state["objective"]["success"]
    check(len(tracked) > 20 and tracked == state["scheduler"]["sampler"]["counts"], "scheduler and objective do not know the same")
    told = {row["step"]: row["success/drift_mean"] for row in metrics(run) if "success/drift_mean" in row}
    step = STEPS - 2  # its update begins with the policy of a checkpoint
    check(step in told and all(value > 0 for value in told.values()), f"drifts: {told}")
    rollouts = [json.loads(line) for line in harness.succeed("archive", "export", run, "--tokens", "--purpose", "train").splitlines()]
    previous = {}
    for rollout in rollouts:
        if rollout["step"] < step and rollout["sample"] == 0:
            previous[rollout["prompt_id"]] = rollout
    again = [previous[prompt] for prompt in sorted({r["prompt_id"] for r in rollouts if r["step"] == step}) if prompt in previous]
    asked = [[token for turn in rollout["turns"] for token in turn["tokens"]] for rollout in again]
    now = harness.succeed("logprob", f"{run}@{step - 1}", input="\n".join(map(json.dumps, asked))).splitlines()
    drifts = []
    for rollout, line in zip(again, now):
        then = rollout["turns"][-1]["logprob"]
        drifts.append(sum(abs(a - b) for a, b in zip(json.loads(line)[-len(then):], then)) / len(then))
    mean = sum(drifts) / len(drifts)
    check(abs(mean - told[step]) < 1e-4 * mean, f"drift of {len(again)} answers: {mean}, metrics say {told[step]}")


def kill_and_resume(harness, kind, ranks, *rows):
    """Killed without warning after some steps, once or more, and resumed at last on `ranks`: what it takes up again comes from shards and archive."""
    run, resume = harness.work / f"{kind}_disturbed", []
    for count in rows:
        killed = harness.work / f"{kind}_killed_{count}"
        harness.ranks(1).train(run, *resume, *SMALL, *KINDS[kind], keep={count: killed})
        run, resume = killed, ["--resume"]
    harness.ranks(ranks).train(run, *resume, *SMALL, *KINDS[kind])
    same_end(run, whole(harness, kind))


def survives_a_kill(harness):
    for kind, ranks, *rows in (("uniform", 1, 5, 8), ("advantage", 3, 8), ("current", 1, 4), ("restart", 1, 6), ("both", 1, 7), ("greedy", 1, 5), ("guide", 1, 5), ("drift", 1, 5), ("probes", 3, 5)):
        kill_and_resume(harness, kind, ranks, *rows)


def goes_on_after_a_stop(harness):
    """Stopped in order at step 5: two halves are the whole."""
    flat = sets(train__min_lr_ratio=1)  # another number of steps is another cosine
    halves, reference = harness.work / "halves", harness.work / "flat"
    half = [word.replace(f"train.steps={STEPS}", "train.steps=5") for word in SMALL]
    harness.ranks(1).train(halves, *half, *KINDS["uniform"], *flat)
    harness.ranks(1).train(halves, "--resume", *SMALL, *KINDS["uniform"], *flat)
    harness.ranks(1).train(reference, *SMALL, *KINDS["uniform"], *flat)
    same_end(halves, reference)
    check([row.get("replay/ratio_max") for row in metrics(halves)] == [row.get("replay/ratio_max") for row in metrics(reference)], "replay/ratio_max differs")


def repair_says_what_is_lost_to_replay(harness):
    for kind, said in (("uniform", True), ("plain", False)):
        folder = harness.work / f"{kind}_holed"
        shutil.copytree(harness.work / kind, folder)
        shutil.rmtree(folder / "checkpoints/train_000012")  # so that some steps are left to the run
        victim = sorted((folder / "archive").glob("train_*.h5"))[0]
        victim.write_bytes(victim.read_bytes()[:-100])
        out = harness.succeed("archive", "repair", folder)
        check(f"lost       archive/{victim.name}: " in out and ("replay     replay.share is above 0" in out) == said, f"{kind}: {out}")


main(same_on_three_ranks, differs_from_none, counted_apart, a_new_base_model_starts_the_data_anew, experts_are_several_teachers, replayed_metrics, drift_is_that_of_the_previous_answers, guided, a_guided_archive_is_trained_from, probes_are_asked_again, survives_a_kill, goes_on_after_a_stop, repair_says_what_is_lost_to_replay)
