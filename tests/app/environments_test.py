"""Runs whose rollouts are conversations with built-in environments: every row trains, with equal bits on other ranks and threads, after kills inside a conversation and after its end; evaluations talk as well."""
import json
import pathlib
import shutil
import signal
import string
import sys
import time

from harness import await_steps, check, main, metrics, result, sets

ROWS = ["retry", "key_door", "rooms", "frozen_lake", "bandit", "twenty_questions", "number_dialogue", "shop", "forms"]
TALK = sets(task__format_weight=0, task__min_level=2, task__max_level=3, model__max_position_embeddings=256, sampling__max_new_tokens=64, sampling__turn_tokens=16,
            environment__max_turns=3, sft__steps=20, train__prompts_per_step=4, eval__before="false", eval__after="false")
SHORT = [*TALK, *sets(train__steps=2, checkpoint__every=2, archive__pack_every=2)]
LONG = [*TALK, *sets(task__name="key_door", train__steps=6, checkpoint__every=2, archive__pack_every=2)]
CALL = '<tool_call>\n{"name": "calculator", "arguments": {"expression": "6*7"}}\n</tool_call>'

# Greets with its conversation's id in place of the prompt, and says which turn it was.
GREETER = '''#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["op"] == "close":
        continue
    turn = asked["turn"] + 1 if asked["op"] == "step" else 0
    text = f"told {turn}" if turn else "greeting " + asked["id"]
    print(json.dumps({"id": asked["id"], "state": None, "text": text if turn < 3 else "", "reward": 0, "done": turn == 3}), flush=True)
'''


def of_row(name):
    return sets(environment__name="retry") if name == "retry" else sets(task__name=name)


def train(harness, name, *settings, ranks=1):
    folder = harness.work / name
    if not (folder / "result.json").exists():
        harness.ranks(ranks).train(folder, *settings)
    return folder


def whole(harness):
    return train(harness, "whole", *LONG)


def same_end(folder, reference):
    for key in ("policy_sha256", "archive_sha256", "rollouts_total"):
        check(result(folder)[key] == result(reference)[key], f"{folder.name}: {key} differs from that of {reference.name}")


def rollouts_of(harness, run, purpose="train"):
    return [json.loads(line) for line in harness.succeed("archive", "export", run, "--purpose", purpose).splitlines()]


def actions_of(rollout):
    return [turn for turn in rollout["turns"] if turn["role"] == "policy"]


def every_row_trains_alike(harness):
    for name in ROWS:
        run = train(harness, name, *SHORT, *of_row(name))
        same_end(train(harness, name + "_3", *SHORT, *of_row(name), *sets(run__threads=2), ranks=3), run)
        rows = metrics(run)
        check(len(rows) == 2 and all(1 <= row["turns/mean"] <= row["turns/max"] <= 3 for row in rows), f"{name}: {rows}")
        check(all(row["environment/lost"] == row["environment/restarted"] == 0 for row in rows), f"{name} lost conversations: {rows}")
        check(all("timing_s/environment_wait" in row and "perf/environment_answer_ms" in row for row in rows), f"{name}: {rows}")
    spoken = [rollout for name in ROWS for rollout in rollouts_of(harness, harness.work / name)]
    check(all("turns" in rollout for rollout in spoken), "a rollout has no turns")
    lengths = {len(actions_of(rollout)) for rollout in spoken}
    check({1, 2, 3} <= lengths, f"conversations have {lengths} turns")
    check({rollout["finish"] for rollout in spoken} <= {"stop", "length", "turns"} and any(rollout["finish"] == "turns" for rollout in spoken), "no conversation ended at the limit of turns")


def what_turns_are_paid_is_the_reward(harness):
    run = train(harness, "paid", *SHORT, *sets(task__name="frozen_lake", task__max_level=2, environment__max_turns=8, sampling__turn_tokens=8, sft__steps=100))
    paid = [rollout for rollout in rollouts_of(harness, run) if any(turn["reward"] for turn in rollout["turns"])]
    check(len(paid) > 3 and all(abs(sum(turn["reward"] for turn in rollout["turns"]) - rollout["reward"]) < 1e-9 for rollout in paid), f"{len(paid)} rollouts were paid, and not the sum of their turns")


def key_door_is_the_same_on_any_ranks_and_threads(harness):
    for name, ranks, threads in (("two_threads", 1, 2), ("three", 3, 1), ("three_two", 3, 2)):
        same_end(train(harness, name, *LONG, *sets(run__threads=threads), ranks=ranks), whole(harness))
    told = rollouts_of(harness, whole(harness))
    rows = metrics(whole(harness))
    turns = [len(actions_of(rollout)) for rollout in told if rollout["step"] == 1]
    check(rows[0]["turns/max"] == max(turns) and abs(rows[0]["turns/mean"] - sum(turns) / len(turns)) < 1e-9, f"turns/mean {rows[0]['turns/mean']} of {turns}")
    flags = [turn["flags"] for rollout in told if rollout["step"] == 1 for turn in actions_of(rollout)]
    check(abs(rows[0]["turns/invalid_share"] - sum("invalid" in own for own in flags) / len(flags)) < 1e-9, f"turns/invalid_share {rows[0]['turns/invalid_share']} of {flags}")
    for rollout in told:  # the environment answers every action but one that was cut, and says nothing after the last
        roles = [turn["role"] for turn in rollout["turns"]]
        check(roles[0] == "prompt" and all(role != other for role, other in zip(roles[1:], roles[2:])), f"turns of {roles}")
        check((roles[-1] == "policy") == (rollout["finish"] == "length"), f"{rollout['finish']} after {roles}")


def killed_inside_a_conversation(harness):
    """SIGKILL some milliseconds into a step, which is mostly talk; other ranks go on."""
    for number, (steps, after_s, ranks) in enumerate(((1, 0.0, 3), (2, 0.006, 1), (3, 0.012, 3), (4, 0.02, 1))):
        folder = harness.work / f"killed_{number}"
        process = harness.start("train", harness.tiny, "--set", f"run.dir={folder}", *LONG, stdout=None, stderr=None)
        await_steps(process, folder, steps)
        time.sleep(after_s)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if not (folder / "result.json").exists():
            harness.ranks(ranks).train(folder, *LONG, "--resume", "--start-if-none")
        same_end(folder, whole(harness))


def resumed_after_its_end(harness):
    before = result(whole(harness))
    harness.ranks(3).train(whole(harness), *LONG, "--resume")
    check({key: result(whole(harness))[key] for key in ("policy_sha256", "archive_sha256", "rollouts_total", "train_steps")} == {key: before[key] for key in ("policy_sha256", "archive_sha256", "rollouts_total", "train_steps")}, "a resume after the end changed the run")
    harness.succeed("archive", "verify", whole(harness))


def its_archive_trains_the_same(harness):
    again = train(harness, "again", *LONG, "--from-archive", whole(harness))
    check(result(again)["policy_sha256"] == result(whole(harness))["policy_sha256"], "training from the archive is another training")


def evaluations_talk(harness):
    folder = harness.work / "evaluated"
    told = json.loads(harness.succeed("eval", whole(harness), "--out", folder).splitlines()[-1])
    spoken = rollouts_of(harness, folder, "eval")
    share = sum(rollout["correct"] for rollout in spoken) / len(spoken)
    check(abs(told["pass_at_1"] - share) < 1e-9, f"pass@1 {told['pass_at_1']} of {share}")
    check(len(spoken) == 64 and max(len(actions_of(rollout)) for rollout in spoken) > 1, f"{len(spoken)} rollouts, none of several turns")
    short = train(harness, "validated", *SHORT, *of_row("key_door"), *sets(eval__every=1, eval__validation_samples=2))
    check(any(len(actions_of(rollout)) > 1 for rollout in rollouts_of(harness, short, "validation")), "validations do not talk")
    check(result(short)["policy_sha256"] == result(train(harness, "key_door", *SHORT, *of_row("key_door")))["policy_sha256"], "validations change the training")


def with_tools(harness, *more):
    template = harness.work / "tools.jinja"
    template.write_text("{% if tools %}{{ tools | tojson }}{% endif %}" + pathlib.Path(harness.source / "tests/text/families/last_query.jinja").read_text())
    return [*SHORT, *sets(text__template=template, model__max_position_embeddings=1024, sampling__max_new_tokens=160, sampling__turn_tokens=0, sft__steps=4, sft__batch_size=8,
                           sampling__stop=json.dumps(list(string.ascii_letters + string.digits))), *more]


def tools_are_shown_called_and_answered(harness):
    """Every answer begins with a call, which the calculator answers."""
    calls = with_tools(harness, *sets(task__name="arithmetic", task__min_level=1, task__max_level=1, environment__name="tools", environment__tools='["calculator"]', openings__texts=json.dumps([CALL])))
    run = train(harness, "tools", *calls)
    same_end(train(harness, "tools_3", *calls, ranks=3), run)
    told = rollouts_of(harness, run)
    check(all('"name": "calculator"' in rollout["shown"] or '"name":"calculator"' in rollout["shown"] for rollout in told), f"the tool is not shown: {told[0]['shown']}")
    called = [turn for rollout in told for turn in actions_of(rollout) if turn["kind"] == 1]
    check(called and all("error" not in turn["flags"] for turn in called), f"no answer called the calculator: {told[0]}")
    check(metrics(run)[0]["turns/told_tokens_mean"] > 0, "nothing was told")


def what_was_said_is_shown_and_exported(harness):
    """An environment whose first words replace the prompt; each conversation has other ones."""
    program = harness.work / "greeter.py"
    program.write_text(GREETER)
    run = train(harness, "greeted", *SHORT, *sets(sampling__max_new_tokens=96, environment__command=json.dumps([sys.executable, str(program)])))
    told = rollouts_of(harness, run)
    for rollout in told:
        place = "/".join(str(rollout[part]) for part in ("purpose", "step", "prompt_id", "draw", "sample"))
        first, *turns = rollout["turns"]
        check(rollout["shown"].strip() == first["text"].strip() == "greeting " + place and rollout["prompt"].strip() not in rollout["shown"], f"{rollout['shown']!r}, {first}")
        heard = [turn["text"].strip() for turn in turns if turn["role"] == "environment"]
        check(heard == ["told 1", "told 2", ""][: len(heard)], f"{turns}")
        check("\x1e".join(turn["text"] for turn in turns if turn["role"] == "policy") == rollout["completion"], f"{rollout}")
    check(any(len(rollout["turns"]) > 3 for rollout in told), "nothing was told")
    shown = harness.succeed("archive", "show", run, "--prompt", told[0]["prompt_id"], "--purpose", "train")
    check("      | greeting train/1/" in shown and "      | told 1" in shown and "as the policy was shown it" not in shown, shown)
    file = next(run.glob("archive/train*.h5"))
    check([json.loads(line) for line in harness.succeed("archive", "export", file).splitlines()] == told, "a file in its run folder is decoded otherwise")
    alone = pathlib.Path(shutil.copy(file, harness.work / "alone.h5"))
    code, out, err, _ = harness.run("archive", "export", alone)
    check(code == 0 and {json.loads(line)["shown"] for line in out.splitlines()} == {None} and "there is no config.toml around it" in err, f"{code} {err}")


def programs_run_in_the_sandbox(harness):
    """Every answer begins with a program, and is told what it prints."""
    code = '<tool_call>\n{"name": "python", "arguments": {"code": "print(6 * 7)"}}\n</tool_call>'
    calls = with_tools(harness, *sets(task__name="arithmetic", task__min_level=1, task__max_level=1, environment__name="tools", environment__tools='["python"]', openings__texts=json.dumps([code]), train__steps=1))
    run = train(harness, "python", *calls)
    same_end(train(harness, "python_2", *calls, *sets(sandbox__workers=3), ranks=2), run)
    called = [turn for rollout in rollouts_of(harness, run) for turn in actions_of(rollout) if turn["kind"] == 1]
    check(called and all("error" not in turn["flags"] for turn in called), f"no answer ran a program: {rollouts_of(harness, run)[0]}")
    check(metrics(run)[0]["environment/lost"] == 0, f"{metrics(run)}")


def templates_that_rewrite_are_refused(harness):
    """One that drops the thoughts of earlier turns as soon as a user speaks, and shows what a tool says without that."""
    words = ["train", harness.tiny, "--set", f"run.dir={harness.work / 'refused'}", *with_tools(harness, *of_row("key_door"))]
    code, _, err, _ = harness.run(*words)
    check(code == 2 and "text.template=" in err and "it drops the thought" in err and "set environment.role=tool" in err, f"{code}\n{err}")
    run = train(harness, "role_tool", *with_tools(harness, *of_row("key_door"), *sets(environment__role="tool")))
    check(metrics(run)[-1]["turns/mean"] >= 1, f"{metrics(run)}")


def the_plan_says_how_long(harness):
    plan = harness.succeed("plan", harness.tiny, *LONG)
    check("a conversation: up to 3 turns, " in plan and "conversations " in plan, plan)
    check("a conversation" not in harness.succeed("plan", harness.tiny), "a plan of single answers speaks of conversations")


main(every_row_trains_alike, what_turns_are_paid_is_the_reward, what_was_said_is_shown_and_exported, key_door_is_the_same_on_any_ranks_and_threads, killed_inside_a_conversation, its_archive_trains_the_same, evaluations_talk, resumed_after_its_end, tools_are_shown_called_and_answered, programs_run_in_the_sandbox,
     templates_that_rewrite_are_refused, the_plan_says_how_long)
