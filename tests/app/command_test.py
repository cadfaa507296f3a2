"""A verifier of one's own: the bits of the built-in one, on any ranks and processes; graders that fail in every way; stops and kills; an HTTP judge; the sandbox; rescoring."""
import concurrent.futures
import hashlib
import http.server
import json
import pathlib
import sys
import threading
import time

from harness import check, main, metrics, result, sets

SETTINGS = sets(task__format_weight=0, train__steps=5)
LIMIT = sets(reward__timeout_s=20)
HARD = sets(reward__timeout_s=8, eval__before="false", eval__after="false")
STRICT = sets(reward__timeout_s=90, eval__before="false", eval__after="false")  # nothing hangs: no load may make a clock decide

GRADER = f"#!{sys.executable} -IS\n" + '''import json, os, signal, sys, time, zlib
MODE, NOTES = sys.argv[1], sys.argv[2]
for line in sys.stdin:
    asked = json.loads(line)
    right = asked["response"].strip() == asked["answer"]
    fate = 9
    if MODE in ("hard", "strict") and asked["id"] != "check/0/0/0/0":
        fate = zlib.crc32((asked["prompt"] + asked["response"]).encode()) % (24 if MODE == "hard" else 12)
    with open(NOTES, "a") as notes:
        notes.write(asked["id"] + "\\n")
    if MODE == "once" and asked["id"].startswith("train/3/"):
        try:
            with open(NOTES + ".hung", "x") as hung: hung.write(asked["id"])
            time.sleep(600)
        except FileExistsError: pass
    if fate == 0: os.kill(os.getpid(), signal.SIGKILL)
    if fate == 1: print("Traceback (most recent call last):", flush=True); continue
    if fate == 2: sys.stderr.write("x" * 100000)
    if fate == 2 and asked["id"].startswith("train/2/"): os.fork(); time.sleep(600)
    if fate == 3: sys.exit(1)
    reply = {"id": asked["id"], "score": float(right), "correct": right, "reason": "equal" if right else "unequal"}
    if MODE == "never": reply.update(score=0.0, correct=False, reason=f"never {len(asked['response']) % 2}")
    if MODE == "strict": reply["score"] = 1.0 if right else -1.0
    if MODE == "strict" and fate in (6, 7): reply = {"id": asked["id"], "undecided": True, "reason": "nobody can tell"}
    print(json.dumps(reply), flush=True)
    if fate == 4: print(json.dumps(reply), flush=True)
    if fate == 5: sys.exit(0)
'''


def grader(harness, mode="plain"):
    """reward.command of a grader; its notes are in harness.work / "<mode>.notes\""""
    path = harness.work / "grade.py"
    if not path.exists():
        partial = path.with_suffix(f".{threading.get_ident()}")
        partial.write_text(GRADER)
        partial.chmod(0o755)
        partial.rename(path)
    return sets(reward__command=json.dumps([str(path), mode, str(harness.work / f"{mode}.notes")]))


def run_with(harness, name, *words, ranks=1):
    limit = LIMIT if any("reward.command" in word for word in words) else []
    harness.ranks(ranks).train(harness.work / name, *SETTINGS, *limit, *words)
    return harness.work / name


def bits(folder):
    return result(folder)["policy_sha256"], result(folder)["archive_sha256"]


def same_bits_as_the_built_in_verifier(harness):
    built_in = run_with(harness, "built_in")
    one = run_with(harness, "plain", *grader(harness))
    check(result(one)["policy_sha256"] == result(built_in)["policy_sha256"], "the same verdicts give other weights")
    three = run_with(harness, "plain_3", *grader(harness), *sets(reward__processes=2), ranks=3)
    check(bits(one) == bits(three), "other bits on three ranks with two processes each")
    row = metrics(one)[-1]
    check(row["scoring/command/verdicts"] == 32 and row["scoring/command/undecided"] == 0, row)
    check(0 < row["timing_s/command_median"] <= row["timing_s/command_max"] and row["perf/command_verdicts_per_s"] > 0, row)
    check(metrics(built_in)[-1]["scoring/exact_match/verdicts"] == 32, "a built-in verifier is not measured")


def none_right_shows_its_reasons(harness):
    folder = harness.work / "never"
    code, out, err, _ = harness.run("train", harness.tiny, "--set", f"run.dir={folder}", *SETTINGS, *LIMIT, *grader(harness, "never"), *sets(train__steps=1, eval__after="false"))
    told = [line for line in err.splitlines() if "answers is right" in line]
    check(code == 0 and len(told) == 1 and 'reward.command gives the reasons "never ' in told[0], f"exit code {code}\n{out}\n{err}")
    check("final answer" not in told[0], f"extraction has no part in it: {told[0]}")


def failures_cost_their_own_verdicts(harness):
    """3 of 24 answers have no verdict, and in step 2 another hangs; duplicates and processes that end after a reply cost nothing."""
    hard = [*grader(harness, "hard"), *HARD]
    with concurrent.futures.ThreadPoolExecutor() as side_by_side:  # each waits 8 s for what hangs
        list(side_by_side.map(lambda ranks: harness.train(harness.work / f"hard_{ranks}", *SETTINGS, *hard, ranks=ranks), (1, 3)))
    folders = [harness.work / f"hard_{ranks}" for ranks in (1, 3)]
    check(bits(folders[0]) == bits(folders[1]), "what fails changes bits with the ranks")
    rows = metrics(folders[0])
    undecided = sum(row["scoring/command/undecided"] for row in rows)
    lines = [json.loads(line) for line in harness.succeed("archive", "export", folders[0], "--purpose", "train").splitlines()]
    flagged = [line for line in lines if line["undecided"]]
    check(0 < len(flagged) == undecided < len(lines) / 2, f"{len(flagged)} flagged, {undecided} counted")
    check(all(not line["correct"] and line["reward"] == 0 for line in flagged), "an undecided answer has a verdict")
    reasons = {line["reason"][:40] for line in flagged}
    told = harness.succeed("status", folders[0])
    check("slowest     train/2/" in told and " took the verifier command 8." in told, told)
    check(any("signal 9" in reason for reason in reasons) and any("not a JSON object" in reason for reason in reasons), reasons)
    first = [line for line in lines if line["step"] == 1]
    check(all(line["clock_ended"] for line in flagged), "an answer on which the grader failed twice is not told from one that nobody can judge")
    share = sum(line["correct"] for line in first) / len(first)
    check(abs(rows[0]["train/pass_rate_rollouts"] - share) < 1e-9, f"pass rate {rows[0]['train/pass_rate_rollouts']} of {share}: what an answer brings about is not dropped")
    wrong = run_with(harness, "hard_wrong", *hard, *sets(reward__undecided="wrong", train__steps=1))
    check(abs(metrics(wrong)[0]["train/pass_rate_rollouts"] - sum(line["correct"] for line in lines if line["step"] == 1) / 32) < 1e-9, "wrong ones are not counted")
    # Groups of one answer: those that nobody can judge leave fewer groups than mini-batches.
    shape = sets(train__steps=1, train__prompts_per_step=32, train__rollouts_per_prompt=1, train__mini_batches=32, scheduler__min_rollouts=1)
    alone = [*shape, *sets(objective__pieces__regularizer="entropy", objective__knobs__entropy_coef=0.1)]
    few = [run_with(harness, f"few_{ranks}", *grader(harness, "strict"), *STRICT, *alone, ranks=ranks) for ranks in (1, 3)]
    row = metrics(few[0])[0]
    check(0 < row["scoring/command/undecided"] - row["scoring/command/clock_ended"] == 32 - row["train/rollouts_trained"] and row["actor/grad_norm"] > 0, f"{row}")
    check(bits(few[0]) == bits(few[1]), "other bits on three ranks")


def to_be_undecided_is_never_better_than_to_be_wrong(harness):
    """A wrong answer is paid -1. What ends its grader is paid no more, whether undecided ones are dropped or wrong; only what nobody can judge is dropped."""
    strict = [*grader(harness, "strict"), *STRICT, *sets(train__steps=1)]
    for what in ("drop", "wrong"):
        for ranks in (1, 3):
            run_with(harness, f"strict_{what}_{ranks}", *strict, *sets(reward__undecided=what), ranks=ranks)
        folder = harness.work / f"strict_{what}_1"
        check(bits(folder) == bits(harness.work / f"strict_{what}_3"), f"{what}: other bits on three ranks")
        lines = [json.loads(line) for line in harness.succeed("archive", "export", folder, "--purpose", "train").splitlines()]
        ended, unclear = ([line for line in lines if line["undecided"] and line["clock_ended"] == ended] for ended in (True, False))
        check(ended and unclear and all(line["reward"] == 0 for line in (*ended, *unclear)), f"{len(ended)} ended and {len(unclear)} unclear say nothing")
        paid = [line["reward"] for line in lines if not line["undecided"]]
        paid += [min(paid)] * (len(ended) + (len(unclear) if what == "wrong" else 0))
        row = metrics(folder)[0]
        check(min(paid) == -1 and row["train/rollouts_trained"] == len(paid), f"{what}: {row['train/rollouts_trained']} rollouts are trained, {len(paid)} stay")
        check(abs(row["critic/score/mean"] - sum(paid) / len(paid)) < 1e-9, f"{what}: mean score {row['critic/score/mean']}, not {sum(paid) / len(paid)}")
        check(abs(row["train/pass_rate_rollouts"] - sum(line["correct"] for line in lines) / len(paid)) < 1e-9, f"{what}: an undecided answer counts as correct")


def stopped_and_killed(harness):
    folder = harness.work / "killed"
    words = [*SETTINGS, *grader(harness, "once"), *sets(reward__timeout_s=8, run__dir=folder, train__steps=6)]
    harness.kill_after(folder, *words)
    before = {row["step"]: row for row in metrics(folder)}
    harness.train(folder, *words, "--resume")
    hung = (harness.work / "once.notes.hung").read_text()
    asked = (harness.work / "once.notes").read_text().split().count(hung)
    check(asked == 1, f"{hung}, which a clock had ended, was asked for {asked} times")
    lines = [json.loads(line) for line in harness.succeed("archive", "export", folder, "--purpose", "train", "--step", "3").splitlines()]
    check([line["reason"] for line in lines if line["undecided"]] == ["no verdict after 8 s"], "the verdict is not in the archive")
    after = {row["step"]: row for row in metrics(folder)}
    kept = {key for key in after[3] if not key.startswith(("timing_s/", "perf/"))}
    check(all(before[3][key] == after[3][key] for key in kept), "the resumed step 3 is another")
    no_grader_is_left(harness, "once")


def a_kill_changes_no_bit(harness):
    """Deterministic failures, processes that die and are replaced, a kill in between."""
    folder, whole = harness.work / "hard_killed", harness.work / "hard_1"
    words = [*SETTINGS, *grader(harness, "hard"), *HARD, *sets(run__dir=folder)]
    harness.kill_after(folder, *words)
    harness.train(folder, *words, "--resume")
    check(bits(folder) == bits(whole), harness.run("archive", "diff", folder, whole)[1])
    no_grader_is_left(harness, "hard")
    kept = [file.stat().st_size for file in (folder / "verifier").glob("rank-0000-process-*.log")]  # of whichever process met an answer that it fails on
    check(kept and all(0 < size <= 1 << 20 for size in kept), f"standard error is not kept, or without bounds: {kept}")


def no_grader_is_left(harness, mode):
    """They end with their spawner, which a busy machine may let run some seconds after the run."""
    end = time.monotonic() + 20
    while left := [p for p in pathlib.Path("/proc").glob("[0-9]*/cmdline") if str(harness.work / f"{mode}.notes").encode() in read(p)]:
        check(time.monotonic() < end, f"graders outlive their runs: {left}")
        time.sleep(0.1)


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def wrong_commands(harness):
    plain = harness.work / "not_executable"
    plain.write_text("#!/bin/sh\n")
    silent = harness.work / "silent.sh"
    silent.write_text("#!/bin/sh\necho no module named judge >&2\nexit 1\n")
    silent.chmod(0o755)
    for command, words in (
        (["./no-such-grader"], "reward.command begins with ./no-such-grader, which is no program that may be run here"),
        (["silent.sh"], "write ./silent.sh: a name without a slash is looked for in PATH alone"),
        ([str(plain)], "make the file executable with chmod +x"),
        ([str(silent)], "wrote to standard error: no module named judge"),
        (["/bin/cat"], 'it has no "score"'),
        (["/bin/sleep", "60"], "no verdict after 1 s"),
    ):
        folder = harness.work / "refused"
        code, out, err, _ = harness.run("train", harness.tiny, *SETTINGS, *sets(run__dir=folder, reward__timeout_s=1 if "60" in command else 20, reward__command=json.dumps(command)))
        check(code == 2 and words in err and not folder.exists(), f"{command}: {code}\n{err}")
    code, out, err, _ = harness.run("train", harness.tiny, *sets(run__dir=harness.work / "refused"), *grader(harness))
    check(code == 2 and "task.format_weight is 0.5" in err, err)
    code, out, err, _ = harness.run("train", harness.tiny, *SETTINGS, *sets(run__dir=harness.work / "refused", reward__undecided="wrang"))
    check(code == 2 and "did you mean wrong" in err, err)


def an_outage_ends_no_run_for_good(harness):
    """A grader that fails on every answer of a step ends the run. Once it is mended, the run goes on, and ends as one that never met it."""
    mended, path = harness.work / "mended", harness.work / "outage.py"
    path.write_text(f"#!{sys.executable} -IS\nimport json, os, sys\nfor line in sys.stdin:\n    asked = json.loads(line)\n"
                    f"    if asked['id'].startswith('train/3/') and not os.path.exists({str(mended)!r}): sys.exit(1)\n"
                    "    right = asked['response'].strip() == asked['answer']\n"
                    "    print(json.dumps({'id': asked['id'], 'score': float(right), 'correct': right}), flush=True)\n")
    path.chmod(0o755)
    words = [*SETTINGS, *sets(reward__command=json.dumps([str(path)]), reward__timeout_s=20, eval__before="false", eval__after="false", checkpoint__every=1)]
    for ranks in (1, 3):
        folder = harness.work / f"outage_{ranks}"
        mended.unlink(missing_ok=True)
        for more in ([], ["--resume"]):
            code, _, err, _ = harness.run("train", harness.tiny, *words, *sets(run__dir=folder), *more, ranks=ranks)
            check(code == 3 and "no rollout of step 3 came to a verdict" in err and f"{folder}/verifier" in err, f"{code}\n{err}")
        mended.touch()
        harness.ranks(ranks).train(folder, *words, "--resume")
    whole = harness.work / "no_outage"
    harness.train(whole, *words)
    check({bits(harness.work / name) for name in ("outage_1", "outage_3")} == {bits(whole)}, "the outage changed the run")


class Judge(http.server.BaseHTTPRequestHandler):
    """Every third request fails, and some samples never get an answer."""
    requests = 0

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        Judge.requests += 1
        hopeless = asked["id"].endswith("/1/0/3")
        if Judge.requests % 3 == 0 or hopeless:
            return self.send_error(500)
        right = asked["response"].strip() == asked["answer"]
        body = json.dumps({"score": float(right), "correct": right, "reason": "asked"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words):
        pass


def examples(harness):
    """The two of jobs/verifiers, one against a server that fails now and then."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Judge)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    command = [str(harness.source / "jobs/verifiers/http_judge.py"), f"http://127.0.0.1:{server.server_port}/judge"]
    words = sets(train__steps=1, eval__before="false", eval__after="false", reward__processes=8)
    folder = harness.work / "http"
    harness.train(folder, *SETTINGS, *LIMIT, *words, *sets(reward__command=json.dumps(command)), env={"no_proxy": "*"})
    built_in = harness.work / "built_in"
    lines = [json.loads(line) for line in harness.succeed("archive", "export", folder).splitlines()]
    known = {(line["prompt_id"], line["sample"]): line["correct"] for line in map(json.loads, harness.succeed("archive", "export", built_in, "--step", "1", "--purpose", "train").splitlines())}
    check(all(line["correct"] == known[line["prompt_id"], line["sample"]] for line in lines if not line["undecided"]), "the server's verdicts are others")
    check(Judge.requests > len(lines) and all(line["reason"] == "the judge gave no answer" for line in lines if line["undecided"]), "no request was repeated")
    server.shutdown()
    command = [str(harness.source / "jobs/verifiers/grade.py")]
    numbers = sets(reward__command=json.dumps(command), reward__components='["length"]')
    folder = run_with(harness, "grade", *words, *numbers)
    line = json.loads(harness.succeed("archive", "export", folder).splitlines()[0])
    check(line["components"]["length"] == len(line["completion"]), line)


CONFINED = '''#!/usr/bin/env python3
import json, os, socket, sys
from marks import RIGHT
asked = json.loads(sys.stdin.readline())
reached = []
for name, attempt in (("network", socket.socket), ("secret", lambda: open(sys.argv[1] + "/secret")), ("processes", lambda: os.listdir("/proc")[0])):
    try: attempt(); reached.append(name)
    except (OSError, IndexError): pass
open("notes", "a").write(asked["id"])
if os.path.getsize("notes") != len(asked["id"]): reached.append("the run before")
if asked["response"].startswith("exit"): sys.exit("no verdict on " + asked["response"])
if asked["response"].startswith("quiet"): sys.exit()
right = asked["response"].strip() == asked["answer"]
print(json.dumps({"id": asked["id"], "score": RIGHT * right, "correct": right, "reason": " ".join(reached)}))
'''


def in_the_sandbox(harness):
    """The same contract for a program that nobody has vouched for: a run of its own for each line, which reaches nothing and remembers nothing."""
    folder = harness.work / "confined"
    folder.mkdir()
    for name, content in (("grade.py", CONFINED), ("marks.py", "RIGHT = 1.0\n"), ("secret", "x")):
        (folder / name).write_text(content)
    (folder / "grade.py").chmod(0o755)
    words = [harness.binary, "sandbox", "--with", folder / "marks.py", folder / "grade.py", folder]
    asked = "".join(json.dumps({"id": str(n), "prompt": "", "response": response, "answer": "9"}) + "\n" for n, response in enumerate(("9", "8", "exit", "quiet")))
    told = [json.loads(line) for line in harness.succeed(*words[1:], input=asked).splitlines()]
    check([reply["id"] for reply in told] == ["0", "1", "2", "3"] and [reply.get("correct") for reply in told] == [True, False, None, None], told)
    check(told[0]["reason"] == told[1]["reason"] == "", f"reached: {told}")
    check(told[2] == {"id": "2", "undecided": True, "ended": True, "reason": "failed: no verdict on exit"} and told[3]["reason"] == "it wrote no line", told)
    short = sets(train__steps=1, eval__before="false", eval__after="false", reward__command=json.dumps([str(word) for word in words]))
    lines = [json.loads(line) for line in harness.succeed("archive", "export", run_with(harness, "in_sandbox", *short)).splitlines()]
    known = [json.loads(line) for line in harness.succeed("archive", "export", harness.work / "built_in", "--step", "1", "--purpose", "train").splitlines()]
    check([(line["completion"], line["correct"]) for line in lines] == [(line["completion"], line["correct"]) for line in known], "other verdicts than the built-in verifier's")
    for arguments, said in (([], "no program is named"), ([folder / "nowhere.py"], "nowhere.py"), (["grade.py"], "grade.py is in neither /usr/bin nor /bin"),
                            ([folder / "grade.py", folder / "grade.py"], "two files are called grade.py"),
                            (["--cpus", "1", folder / "grade.py"], "there is no option --cpus"), ([folder / "grade.py"], 'line 1 of the input: no text under "id"')):
        code, out, err, _ = harness.run("sandbox", *arguments, input='{"response": "1"}\n')
        check(code == 2 and said in err and not out, f"{arguments}: {code}\n{err}")


def digest(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted((folder / "archive").iterdir())}


def rescoring(harness):
    folder = harness.work / "built_in"
    before = digest(folder)
    command = [str(harness.work / "grade.py"), "plain", str(harness.work / "rescore.notes")]
    out = harness.succeed("archive", "rescore", folder, "--command", *command)
    last = [line.split() for line in out.splitlines() if line.split()[:1] == ["all"]][0]
    check(last[3] == last[4] == "0" and last[7] == "1.0000" and int(last[1]) == int(last[2]) + int(last[5]), out)
    check(sorted(path.name for path in (folder / "rescored/grade").iterdir()) == ["eval.h5", "train.h5"], "a file of each purpose")
    out = harness.succeed("archive", "rescore", folder, "--verifier", "integer_answer", "--purpose", "train")
    check("only new" in out and (folder / "rescored/integer_answer/train.h5").exists(), out)
    check(digest(folder) == before, "the archive was changed")
    stored = json.loads(harness.succeed("archive", "stats", folder, "--json", "--purpose", "train"))
    anew = json.loads(harness.succeed("archive", "stats", folder, "--json", "--purpose", "train", "--scores", "grade"))
    check([row["pass_rate"] for row in stored] == [row["pass_rate"] for row in anew], "stats of the new verdicts differ")
    for words, code, part in (
        (["--verifier", "integer_answer"], 2, "already exists"),
        (["--verifier", "integer_anser"], 2, "did you mean integer_answer"),
        ([], 2, "none of --verifier, --command and --judge"),
        (["--verifier", "integer_answer", "--command", "./grade"], 2, "several of --verifier, --command and --judge"),
        (["--command", "./no-such-grader"], 2, "cannot be started"),
        (["--command", "--name", "late", "./grade"], 2, "the command that would judge begins with --name"),
        (["--name", "grade_2", "--command", str(harness.source / "jobs/verifiers/grade.py")], 2, "(of rescore: --components) does not name"),
    ):
        got, _, err, _ = harness.run("archive", "rescore", folder, *words)
        check(got == code and part in err, f"{words}: {got}\n{err}")
    slow = harness.work / "slow.py"
    slow.write_text("#!/bin/sh\nwhile read -r line; do id=${line#*\\\"id\\\":\\\"}; sleep 0.2; echo '{\"id\":\"'${id%%\\\"*}'\",\"score\":1,\"correct\":true}'; done\n")
    slow.chmod(0o755)
    process = harness.start("archive", "rescore", folder, "--name", "half", "--command", slow)
    time.sleep(1.0)
    process.kill()
    process.communicate()
    check(not (folder / "rescored/half").exists(), "a command that was killed leaves verdicts")


main((failures_cost_their_own_verdicts, a_kill_changes_no_bit, to_be_undecided_is_never_better_than_to_be_wrong), (same_bits_as_the_built_in_verifier, examples, in_the_sandbox, rescoring, none_right_shows_its_reasons), stopped_and_killed, wrong_commands, an_outage_ends_no_run_for_good,
     at_a_time=4)
