"""Scheduling from the command line and in whole runs: the table, policies as filters, the synthetic learner, and state over a stop."""
import json
import subprocess

from harness import check, main, metrics, result, sets

STEP = {"prompts": [3, 1, 2], "select": 2, "budget": 8}


def the_table_is_listed(harness):
    listed = harness.succeed("schedulers")
    names = [line.split()[0] for line in listed.splitlines()[:-1]]
    check("uniform" in names and "uniform_sqrt" in names and f"{len(names)} of {len(names)} schedulers" in listed, listed)
    check("uniform_sqrt " in harness.succeed("schedulers", "--paper", "2601.19280"), "uniform_sqrt is not found by its paper")
    by_piece = harness.succeed("schedulers", "--piece", "allocator=square_root")
    check("uniform_sqrt " in by_piece and "\nuniform " not in by_piece and not by_piece.startswith("uniform "), by_piece)
    check(by_piece == harness.succeed("schedulers", "--piece", "square_root"), "a piece is found with its family only")
    harness.succeed("schedulers", "--year", "1999", code=2)
    shown = harness.succeed("schedulers", "uniform_sqrt")
    check(all(word in shown for word in ("sqrt(p_i (1 - p_i))", "variance_floor", "exactly", "arXiv:2601.19280")), shown)
    for name in names[::6]:
        check(f"{name}: " in harness.succeed("schedulers", name), f"{name} cannot be shown")
    for wrong, expected in ((["unifrm"], "did you mean uniform"), (["--piece", "alocator=equal"], "did you mean allocator")):
        code, _, err, _ = harness.run("policies", *wrong)
        check(code == 2 and expected in err, f"policies {wrong}: exit code {code}\n{err}")


def schedule(harness, *lines, arguments=("uniform_sqrt",)):
    out = harness.succeed("schedule", *arguments, input="\n".join(json.dumps(line) for line in lines) + "\n")
    return [json.loads(line) for line in out.splitlines()]


def a_policy_is_a_filter(harness):
    report = [{"prompt": 1, "rewards": [1, 0, 1, 0]}, {"prompt": 2, "rewards": [0, 0, 0, 0], "loss": 0.5}]
    lines = [STEP | {"report": report}] * 5
    decisions = schedule(harness, *lines)
    check(len(decisions) == 5 and all(sum(d["counts"]) == 8 and len(set(d["selected"])) == 2 for d in decisions), decisions)
    check(decisions == schedule(harness, *lines), "the same steps were decided otherwise")
    check(len({d["state_sha256"] for d in decisions}) == 5, "reports were not learned")
    other = schedule(harness, *lines, arguments=("uniform_sqrt", "--set", "seed=2"))
    check([d["selected"] for d in other] != [d["selected"] for d in decisions], "the seed changes nothing")
    equal = schedule(harness, *lines, arguments=("uniform_sqrt", "--set", "allocator=equal"))
    check(all(d["counts"] == [4, 4] for d in equal), equal)
    flat = schedule(harness, *lines, arguments=("uniform_sqrt", "--set", "variance_floor=0.25"))
    check(all(d["counts"] == [4, 4] for d in flat) and decisions != flat, "a knob changes nothing")
    dense = schedule(harness, {"prompts": [999999, 5], "select": 2, "budget": 4}, arguments=("uniform", "--prompts", "1000000"))
    check(dense[0]["selected"] == [5, 999999], dense)
    check(len(schedule(harness, STEP, arguments=("gdro_paper_rollout",))) == 1, "a warning is no decision")


def it_answers_line_by_line(harness):
    process = harness.start("schedule", "uniform", stdin=subprocess.PIPE)
    for _ in range(3):
        process.stdin.write(json.dumps(STEP) + "\n")
        process.stdin.flush()
        check(len(json.loads(process.stdout.readline())["selected"]) == 2, "no decision before the next line")
    process.stdin.close()
    check(process.wait(30) == 0, f"exit code {process.returncode}")


def a_trainer_drives_it(harness):
    """One line a step while a policy has one round, else as many as it asks for. A log of the same results ends in the same states."""
    def results(answer):
        return [{"prompt": p, "rewards": [int((p + j) % 3 == 0) for j in range(n)]} for p, n in zip(answer["selected"], answer["counts"])]

    def trainer(policy):
        process = harness.start("schedule", policy, stdin=subprocess.PIPE)

        def ask(line):
            process.stdin.write(json.dumps(line) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        return process, ask

    process, ask = trainer("uniform_sqrt")
    answers = [ask(STEP)]
    for _ in range(4):
        answers.append(ask(STEP | {"returned": results(answers[-1])}))
    log = schedule(harness, *[STEP | {"report": results(answer)} for answer in answers])
    check([a["counts"] for a in log] == [a["counts"] for a in answers], f"other decisions:\n{log}\n{answers}")
    check([a["state_sha256"] for a in log[:-1]] == [a["state_sha256"] for a in answers[1:]], f"other states:\n{log}\n{answers}")
    check(all(len(a["train"]) == 2 for a in answers[1:]) and "train" not in answers[0], answers)
    process.stdin.close()
    process.wait(30)

    process, ask = trainer("reinforce_ada")
    rounds = [ask(STEP | {"max_rollouts": 16})]
    while "selected" in rounds[-1]:
        rounds.append(ask({"returned": results(rounds[-1])}))
    check(len(rounds) > 2 and rounds[0]["more"] and len(rounds[-1]["train"]) == 2 and "state_sha256" in rounds[-1], rounds)
    process.stdin.close()
    check(process.wait(30) == 0, f"exit code {process.returncode}")


def bad_lines_end_it(harness):
    code, out, err, _ = harness.run("schedule", "uniform", input=json.dumps(STEP) + "\n\n{\"prompts\": [1]}\n")
    check(code == 2 and len(out.splitlines()) == 1 and len(err.splitlines()) == 1 and "line 3" in err and "budget" in err, f"exit code {code}\n{out}\n{err}")
    for arguments, expected in ((["unifrm"], "did you mean uniform"), (["uniform", "--set", "seed=x"], "seed=x"), (["uniform", "--set", "sampler=unifrm"], "did you mean uniform"),
                                (["uniform_sqrt", "--set", "nope=1"], "nope"), (["uniform", "--set", "seed"], "key=value")):
        code, out, err, _ = harness.run("schedule", *arguments, input=json.dumps(STEP) + "\n")
        check(code == 2 and not out and expected in err, f"schedule {arguments}: exit code {code}\n{out}\n{err}")


def policies_are_compared(harness):
    picture = harness.work / "compared.svg"
    out = harness.succeed("simulate", "--policy", "uniform", "--policy", "uniform_sqrt", "--prompts", "1000000", "--steps", "20", "--out", picture)
    rows = {line.split()[0]: line.split() for line in out.splitlines()}
    check(float(rows["uniform_sqrt"][6]) > float(rows["uniform"][6]), f"the square-root law buys no signal:\n{out}")
    check(rows["uniform"][7] == rows["uniform_sqrt"][7] == str(20 * 256 * 8) and rows["uniform"][2] == "+0.00", out)
    svg = picture.read_text()
    check(svg.startswith("<svg") and "uniform_sqrt" in svg and "rollouts drawn" in svg, "no picture")


SHORT = ("--prompts", "500", "--prompts-per-step", "16", "--rollouts", "4", "--steps", "30", "--out", "short.svg")


def short_but(change):
    """SHORT without the flags that change."""
    return [word for flag in zip(SHORT[::2], SHORT[1::2]) if flag[0] not in change for word in flag]


def flags_reach_the_simulation(harness):
    everything = harness.succeed("simulate", "--policy", "all", *SHORT)
    names = [line.split()[0] for line in harness.succeed("schedulers").splitlines()[:-1]]
    check([line.split()[0] for line in everything.splitlines()[1:-1]] == names, everything)

    def table(*arguments):
        return {line.split("  ")[0]: line for line in harness.succeed("simulate", *arguments, *short_but(arguments)).splitlines()[1:-1]}

    plain = table("--policy", "uniform_sqrt")["uniform_sqrt"].split()
    check(plain[7] == str(16 * 4 * 30), plain)
    for change in (["--rollouts", "6"], ["--min-rollouts", "4", "--max-rollouts", "4"], ["--seed", "2"], ["--set", "variance_floor=0.25"], ["--set", "allocator=knapsack"]):
        out = harness.succeed("simulate", "--policy", "uniform_sqrt", *short_but(change), *change)
        check(out.splitlines()[1].split() != plain, f"{change} changes nothing")
    both = table("--policy", "uniform_sqrt", "--policy", "uniform_sqrt variance_floor=0.25", "--policy", "uniform", "--set", "prior_success=0.9")
    ends = {name: line.split()[-3:] for name, line in both.items()}
    check(len({" ".join(end) for end in [plain[-3:], *ends.values()]}) == 3 and ends["uniform"] == ends["uniform_sqrt variance_floor=0.25"], f"{plain} {both}")
    several = table("--policy", "uniform", "--policy", "dapo", "--seeds", "3")
    check(several["uniform"].count("+-") == 4 and several["dapo"].count("+-") == 4 and "+-0.00" not in several["dapo"], several)
    singly = [float(table("--policy", "uniform", "--seed", seed)["uniform"].split()[6]) for seed in (1, 2, 3)]
    check(abs(sum(singly) / 3 - float(several["uniform"].split()[-3])) < 2e-5, f"{singly}\n{several}")
    for wrong, expected in ((["--policy", "unifrm"], "did you mean uniform"), (["--policy", "uniform", "--set", "most_arm=4"], "none of the policies"), (["--set", "seed=2"], "--seed"),
                            (["--policy", "rollout_gdro most_am=4"], "most_am"), (["--policy", "all", "--set", "most_am=4"], "did you mean most_arm"),
                            (["--set", "most_arm"], "key=value"), (["--max-rollouts", "3"], "--rollouts 4"), (["--prompts", "10"], "--prompts-per-step 16")):
        code, out, err, _ = harness.run("simulate", *short_but(wrong), *wrong)
        check(code == 2 and expected in err and not out, f"simulate {wrong}: exit code {code}\n{out}\n{err}")


SMALL = sets(sft__steps=10, train__steps=4, train__min_lr_ratio=1, eval__before="false", eval__after="false", checkpoint__every=2)


DIVERSE = sets(scheduler__knobs__outcome_weight=0, scheduler__knobs__diversity_weight=1)


def differing_answers_reach_the_sampler(harness):
    """Scores by diversity alone, which scoring measures: either measure draws other prompts than the outcomes do."""
    def draws(name, *knobs):
        folder = harness.work / f"diverse_{name}"
        harness.ranks(1).train(folder, *SMALL, *sets(scheduler__policy="mmr1", scheduler__knobs__variance_share=1), *knobs)
        return result(folder)["archive_sha256"]

    ends = {"outcomes": draws("outcomes"), "self_bleu": draws("self_bleu", *DIVERSE), "distinct": draws("distinct", *DIVERSE, *sets(scheduler__knobs__diversity="distinct_3"))}
    check(ends["outcomes"] not in (ends["self_bleu"], ends["distinct"]), f"{ends}")


def state_survives_a_stop_on_any_ranks(harness):
    """Two halves on one and on three ranks are the whole, for policies whose pieces all keep a state."""
    for name, exact, *knobs in (("gdro_both", True), ("gdro_both_resample", True), ("reinforce_ada", False), ("mmr1", True, *DIVERSE)):
        policy = [*sets(scheduler__policy=name), *knobs]
        whole = harness.work / f"{name}_whole"
        harness.ranks(1).train(whole, *SMALL, *policy)
        drawn = [row["rollout_alloc/drawn"] for row in metrics(whole)]
        check(drawn == [32] * 4 if exact else len(drawn) == 4 and min(drawn) > 0, f"{name}: drew {drawn}")
        for ranks in (1, 3):
            folder = harness.work / f"{name}_{ranks}"
            harness.ranks(ranks).train(folder, *SMALL, *sets(train__steps=2), *policy)
            harness.ranks(ranks).train(folder, "--resume", *SMALL, *policy)
            for key in ("policy_sha256", "archive_sha256"):
                check(result(folder)[key] == result(whole)[key], f"{name} on {ranks} ranks, in two halves: another {key}")
            for one, other in zip(metrics(whole), metrics(folder)):
                mine = {key: value for key, value in one.items() if key.startswith(("rollout_alloc/", "gdro/"))}
                check(mine == {key: other.get(key) for key in mine}, f"{name} on {ranks} ranks: other metrics in step {one['step']}")
    page = (harness.work / "gdro_both_whole/report.html").read_text()
    for title in ("Difficulty bins", "Prompts by bin", "Pass rate by bin", "Weight of the advantages by bin", "Rollouts per prompt by bin"):
        check(title in page, f"report.html does not show: {title}")


def a_large_step_is_spent_exactly(harness):
    """256 prompts and 1,024 rollouts, generated, scored and trained on; tests/run has a hundred such steps of every policy without a model."""
    for name in ("gdro_both", "knapsack"):
        folder = harness.work / f"large_{name}"
        harness.ranks(1).train(folder, *SMALL, *sets(scheduler__policy=name, train__steps=3, train__prompts_per_step=256, train__rollouts_per_prompt=4, task__train_prompts=512, task__max_level=4))
        rows = metrics(folder)
        check([row["rollout_alloc/drawn"] for row in rows] == [1024] * 3 == [row["train/rollouts_trained"] for row in rows], f"{name}: {rows}")
        check(sum(result(folder)["rollouts_per_level"].values()) == 3072, f"{name}: {result(folder)['rollouts_per_level']}")


def rollouts_end_a_run(harness):
    """train.rollouts: the step that reaches them is the last, before train.steps and at once when a finished run is resumed."""
    folder = harness.work / "rollouts"
    wanted = [*SMALL, *sets(train__rollouts=65)]  # 32 a step
    harness.ranks(1).train(folder, *wanted)
    check(len(metrics(folder)) == 3 and result(folder)["train_steps"] == 3, f"{len(metrics(folder))} steps")
    harness.ranks(1).train(folder, "--resume", *wanted)
    check(len(metrics(folder)) == 3, "a finished run went on")


def weights_reach_the_update(harness):
    """Equal draws, other weights: the first step samples the same answers and makes another update of them."""
    ends = {}
    for name in ("uniform", "gdro_reweight"):
        folder = harness.work / f"weights_{name}"
        harness.ranks(1).train(folder, *SMALL, *sets(scheduler__policy=name))
        rows = metrics(folder)
        ends[name] = result(folder)["policy_sha256"], [row["critic/score/mean"] for row in rows][0], [row["actor/grad_norm"] for row in rows][0]
    check(ends["uniform"][1] == ends["gdro_reweight"][1], f"the first step drew other answers: {ends}")
    check(ends["uniform"][0] != ends["gdro_reweight"][0] and ends["uniform"][2] != ends["gdro_reweight"][2], f"weights of the bins changed nothing: {ends}")


def losses_reach_the_policy(harness):
    """With advantage = reward - 0.5, on-policy, the loss is 0.5 - mean reward: the signal that the policy reports is that of the update."""
    folder = harness.work / "losses"
    harness.ranks(1).train(folder, *SMALL, *sets(scheduler__policy="gdro_reweight", scheduler__knobs__signal="surrogate_loss", scheduler__knobs__bin_edges="[]",
                                                 objective__pieces__advantage="fixed_baseline"))
    for row in metrics(folder):
        signal = row["gdro/signal/0"]
        check(signal != 0, f"step {row['step']}: the signal is zero, so equality says nothing")
        check(abs(signal + row["critic/score/mean"] - 0.5) < 1e-6, f"step {row['step']}: a loss of {signal} at a mean reward of {row['critic/score/mean']}")


def changed_prompts_are_told(harness):
    """A question file that grew and lost lines between two halves: what is known of the rest goes on, and a warning counts."""
    questions, folder = harness.work / "questions.jsonl", harness.work / "changed"
    lines = [json.dumps({"question": f"{a}+{b}", "answer": f"#### {a + b}"}) for a in range(1, 11) for b in range(10, 22)]
    settings = [*SMALL, *sets(scheduler__policy="gdro_both", task__name="file", task__file=questions, text__tokenizer="byte", task__train_prompts=1000, task__answer_marker="")]
    questions.write_text("\n".join(lines[:100]))
    harness.ranks(1).train(folder, *settings, *sets(train__steps=2))
    questions.write_text("\n".join(lines[5:]))
    code, out, err, _ = harness.run("train", harness.tiny, "--resume", *sets(run__dir=folder), *settings)
    check(code == 0 and "the training prompts have changed" in out + err, f"exit code {code}\n{out}\n{err}")
    check([row["step"] for row in metrics(folder)] == [1, 2, 3, 4], "the resumed run did not go on")


main(the_table_is_listed, a_policy_is_a_filter, it_answers_line_by_line, a_trainer_drives_it, bad_lines_end_it, policies_are_compared, flags_reach_the_simulation, a_large_step_is_spent_exactly, rollouts_end_a_run, weights_reach_the_update,
     losses_reach_the_policy, changed_prompts_are_told, differing_answers_reach_the_sampler, state_survives_a_stop_on_any_ranks)
