"""Every wrong input of the table gives one clear message and its exit code, at once, and leaves nothing half-written."""
import json
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess
import time

from harness import LOG_LINE, PROGRESS, check, main, sets
from wrong_inputs_table import FILES, ROWS

GRAMMAR = re.compile(r"^rollcall: (rank \d+: )?.+ \(.+\); .+$")
LIST = re.compile(r"^rollcall: (?:at least )?(\d+) mistakes, one a line:$")
MORE = re.compile(r"^\d+ more are told once these are corrected$")
QUICK_S = 2.0  # beyond what the program needs to start
ATTEMPTS = 3  # a busy machine may delay a quick message


class Untried(Exception):
    """Why this process cannot try the row."""


class Bench:
    """The preparations that rows name, and how to undo them."""

    def __init__(self, harness):
        self.harness, self.work, self.run = harness, harness.work, harness.work / "finished"
        for name, text in FILES.items():
            (self.work / name).parent.mkdir(exist_ok=True)
            (self.work / name).write_text(text.replace("{w}", str(self.work)))
        harness.train(self.run)
        self.mounts, self.jobs = [], []
        self.limit_s = QUICK_S + harness.run("--version")[3]

    def model(self, change):
        shutil.rmtree(self.work / "model", ignore_errors=True)
        shutil.copytree(self.run / "checkpoints/done_000006", self.work / "model")
        change(self.work / "model/config.json", self.work / "model/model.safetensors")

    def model_whole(self):
        self.model(lambda config, weights: None)

    def model_weightless(self):
        self.model(lambda _, weights: weights.unlink())

    def model_locked(self):
        if os.geteuid() == 0:
            raise Untried("root may read everything")
        self.model(lambda config, _: config.parent.chmod(0))

    def emptied(self, file):
        shutil.rmtree(self.work / "emptied", ignore_errors=True)
        shutil.copytree(self.run, self.work / "emptied")
        os.truncate(self.work / "emptied" / file, 0)

    def emptied_archive(self):
        self.emptied("archive/manifest.json")

    def emptied_record(self):
        self.emptied("config.toml")

    def damaged_metrics(self):
        self.emptied("metrics.jsonl")
        (self.work / "emptied/metrics.jsonl").write_text("\n")

    def model_config(self):
        self.model(lambda config, _: config.write_text("{"))

    def model_garbage(self):
        self.model(lambda _, weights: weights.write_text("garbage"))

    def model_cut(self):
        self.model(lambda _, weights: weights.write_bytes(weights.read_bytes()[:5000]))

    def model_shape(self):
        self.model(lambda config, _: config.write_text(json.dumps(json.loads(config.read_text()) | {"hidden_size": 64})))

    def model_of_few_tokens(self):
        self.model(lambda config, _: config.write_text(json.dumps(json.loads(config.read_text()) | {"vocab_size": 260, "eos_token_id": 256, "bos_token_id": 256, "pad_token_id": 256})))

    def model_pointer(self):
        self.model(lambda _, weights: weights.write_text(FILES["pointer.jsonl"]))

    def tokenizer_pointer(self):
        self.model(lambda config, _: config.with_name("tokenizer.json").write_text(FILES["pointer.jsonl"]))

    def model_nan(self):
        self.model(lambda _, weights: weights.write_bytes(with_nan(weights.read_bytes())))

    def mount(self, name, options):
        folder = self.work / name
        folder.mkdir(exist_ok=True)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", folder], capture_output=True).returncode != 0:
            raise Untried("mounting a tmpfs is not permitted here")
        self.mounts.append(folder)

    def read_only(self):
        self.mount("read_only", "ro")

    def full(self):
        self.mount("full", "size=64k")

    def held(self):
        """A job that runs until it is stopped."""
        job = self.harness.start("train", self.harness.tiny, *sets(run__dir=self.work / "held", train__steps=100000), stderr=subprocess.DEVNULL)
        self.jobs.append(job)
        while not (self.work / "held/status.json").exists():
            check(job.poll() is None, "the job that should hold the folder ended")
            time.sleep(0.05)

    def stop_with_files(self):
        """A folder where an empty file asks a run to stop: it cannot be removed like one."""
        (self.work / "stop_with_files/stop/kept").mkdir(parents=True)

    def damage(self, names):
        folder = self.work / "damaged"
        shutil.rmtree(folder, ignore_errors=True)
        # Stopped between two checkpoints of training, so that the older one is worth returning to.
        self.harness.train(folder, *sets(train__steps=4, archive__pack_every=100, eval__after="false"))
        for checkpoint in sorted((folder / "checkpoints").iterdir(), key=lambda path: path.stat().st_mtime_ns)[names]:
            with open(checkpoint / "model.safetensors", "ab") as weights:
                weights.write(b"x")

    def longer(self):
        shutil.copytree(self.run, self.work / "longer")

    def damage_all(self):
        self.damage(slice(None))

    def damage_newest(self):
        self.damage(slice(-1, None))

    def undo(self):
        if (self.work / "model").exists():
            (self.work / "model").chmod(0o755)
        for job in self.jobs:
            job.kill()
            job.communicate()
        for folder in self.mounts:
            subprocess.run(["umount", folder], check=True)
        self.jobs, self.mounts = [], []


def with_nan(weights):
    """The safetensors bytes with NaN throughout the final norm: every logit is then NaN."""
    start = 8 + struct.unpack("<Q", weights[:8])[0]
    begin, end = json.loads(weights[8:start])["model.norm.weight"]["data_offsets"]
    return weights[: start + begin] + struct.pack("<f", float("nan")) * ((end - begin) // 4) + weights[start + end :]


def files(folder):
    """What a failing command must not touch. The lock tells who was there last, that is its purpose; and where a job runs files come and go."""
    found = {}
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "held"]
        found |= {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in (pathlib.Path(place, name) for name in names if name != ".lock")}
    return found


def messages(err):
    return [line for line in err.replace("\r", "\n").splitlines() if line.strip() and not LOG_LINE.match(line) and not PROGRESS.match(line)]


def mistakes(err):
    """The mistakes of one refusal, each without what begins its line."""
    lines = [line for line in messages(err) if line.startswith(("rollcall: ", "  | "))]
    if many := LIST.match(lines[0]):
        told = [line.removeprefix("  | ") for line in lines[1:]]
        check(int(many[1]) == len(told) or MORE.match(told[-1]), f"not as many as it says:\n{err}")
        return told
    return [line.removeprefix("rollcall: ") for line in lines if line.startswith("rollcall: ")]


def judge(bench, row, options):
    """One attempt at a row; returns the seconds it took."""
    name, line, code, fragment, *_ = row
    words = line.format(tiny=bench.harness.tiny, w=bench.work, run=bench.run).split()
    before = files(bench.work)
    got, out, err, seconds = bench.harness.run(*words, ranks=options.get("ranks", 1), env=options.get("env"))
    # MPICH's launcher reports the signal with which it killed another rank as often as the code of the one that ended.
    killed = got == signal.SIGKILL and options.get("ranks", 1) > 1 and "BAD TERMINATION" in out + err
    check(got == code or killed, f"exit code {got}, not {code}\n{out}\n{err}")
    check("gone" not in options or not (bench.work / options["gone"]).exists(), f"{options.get('gone')} was left")
    check(not any(words in err for words in ("terminate called", "what():", "Traceback", "json.exception")), f"a crash shows through:\n{err}")
    if code == 0:
        check(fragment in err and "warn" in err, f"no warning with '{fragment}':\n{err}")
        return seconds
    own = [text for text in messages(err) if text.startswith("rollcall: ")]
    check(len(own) == 1, f"{len(own)} messages, not 1:\n{err}")
    told = mistakes(err)
    check(options.get("ranks", 1) > 1 or len(messages(err)) == len(told) + (len(told) > 1), f"more than the message on stderr:\n{err}")
    check(any(fragment in line for line in told), f"'{fragment}' is not in: {err}")
    for line in told:
        check(GRAMMAR.match("rollcall: " + line) or MORE.match(line), f"not \"problem (why); what to do\": {line}")
    after = files(bench.work)
    check(not [p for p in after if ".partial" in str(p)], f"half-written: {[str(p) for p in after if '.partial' in str(p)]}")
    check("damage" in str(options) or all(after.get(path) == state for path, state in before.items()), "an existing file was changed")
    return seconds


def attempt(bench, row):
    options = row[4] if len(row) > 4 else {}
    try:
        for preparation in options.get("before", []):
            getattr(bench, preparation)()
        for _ in range(ATTEMPTS):
            seconds = judge(bench, row, options)
            if seconds <= bench.limit_s or not options.get("quick", True):
                return f"ok    {row[0]} ({seconds:.1f} s)"
            shutil.rmtree(bench.work / "new", ignore_errors=True)
        return f"FAIL  {row[0]}: {seconds:.1f} s until the message, more than {bench.limit_s:.1f} s in {ATTEMPTS} attempts"
    except Untried as reason:
        return f"skip  {row[0]}: {reason}"
    except AssertionError as failure:
        return f"FAIL  {row[0]}: {failure}"
    finally:
        bench.undo()
        shutil.rmtree(bench.work / "new", ignore_errors=True)


def each_wrong_input_gives_one_message(harness):
    bench = Bench(harness)
    lines = []
    for row in ROWS:
        lines.append(attempt(bench, row))
        print(lines[-1], flush=True)
    failed = sum(line.startswith("FAIL") for line in lines)
    check(not failed, f"{failed} of {len(lines)} rows")


MANY = """[run]
dir = "{w}/many"
memory_limit = "lots"
[task]
file = "{w}/rows.jsonl"
heldout_file = "{w}/none.jsonl"
min_level = 3
[model]
path = "{w}/nowhere"
head_dim = 15
[sft]
file = "{w}/examples.jsonl"
steps = 0
lr = 3e-4
[train]
stepz = 3
epochs = "two"
mini_batches = 65
on_nonfinite = ignore
[eval]
pass_k = 99
[reward]
command = ["{w}/no_grader"]
[scheduler]
policy = "unifrm"
[checkpoint]
keep_best = "validation/pass_at_99"
"""
ROWS_OF_MANY = ['{"question": "1+1", "answer": "2"}', "not JSON", '{"answer": "2"}', '{"answer": "3"}', '{"question": "3+3", "answer": "6"}', '{"answer": "4"}']


def all_mistakes_are_one_refusal(harness):
    w = harness.work / "many_mistakes"
    w.mkdir()
    run_file = w / "many.toml"
    run_file.write_text(MANY.replace("{w}", str(w)))
    (w / "rows.jsonl").write_text("\n".join(ROWS_OF_MANY) + "\n")
    (w / "examples.jsonl").write_text('{"prompt": "a"}\n')
    expected = [("many.toml:3: ", "lots"), ("many.toml:6: ", "none.jsonl"), ("many.toml:7: ", "task.min_level is set, but the task draws no levels"),
                ("many.toml:9: ", "there is no such folder"), ("many.toml:10: ", "model.head_dim 15 is odd"), ("many.toml:12: ", "sft.file is set, but sft.steps is 0"),
                ("many.toml:14: ", "sft.lr is set, but sft.steps is 0"), ("many.toml:16: ", "did you mean train.steps"), ("many.toml:17: ", "must be an integer"),
                ("many.toml:18: ", "train.mini_batches 65 exceeds"), ("many.toml:19: ", 'text goes in quotes: on_nonfinite = "ignore"'),
                ("many.toml:21: ", "eval.pass_k 99 exceeds"), ("many.toml:23: ", "no_grader"), ("many.toml:25: ", "did you mean uniform"),
                ("many.toml:27: ", "checkpoint.keep_best is set, but eval.every is 0"), ("--set sampling.stop=[a", "is read as one"),
                ("rows.jsonl:2: ", "not JSON"), ("rows.jsonl:3: ", 'no key "question"')]
    for words in (("train", run_file), ("plan", run_file), ("submit", run_file, "--dry-run")):
        code, out, err, _ = harness.run(*words, "--set", "sampling.stop=[a")
        check(code == 2, f"{words[0]}: exit code {code}\n{out}\n{err}")
        told = mistakes(err)
        check(len(told) == len(expected), f"{words[0]}: {len(told)} mistakes, not {len(expected)}:\n{err}")
        for line, (place, what) in zip(told, expected):
            check(place in line and what in line and GRAMMAR.match("rollcall: " + line), f"{words[0]}: no '{place}' with '{what}': {line}")
        check("lines 4, 6" in told[-1], f"rows with the same mistake: {told[-1]}")
        check(not (w / "many").exists(), f"{words[0]} left a run folder")


def a_wrong_setting_adds_no_second_mistake(harness):
    """Rows that are right are not accused because a setting beside them is wrong."""
    w = harness.work / "alone"
    w.mkdir()
    (w / "rows.jsonl").write_text("".join(f'{{"question": "{n}+{n}", "answer": "{2 * n}"}}\n' for n in range(20)))
    for wrong in ({"reward__verifier": "maths"}, {"reward__verifier": "math", "reward__command": '["cat"]'},
                  {"task__heldout_file": w / "rows.jsonl", "sft__steps": 3}):
        code, out, err, _ = harness.run("plan", harness.tiny, *sets(run__dir=w / "new", task__name="jsonl", task__file=w / "rows.jsonl", text__tokenizer="byte",
                                                                     task__format_weight=0, **wrong))
        check(code == 2 and len(mistakes(err)) == 1, f"{wrong}: exit code {code}\n{out}\n{err}")


def one_file_is_corrected_line_by_line(harness):
    """Whatever is corrected is not told again, and nothing comes up that was there before."""
    w = harness.work / "corrected"
    w.mkdir()
    (w / "rows.jsonl").write_text("".join(f'{{"question": "{n}+{n}", "answer": "{2 * n}"}}\n' for n in range(200)))
    wrong = {"steps": ("train", '"six"', "1"), "file": ("task", f'"{w}/none.jsonl"', f'"{w}/rows.jsonl"'), "head_dim": ("model", "15", "16"),
             "pass_k": ("eval", "99", "2"), "recipe": ("objective", '"gprpo"', '"grpo"')}
    run_file, left = w / "run.toml", None
    for corrected in range(len(wrong) + 1):
        values = {key: (section, good if n < corrected else bad) for n, (key, (section, bad, good)) in enumerate(wrong.items())}
        run_file.write_text("".join(f"{section}.{key} = {value}\n" for key, (section, value) in values.items()))
        code, out, err, _ = harness.run("plan", run_file, *sets(run__dir=w / "new", text__tokenizer="byte", sft__steps=0))
        told = mistakes(err) if code else []
        check(code == (0 if corrected == len(wrong) else 2) and len(told) == len(wrong) - corrected, f"{corrected} corrected: exit code {code}\n{out}\n{err}")
        check(left is None or told == left[1:], f"{corrected} corrected, and other mistakes are left:\n{err}\nbefore: {left}")
        left = told


def several_mistakes_of_one_kind_are_told_at_once(harness):
    w = harness.work / "several"
    w.mkdir()
    (w / "keys.jsonl").write_text('{"q": "1+1", "a": "2"}\n')
    for wrong, *says in (({"task__name": "jsonl", "task__file": w / "keys.jsonl", "task__fields__prompt": "question", "task__fields__answer": "answer", "task__fields__domain": "d", "task__fields__prior": "p", "text__tokenizer": "byte", "task__format_weight": 0},
                          'no key "question"', 'no key "answer"', 'no key "d"', 'no key "p"'),
                         ({"objective__recipe": "gprpo", "objective__pieces__advantage": "none", "objective__pieces__no": "none", "objective__knobs__clipp": 1},
                          "gprpo is not a recipe", "advantage = none is not a piece", "no is not a family", "no piece has a knob clipp"),
                         ({"reward__components": '["a", "a"]', "reward__command": '["/none/grade"]', "task__format_weight": 0}, "has a twice", "/none/grade")):
        code, out, err, _ = harness.run("plan", harness.tiny, *sets(run__dir=w / "new", **wrong))
        told = mistakes(err)
        check(code == 2 and len(told) == len(says) and all(any(words in line for line in told) for words in says), f"not {says}: exit code {code}\n{out}\n{err}")


def rows_that_are_too_long_are_told_with_other_bad_rows(harness):
    w = harness.work / "too_long"
    w.mkdir()
    rows = [json.dumps({"question": f"{n}+{n}" if n not in (3, 5, 8) else "1+" * (300 + n) + "1", "answer": str(2 * n)}) for n in range(1, 21)]
    for bad in ({}, {6: "not JSON"}, {6: '{"question": "6+6"}', 7: "[]"}):
        (w / "rows.jsonl").write_text("".join(bad.get(n, row) + "\n" for n, row in enumerate(rows, 1)))
        code, out, err, _ = harness.run("plan", harness.tiny, *sets(run__dir=w / "new", task__name="file", task__file=w / "rows.jsonl", text__tokenizer="byte",
                                                                     task__format_weight=0, sft__steps=0, model__max_position_embeddings=256))
        told = mistakes(err)
        check(code == 2 and len(told) == 1 + len(bad), f"{bad}: exit code {code}\n{out}\n{err}")
        long = [line for line in told if "too long: " in line]
        check(len(long) == 1 and f"3 of {20 - len(bad)} prompts are too long: {w}/rows.jsonl:8 has " in long[0], f"{bad}: {err}")
        check(all(f"{w}/rows.jsonl:{n}" in long[0] for n in (3, 5)) and "are too long as well" in long[0], f"not every line is named: {err}")
        check(all(any(f"rows.jsonl:{n}: " in line for line in told) for n in bad), f"{bad}: {err}")


def a_run_folder_is_refused_before_the_data_is_read(harness):
    """The mistakes of a folder that holds a run, or of a checkpoint that was not kept, need no rows, which take seconds to read where they are many."""
    w = harness.work / "early"
    w.mkdir()
    harness.train(w / "run", *sets(sft__steps=1, train__steps=1, eval__before="false", eval__after="false"))
    (w / "rows.jsonl").write_text("not JSON\n")
    rows = sets(task__name="file", task__file=w / "rows.jsonl")
    for words, said in ((["train", harness.tiny, *rows, *sets(run__dir=w / "run")], str(w / "run")),
                        (["train", "--from", f"{w / 'run'}@77", *rows, *sets(run__dir=w / "new")], "has no checkpoint train_000077")):
        code, out, err, _ = harness.run(*words)
        told = mistakes(err)
        check(code == 2 and len(told) == 1 and said in told[0] and "rows.jsonl" not in out + err, f"exit code {code}\n{out}\n{err}")


def a_working_directory_that_is_gone_is_told_first(harness):
    for words in (["recipes"], ["plan", harness.tiny], ["status", "run"]):
        here = harness.work / "removed"
        here.mkdir()
        process = subprocess.Popen(["bash", "-c", 'rmdir "$PWD"; exec "$0" "$@"', harness.binary, *words], cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        out, err = process.communicate()
        check(process.returncode == 2 and err.startswith("rollcall: the working directory cannot be found: ") and len(err.splitlines()) == 1, f"{words}: exit code {process.returncode}\n{out}\n{err}")


def a_run_without_a_file_says_what_it_is(harness):
    few = sets(run__dir=harness.work / "no_file", sft__steps=0, train__steps=0, eval__before="false", eval__after="false", task__train_prompts=64)
    code, out, err, _ = harness.run("train", *few)
    said = [line for line in (out + err).splitlines() if "no run file is given" in line]
    check(code == 0 and len(said) == 1 and "built-in task sorting" in said[0] and "docs/guide/own-data.md" in said[0], f"exit code {code}\n{out}\n{err}")
    bare = harness.work / "bare.toml"
    bare.write_text("train.lr = 1e-5\n")
    code, out, err, _ = harness.run("train", bare, *few, *sets(run__dir=harness.work / "bare"))
    check(code == 0 and "bare.toml names no task: a small new model learns the built-in task sorting" in out + err, f"exit code {code}\n{out}\n{err}")
    code, out, err, _ = harness.run("train", *few, *sets(run__dir=harness.work / "named", task__name="sorting"))
    check(code == 0 and "built-in task" not in out + err, f"exit code {code}: the task was named\n{out}\n{err}")


main(each_wrong_input_gives_one_message, all_mistakes_are_one_refusal, a_wrong_setting_adds_no_second_mistake, one_file_is_corrected_line_by_line, several_mistakes_of_one_kind_are_told_at_once,
     rows_that_are_too_long_are_told_with_other_bad_rows, a_run_folder_is_refused_before_the_data_is_read, a_working_directory_that_is_gone_is_told_first, a_run_without_a_file_says_what_it_is)
