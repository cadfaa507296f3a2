"""Objectives in whole runs: models beside the policy, their state over a stop, the table on the command line, and one check row by row."""
import json
import statistics

from harness import check, main, metrics, result, sets

# A constant rate: another number of steps is another cosine, and the halves of a run must be the whole.
SMALL = sets(sft__steps=20, train__steps=4, eval__before="false", eval__after="false", checkpoint__every=2, train__min_lr_ratio=1)
# What each row below needs that a plain run does not have.
MOVING = sets(objective__pieces__regularizer="kl", objective__knobs__kl_coef=0.5, reference__decay=0.5)
NOVEL = sets(objective__recipe="g2rl")
# Of known columns a leaf holds 65,536 tokens: the objective is evaluated in two.
LARGE = sets(
    train__steps=1, train__prompts_per_step=1024, train__rollouts_per_prompt=20, checkpoint__every=1)
DRAWN = sets(objective__recipe="otr", objective__knobs__draws=5, objective__knobs__draw_temperature=1.5, experts__share=0.5, train__mini_batches=2)
CRITIC = sets(objective__recipe="ppo", critic__lr=0.05, critic__warmup_steps=0, critic__min_lr_ratio=1)


def same_on_three_ranks(harness):
    of_the_step = (  # what the objective says of the whole step, to ranks with a leaf and without
        ("rate", sets(objective__pieces__weight="ess_lr", replay__share=0.5, train__lr=1e-3, train__warmup_steps=0)),
        ("baseline", sets(objective__recipe="reinforce", train__mini_batches=2, train__leaf_tokens=64)))
    batches = sets(train__mini_batches=2, train__epochs=2, objective__recipe="kl_cov")
    for name, settings in (("moving", MOVING), ("critic", CRITIC), ("novel", NOVEL), ("large", LARGE), ("batches", batches), ("drawn", DRAWN), *of_the_step):
        one, three = harness.work / f"{name}_1", harness.work / f"{name}_3"
        harness.ranks(1).train(one, *SMALL, *settings)
        harness.ranks(3).train(three, *SMALL, *settings)
        check(result(one)["policy_sha256"] == result(three)["policy_sha256"], f"{name}: 1 and 3 ranks end with other bits")
        rows = [[{key: value for key, value in row.items() if not key.startswith(("timing_s/", "perf/"))} for row in metrics(run)] for run in (one, three)]
        check(rows[0] == rows[1], f"{name}: 1 and 3 ranks report other metrics")
    slowed = [row for row in metrics(harness.work / "rate_1") if "actor/lr_factor" in row]
    check(slowed and all(abs(row["actor/lr"] / row["actor/lr_factor"] - 1e-3) < 1e-9 for row in slowed), f"the objective's factor is not in the rate: {slowed}")
    state = json.loads((harness.work / "baseline_1/checkpoints/train_000004/objective.json").read_text())
    check(state["statistics"].get("reward_mean", 0) > 0, f"no moving baseline is left behind: {state['statistics']}")
    harness.ranks(1).train(harness.work / "averaged", *SMALL, *DRAWN, *sets(objective__knobs__draws=0, objective__knobs__draw_temperature=1))
    check(result(harness.work / "averaged")["policy_sha256"] != result(harness.work / "drawn_1")["policy_sha256"], "draws change nothing")
    answers = metrics(harness.work / "large_1")[0]
    check(answers["response_length/mean"] * answers["train/rollouts_generated"] > 65536, f"one leaf holds the large step: {answers}")


def a_step_is_one_whatever_its_updates(harness):
    """Six updates a step: what is remembered moves once, by all rollouts of the step; their figures are of the step, those of updates are told of all."""
    folder = harness.work / "updates"
    harness.ranks(1).train(folder, *SMALL, *sets(objective__recipe="reinforce", objective__pieces__surrogate="clip", train__mini_batches=2, train__epochs=3, train__lr=1e-2,
                                                 train__warmup_steps=0))
    lines = [json.loads(line) for line in harness.succeed("archive", "export", folder, "--purpose", "train").splitlines()]
    baseline = 0.0
    for row in metrics(folder):
        scores = [line["reward"] for line in lines if line["step"] == row["step"]]
        mean = statistics.fmean(scores)
        check(abs(row["critic/score/mean"] - mean) < 1e-12 and row["critic/score/max"] == max(scores), f"the score is {row['critic/score/mean']}, not the step's {mean}")
        check(abs(row["critic/advantages/max"] - (max(scores) - baseline)) < 1e-12, f"step {row['step']}: the baseline is not {baseline}")
        baseline = 0.95 * baseline + 0.05 * mean
        check(row["train/updates"] == 6 and row["actor/pg_clipfrac_first"] == row["actor/ppo_kl_first"] == 0, f"{row}")
        check(row["actor/ratio_min_first"] == 1 == row["actor/ratio_max_first"] and row["actor/ratio_min"] <= row["actor/ratio_min_last"] < 1, f"{row}")
        check(0 < row["actor/pg_clipfrac"] < 1 and row["actor/ppo_kl"] != 0 != row["actor/ppo_kl_last"], f"the figures are those of the first update: {row}")
        check(row["actor/grad_norm_first"] != row["actor/grad_norm"] != row["actor/grad_norm_last"], f"{row}")
    state = json.loads((folder / "checkpoints/train_000004/objective.json").read_text())["statistics"]
    check(abs(state["reward_mean"] - baseline) < 1e-12, f"the baseline is {state}, not {baseline}")


def further_passes_are_named(harness):
    """On policy the columns are the archive's and no pass runs but that of the gradient; each one more is counted under its name, alike on any number of ranks."""
    harness.ranks(1).train(harness.work / "plain_1", *SMALL)
    harness.ranks(1).train(harness.work / "later_1", *SMALL, *sets(train__mini_batches=2))
    named = {"drawn": {"draws", "experts", "policy"}, "plain": set(), "moving": {"reference"}, "critic": {"critic", "policy"}, "novel": {"gradients"}, "batches": {"current"}, "later": {"policy"}}
    for name, passes in named.items():
        for row in metrics(harness.work / f"{name}_1"):
            ran = {key.removeprefix("perf/tokens_forward_"): value for key, value in row.items() if key.startswith("perf/tokens_forward_")}
            check(set(ran) == passes, f"{name}, step {row['step']}: passes {ran}")
            answers = row["response_length/mean"] * row["train/rollouts_generated"]
            check(name in ("later", "drawn") or all(value > answers for value in ran.values()), f"{name}, step {row['step']}: {ran} tokens, answers alone have {answers}")
    # The same rollouts in step 1. Its first mini-batch is on policy: of two in two rounds the other one, and then both, are run.
    whole, second, both = (metrics(harness.work / f"{name}_1")[0][f"perf/tokens_forward_{of}"] for name, of in (("moving", "reference"), ("later", "policy"), ("batches", "current")))
    check(0 < second < whole and both == whole + second, f"{both} tokens in two rounds, {whole} in the step, {second} in its second mini-batch")
    critic = metrics(harness.work / "critic_1")[0]
    check(critic["perf/tokens_forward_critic"] == whole and critic["perf/tokens_forward_policy"] % whole == 0, f"{critic}")
    for name in named.keys() - {"plain", "later"}:
        of = [[(key, row[key]) for row in metrics(harness.work / f"{name}_{ranks}") for key in sorted(row) if "tokens_forward" in key] for ranks in (1, 3)]
        check(of[0] == of[1], f"{name}: other counts on 3 ranks")


def goes_on_after_a_stop(harness):
    """The reference and the value head are in the checkpoint: two halves are the whole."""
    for name, settings, row in (("moving", MOVING, "actor/kl_loss"), ("critic", CRITIC, "critic/grad_norm"), ("novel", NOVEL, "train/gradient_cosine_sq"), ("drawn", DRAWN, "actor/grad_norm")):
        folder, whole = harness.work / f"{name}_halves", harness.work / f"{name}_1"
        half = ["--set" if word == "--set" else word.replace("train.steps=4", "train.steps=2") for word in SMALL]
        harness.ranks(1).train(folder, *half, *settings)
        harness.ranks(1).train(folder, "--resume", *SMALL, *settings)
        check(result(folder)["policy_sha256"] == result(whole)["policy_sha256"], f"{name}: a run in two halves ends with other bits")
        check([r[row] for r in metrics(folder)] == [r[row] for r in metrics(whole)], f"{name}: {row} differs")
        check(metrics(whole)[-1][row] > 0, f"{name}: {row} is zero, so equal bits say nothing")


def gradients_do_not_depend_on_leaves(harness):
    """How alike a group's rollouts are: before anything was learned of leaves, which round as they are cut."""
    alike = set()
    for tokens in (20, 1000):
        folder = harness.work / f"leaves_of_{tokens}"
        harness.ranks(1).train(folder, *SMALL, *NOVEL, *sets(sft__steps=0, train__steps=1, train__leaf_tokens=tokens))
        alike.add(metrics(folder)[0]["train/gradient_cosine_sq"])
    check(len(alike) == 1 and 0 < alike.pop() < 1, f"mean squared cosines by leaves: {alike}")


def novel_answers_stay(harness):
    """Questions with three right answers, of which the warm start mostly says one: g2rl drives the gradients of a group apart. Where each answer is paid for another's gradient, or none
    is, they come together."""
    questions, examples = harness.work / "questions.jsonl", harness.work / "said.jsonl"
    asked, right = [f"q{i}" for i in range(32)], json.dumps({"schema": {"enum": [1, 2, 3]}})
    questions.write_text("".join(json.dumps({"question": q, "answer": f"#### {right}"}) + "\n" for q in asked))
    examples.write_text("".join(json.dumps({"prompt": f"{q}\n", "answer": answer}) + "\n" for q in asked for answer in "1111234455"))
    task = sets(task__name="file", task__file=questions, reward__verifier="json", task__format_weight=0, sft__file=examples, sft__steps=30, sampling__max_new_tokens=3,
                train__steps=60, train__prompts_per_step=8, train__rollouts_per_prompt=8, train__lr=2e-3, checkpoint__every=1000, eval__before="false", eval__after="false")
    change = {}
    for name, settings in (("own", []), ("shuffled", sets(objective__knobs__novelty_control="shuffled")), ("none", sets(objective__knobs__novelty_lambda=0))):
        harness.ranks(1).train(harness.work / f"novelty_{name}", *task, *NOVEL, *settings)
        alike = [row["train/gradient_cosine_sq"] for row in metrics(harness.work / f"novelty_{name}")]
        change[name] = statistics.fmean(alike[-10:]) - statistics.fmean(alike[:5])
    check(change["own"] < 0 and min(change["shuffled"], change["none"]) > 0.2, f"change of the mean squared cosine: {change}")


def a_teacher_is_followed(harness):
    teacher = harness.work / "teacher"
    harness.succeed("export", harness.work / "moving_1", teacher)
    settings = sets(objective__recipe="vopd", teacher__model=teacher)
    out = harness.train(harness.work / "distilled", *SMALL, *settings)
    check("policy sha256" in out, "no policy after distillation")
    code, _, err, _ = harness.run("train", harness.tiny, *sets(run__dir=harness.work / "no_teacher", objective__recipe="vopd"))
    check(code == 2 and "teacher.model is empty" in err, f"exit code {code} without a teacher:\n{err}")


def models_beside_the_policy_have_its_numerics(harness):
    """A reference and a teacher that are the policy's own first weights: in one numerics nothing parts them from it, not even rounding."""
    own = harness.work / "own"
    harness.succeed("export", harness.work / "moving_1", own)
    for name, settings, row in (("reference", sets(objective__pieces__regularizer="kl", objective__knobs__kl_coef=0.5), "actor/kl_loss"),
                                ("teacher", sets(objective__recipe="vopd", teacher__model=own), "actor/grad_norm")):
        folder = harness.work / f"bf16_{name}"
        harness.ranks(1).train(folder, *SMALL, *settings, *sets(run__numerics="bf16_sliced8", sft__steps=0, train__steps=1, model__path=own))
        check(metrics(folder)[0][row] == 0, f"{name}: {row} is {metrics(folder)[0][row]}, not 0")


def presets(harness):
    """Each is printed as it is, states no setting that nothing reads, and needs a model and questions only."""
    questions, files = harness.work / "presets.jsonl", sorted((harness.source / "jobs/presets").glob("*.toml"))
    questions.write_text("".join(json.dumps({"question": f"{n} + 1", "answer": str(n + 1)}) + "\n" for n in range(60)))
    check(len(files) >= 3, f"{files}")
    for file in files:
        text = harness.succeed("recipes", "--preset", file.stem)
        check(text == file.read_text(), f"{file.stem} is printed otherwise")
        copy = harness.work / file.name
        copy.write_text(text)
        told = harness.succeed("plan", copy, *sets(model__path="", task__file=questions, sft__steps=0, model__max_position_embeddings=32768))
        check("rollouts a step" in told, told)
    code, _, err, _ = harness.run("recipes", "--preset", "gropo")
    check(code == 2 and "did you mean grpo" in err, f"{code} {err}")


def the_table_is_listed(harness):
    listed = harness.succeed("recipes")
    presets(harness)
    check("grpo " in listed and " recipes; " in listed, listed)
    check("dapo" in harness.succeed("recipes", "--paper", "2503.14476"), "dapo is not found by its paper")
    by_piece = harness.succeed("recipes", "--slot", "surrogate=reinforce")
    check("rloo" in by_piece and "\ngrpo " not in by_piece, by_piece)
    shown = harness.succeed("recipes", "dapo")
    check("weight opsm acts at every update" in harness.succeed("recipes", "opsm"), "a row does not say what acts at every update")
    check("clip_high" in shown and "0.28" in shown and "arXiv:2503.14476" in shown, shown)
    for name, word in (("harmonyguard", "trains nothing"), ("iot-rl-aco", "no language model"), ("contextevolve", "no policy to train"), ("prefix-grouper", "part of every recipe")):
        check(word in harness.succeed("recipes", name) and name in listed, f"{name}: it is not said why it is no recipe")
    for wrong, expected in ((["grop"], "did you mean grpo"), (["--slot", "wieght"], "did you mean weight")):
        code, _, err, _ = harness.run("recipes", *wrong)
        check(code == 2 and expected in err, f"recipes {wrong}: exit code {code}\n{err}")


main(same_on_three_ranks, a_step_is_one_whatever_its_updates, further_passes_are_named, goes_on_after_a_stop, gradients_do_not_depend_on_leaves, novel_answers_stay,
     a_teacher_is_followed, models_beside_the_policy_have_its_numerics, the_table_is_listed)
