"""An environment of one's own: what dies, hangs, lies, floods or gives up costs the rollouts that it was asked about and no other; states that are kept, many processes, kills after a loss, the sandbox."""
import collections
import concurrent.futures
import json
import re
import sys
import threading
import zlib

from harness import check, main, metrics, result, sets

TALK = sets(task__format_weight=0, model__max_position_embeddings=128, sampling__max_new_tokens=24, sampling__turn_tokens=6, environment__max_turns=4, train__steps=3, train__prompts_per_step=4, checkpoint__every=4,
            eval__before="false", eval__after="false")
HANG = sets(environment__timeout_s=8)
SURE = sets(environment__timeout_s=90)  # nothing hangs: no load may make a clock decide

# The answer may be given three times. Fates are drawn by what is said, so that no number of ranks or processes changes them.
PROGRAM = f"#!{sys.executable} -IS\n" + '''import json, os, signal, sys, time, zlib
MODE, NOTES = sys.argv[1], sys.argv[2]
kept = {}
def once(name, times=1):
    for number in range(times):
        try: open(f"{NOTES}.{name.replace('/', '-')}.{number}", "x").close(); return True
        except FileExistsError: pass
    return False
for line in sys.stdin:
    asked = json.loads(line)
    number = asked["id"]
    if asked["op"] == "close": kept.pop(number, None); continue
    if asked["op"] == "reset":
        state = [asked["prompt"], asked["reference"]]
        reply = {"id": number, "state": state, "text": ""}
    else:
        state = kept[number] if MODE.startswith("kept") else asked["state"]
        turn, action, tried = asked["turn"], asked["action"], not number.startswith("try/")
        fate = zlib.crc32(f"{state[0]}|{turn}|{action}".encode()) % 24 if MODE == "hard" and tried else 23
        if fate == 0: os.kill(os.getpid(), signal.SIGKILL)
        if fate == 1 and number.startswith("train/2/"): os.fork(); time.sleep(600)
        if fate == 2: print("Traceback (most recent call last):", flush=True); continue
        if fate == 3: print(json.dumps({"id": number, "state": state, "text": "no", "reward": float("nan")}), flush=True); continue
        if fate == 4: sys.stdout.write("x" * 3000000 + "\\n"); sys.stdout.flush(); continue
        if fate == 5: print(json.dumps({"id": number, "error": "I give up"}), flush=True); continue
        if fate == 6: sys.stderr.write("x" * 100000)
        if MODE == "losing" and number.startswith("train/2/") and turn == 0 and zlib.crc32(number.encode()) % 4 == 0 and once(number, 2): os.kill(os.getpid(), signal.SIGKILL)
        if MODE == "kept_once" and number.startswith("train/2/") and turn == 1 and once("died"): os.kill(os.getpid(), signal.SIGKILL)
        right = action == state[1]
        state = [*state, action]
        reply = {"id": number, "state": state, "text": "" if right else "no", "reward": 0.25 + 0.75 * right, "done": right or turn == 2, "correct": right, "components": {"calm": 0.5}, "kind": "last" if turn == 2 else "try", "flags": ["repeated"] if action in state[2:-1] else []}
        if MODE == "kept_liar" and number.startswith("train/2/") and os.path.exists(NOTES + ".died.0"): reply["text"] += "!"
        if MODE == "kept_liar" and number.startswith("train/2/") and turn == 1 and once("died"): os.kill(os.getpid(), signal.SIGKILL)
    if MODE.startswith("kept"): kept[number], reply["state"] = state, None
    print(json.dumps(reply), flush=True)
'''
LETHAL = {0: "signal 9", 2: "", 3: "holds NaN", 4: "", 5: "I give up"}  # fate -> a part of the reason

SHELL = '''# It counts the lines of the conversation: the third action ends it.
count=0
while read -r line; do count=$((count + 1)); last=$line; done
id=${last#*'"id":"'}; id=${id%%'"'*}
done=false; test $count -ge 4 && done=true
printf '{"id":"%s","state":null,"text":"%s","reward":0.5,"done":%s,"correct":%s}\\n' "$id" "$count" $done $done
'''


def program(harness, mode, notes=None):
    path = harness.work / "talk.py"
    if not path.exists():
        partial = path.with_suffix(f".{threading.get_ident()}")
        partial.write_text(PROGRAM)
        partial.chmod(0o755)
        partial.rename(path)
    return sets(environment__command=json.dumps([str(path), mode, str(harness.work / (notes or mode))]), environment__components="calm", environment__kinds='["try", "last"]')


def train(harness, name, *settings, ranks=1, keep=None):
    folder = harness.work / name
    if not (folder / "result.json").exists():
        harness.ranks(ranks).train(folder, *TALK, *settings, keep=keep)
    return folder


def bits(folder):
    return tuple(result(folder)[key] for key in ("policy_sha256", "archive_sha256", "rollouts_total"))


def rollouts_of(harness, run):
    return [json.loads(line) for line in harness.succeed("archive", "export", run, "--purpose", "train").splitlines()]


def lost(run):
    return sum(row["environment/lost"] for row in metrics(run))


def fate_of(rollout):
    """(turn, fate) of the action with which the program fails; None: it answers all of them."""
    actions = rollout["completion"].split("\x1e")
    if rollout["finish"] == "length":
        actions.pop()  # what a limit cut is no action
    for turn, action in enumerate(actions):
        fate = zlib.crc32(f"{rollout['prompt']}|{turn}|{action}".encode()) % 24
        if fate in LETHAL or (fate == 1 and rollout["step"] == 2):
            return turn, fate
    return None


def failures_cost_their_own_rollouts(harness):
    hard = [*program(harness, "hard"), *HANG]
    with concurrent.futures.ThreadPoolExecutor() as side_by_side:  # each waits for what hangs
        folders = list(side_by_side.map(lambda ranks: train(harness, f"hard_{ranks}", *hard, *sets(environment__processes=3 - ranks // 2), ranks=ranks), (1, 3)))
    check(bits(folders[0]) == bits(folders[1]), "what fails changes bits with the ranks")
    told, fates = rollouts_of(harness, folders[0]), collections.Counter()
    for rollout in told:
        where, actions = fate_of(rollout), [turn for turn in rollout["turns"] if turn["role"] == "policy"]
        name = f"train/{rollout['step']}/{rollout['prompt_id']}/{rollout['draw']}/{rollout['sample']}"
        check((where is not None) == (rollout["finish"] == "lost") == rollout["undecided"], f"{name} ended as {rollout['finish']}: {rollout['completion']!r}, {where}")
        if where is None:
            check(rollout["components"]["calm"] == 0.5 * sum(turn["role"] == "environment" for turn in rollout["turns"]), f"{name}: {rollout}")
            continue
        turn, fate = where
        fates[fate] += 1
        check(turn == len(actions) - 1 and rollout["turns"][-1]["role"] == "policy", f"{name} goes on after it was lost: {rollout}")
        check(LETHAL.get(fate, "") in rollout["reason"] and rollout["reason"], f"{name}, fate {fate}: {rollout['reason']}")
        check(rollout["clock_ended"] == (fate != 5), f"{name}, fate {fate}: what the policy brought about is not told from what it did not")
    check(sum(fates.values()) == lost(folders[0]) and len(fates) >= 3, f"{fates} of {len(told)} rollouts")
    rows = metrics(folders[0])
    check(sum(row["environment/restarted"] for row in rows) > 0 and all(0 < row["critic/component/calm/mean"] < 2 for row in rows), f"{rows}")
    said = harness.succeed("status", folders[0])
    check(f"lost        {sum(fates.values())} conversations since the last start; the first: train/" in said, said)
    check(re.search(rf"undecided   {sum(fates.values())} of \d+ verdicts .* {re.escape(str(folders[0]))}/environment/", said), f"the log of the environment is not named\n{said}")
    errors = sorted((folders[0] / "environment").glob("rank-0000-process-*.log"))
    check(errors and all(path.stat().st_size <= 1 << 20 for path in errors), f"{errors}")


def lost_conversations_are_not_rescored(harness):
    """A lost conversation has no answer: no grader is asked about it, it stays undecided, and the summary counts it."""
    run = train(harness, "hard_1", *program(harness, "hard"), *HANG, *sets(environment__processes=3))
    noting, notes = harness.work / "noting.py", harness.work / "noted"
    noting.write_text(f"import json, sys\nfor line in sys.stdin:\n    asked = json.loads(line)['id']\n    print(asked, file=open({str(notes)!r}, 'a'))\n"
                      "    print(json.dumps({'id': asked, 'score': 1, 'correct': True}), flush=True)\n")
    out = harness.succeed("archive", "rescore", run, "--purpose", "train", "--name", "noting", "--command", sys.executable, noting)
    told = {f"train/{r['step']}/{r['prompt_id']}/{r['draw']}/{r['sample']}": r["finish"] == "lost" for r in rollouts_of(harness, run)}
    gone = sum(told.values())
    check(gone > 0 and set(notes.read_text().split()) == {name for name, is_lost in told.items() if not is_lost}, "others were asked than those that have an answer")
    check(f"lost       {gone} conversations" in out and re.search(rf"all +{len(told)} .* {gone} +\S+\n", out), out)


def kept_states_and_many_processes(harness):
    """The policy trains alike whether the program hands out its states or keeps them, and nothing is lost with 64 processes."""
    plain = train(harness, "plain", *program(harness, "plain"), *SURE)
    one = train(harness, "kept", *program(harness, "kept"), *SURE, *sets(environment__processes=1))
    many = train(harness, "kept_64", *program(harness, "kept"), *SURE, *sets(environment__processes=64))
    check(result(one)["policy_sha256"] == result(plain)["policy_sha256"], "kept states give other weights")
    check(bits(many) == bits(one), "64 processes give other bits than one")
    check(lost(plain) == lost(one) == lost(many) == 0, "conversations were lost")
    told = rollouts_of(harness, plain)
    check(max(len(rollout["turns"]) for rollout in told) == 7, "no conversation has three turns with their answers")
    for rollout in told:
        said, actions = rollout["completion"].split("\x1e"), [turn for turn in rollout["turns"] if turn["role"] == "policy"]
        answered = len(actions) - (rollout["finish"] == "length")  # what a limit cut is no action
        for turn in range(answered):
            check(actions[turn]["kind"] == (2 if turn == 2 else 1), f"the kind of turn {turn}: {rollout}")
            check(("repeated" in actions[turn]["flags"]) == (said[turn] in said[:turn]), f"the flags of turn {turn}: {rollout}")


def what_a_process_kept_is_told_again(harness):
    """A process dies while it keeps conversations: another is told them again and must say the same."""
    kept = train(harness, "kept", *program(harness, "kept"), *SURE, *sets(environment__processes=1))
    once = train(harness, "kept_once", *program(harness, "kept_once"), *SURE, *sets(environment__processes=1))
    check(bits(once) == bits(kept) and lost(once) == 0, f"a restart changes bits; {lost(once)} lost")
    check(sum(row["environment/restarted"] for row in metrics(once)) >= 1, f"{metrics(once)}")
    liar = train(harness, "kept_liar", *program(harness, "kept_liar"), *SURE, *sets(environment__processes=1))
    told = [rollout for rollout in rollouts_of(harness, liar) if rollout["finish"] == "lost"]
    check(0 < len(told) == lost(liar) and {rollout["step"] for rollout in told} == {2}, f"{len(told)} of {lost(liar)} lost")
    check(not any(rollout["clock_ended"] for rollout in told), "a lie of the environment counts against the policy")


def killed_after_a_loss(harness):
    """Conversations of step 2 are lost, and would not be a second time: a run that is killed afterwards and draws them again loses them all the same."""
    losing = [*program(harness, "losing"), *SURE]
    killed = harness.work / "killed"
    run = train(harness, "losing", *losing, *sets(train__steps=4), keep={3: killed})
    check(lost(run) > 0, "nothing was lost")
    harness.ranks(3).train(killed, *TALK, *losing, *sets(train__steps=4), "--resume")
    check(bits(killed) == bits(run), "a run that draws lost conversations again is another one")


def in_the_sandbox(harness):
    path = harness.work / "count.sh"
    path.write_text(SHELL)
    confined = sets(environment__command=json.dumps(["/bin/sh", str(path)]), environment__sandbox="true", train__steps=1, train__prompts_per_step=2, train__rollouts_per_prompt=2)
    runs = []
    for ranks in (1, 2):
        folder = harness.work / f"confined_{ranks}"
        harness.train(folder, *TALK, *confined, ranks=ranks)
        runs.append(folder)
    check(bits(runs[0]) == bits(runs[1]) and lost(runs[0]) == 0, "confined answers change bits with the ranks")
    told = rollouts_of(harness, runs[0])
    check(all(rollout["correct"] for rollout in told if rollout["finish"] == "stop"), f"{told}")
    check({turn["reward"] for rollout in told for turn in rollout["turns"] if turn["role"] == "policy"} >= {0.5}, f"{told}")


def all_lost_says_where_to_look(harness):
    """A program that answers no conversation but the one with which it is tried."""
    path = harness.work / "mute.py"
    path.write_text(f"#!{sys.executable} -IS\n" + '''import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    known = asked["id"].startswith("try/")
    if asked["op"] != "close": print(json.dumps({"id": asked["id"], "state": 0, "text": ""} if known else {"id": asked["id"], "error": "no world"}), flush=True)
''')
    path.chmod(0o755)
    folder = harness.work / "mute"
    code, _, err, _ = harness.run("train", harness.tiny, "--set", f"run.dir={folder}", *TALK, *sets(environment__command=json.dumps([str(path)])))
    check(code == 3 and "no rollout of step 1 came to a verdict" in err and f"{folder}/environment" in err, f"{code}\n{err}")
    check("16 of 16 verdicts are undecided" in err, f"the lost conversations are no part of all verdicts\n{err}")


def answers_that_mean_something_else_are_refused_at_the_start(harness):
    """A misspelt key, a key that stands twice, and a reset that ends or pays its conversation."""
    path = harness.work / "odd.py"
    path.write_text(f"#!{sys.executable} -IS\n" + '''import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["op"] != "close": print('{"id": %s, "state": 0, "text": "go", %s}' % (json.dumps(asked["id"]), sys.argv[1] if asked["op"] == sys.argv[2] else '"reason": ""'), flush=True)
''')
    path.chmod(0o755)
    table = (('"rewards": 1', "step", 'the key "rewards", which is not read; did you mean reward?'), ('"reward": 0.1, "reward": 5', "step", 'the key "reward" twice'), ('"turn": 3', "step", "it answers turn 3 of"),
             ('"done": true', "reset", "it was over before its first turn"), ('"reward": 5', "reset", "it paid a reward before its first turn"))
    for number, (keys, op, said) in enumerate(table):
        folder = harness.work / f"odd_{number}"
        code, _, err, _ = harness.run("train", harness.tiny, "--set", f"run.dir={folder}", *TALK, *sets(environment__command=json.dumps([str(path), keys, op])))
        check(code == 2 and f"does not answer a {op} as it must" in err and said in err, f"{keys} in a {op}: {code}\n{err}")


def texts_that_do_not_fit(harness):
    """A first text beyond the model's positions is refused where it is tried and loses its conversation later; a long answer is told and counted."""
    path = harness.work / "long.py"
    path.write_text(f"#!{sys.executable} -IS\n" + '''import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    if asked["op"] == "close": continue
    tried, begins = asked["id"].startswith("try/"), asked["op"] == "reset"
    long = sys.argv[1] == "start" or (sys.argv[1] == "later" and begins and not tried) or (sys.argv[1] == "step" and not begins)
    print(json.dumps({"id": asked["id"], "state": 0, "text": "x" * 500 if long else "go on"}), flush=True)
''')
    path.chmod(0o755)

    def run(mode, *settings):
        return harness.run("train", harness.tiny, "--set", f"run.dir={harness.work / ('long_' + mode)}", *TALK, *sets(environment__command=json.dumps([str(path), mode])), *settings)

    code, _, err, _ = run("start")
    check(code == 2 and "environment.command begins a conversation with 500 bytes" in err and "128 positions" in err, f"{code}\n{err}")
    code, _, err, _ = run("later")
    check(code == 3 and "with its first text the prompt has" in err, f"{code}\n{err}")
    code, _, err, _ = run("step")
    rows = [row for row in metrics(harness.work / "long_step") if "turns/no_room_ratio" in row]
    told = "conversations ended at a text of the environment that left the policy no room"
    check(code == 0 and len(rows) == 3, f"{code}\n{err}")
    check(told in err and any(row["turns/no_room_ratio"] > 0 for row in rows), err)
    code, _, err, _ = run("never", *sets(sft__steps=0, sampling__turn_tokens=1))
    first = metrics(harness.work / "long_never")[0]
    all_cut = first["turns/mean"] == 1 and first["response_length/clip_ratio"] == 1
    check(code == 0 and ("step 1 asked the environment nothing: sampling.turn_tokens (1) cut the first turn of all 16 conversations" in err) == all_cut, f"{first}\n{err}")


main(failures_cost_their_own_rollouts, lost_conversations_are_not_rescored, kept_states_and_many_processes, what_a_process_kept_is_told_again, killed_after_a_loss, in_the_sandbox, all_lost_says_where_to_look, answers_that_mean_something_else_are_refused_at_the_start, texts_that_do_not_fit)
