"""Batch scripts of every site file: each value has its directive, flags stand over the file, and nothing of the template is left."""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

from harness import check, main, result, sets

DIRECTIVES = {"account": "account", "partition": "partition", "qos": "qos", "constraint": "constraint", "tasks_per_node": "ntasks-per-node",
              "cpus_per_task": "cpus-per-task", "gpus_per_node": "gpus-per-node", "memory": "mem", "time": "time", "signal_s": "signal"}
DEFAULTS = {"signal_s": 120}  # of what a site file may leave out


def site_values(path):
    """A site file is lines of key = string, number or list, which JSON reads as well."""
    return {key: json.loads(value) for key, value in re.findall(r'^(\w+) *= *("[^"]*"|\d+|\[[^]]*\])', path.read_text(), re.MULTILINE)}


def directives(script):
    return dict(re.fullmatch(r"--([a-z-]+)(?:=(.*))?", line.removeprefix("#SBATCH ")).groups() for line in script.splitlines() if line.startswith("#SBATCH "))


def every_site_has_a_script(harness):
    sites = [site for site in sorted((harness.source / "jobs/sites").glob("*.toml")) if site_values(site).get("batch_system") != "pbs"]
    check(len(sites) >= 3, f"sites: {sites}")
    for site in sites:
        values = DEFAULTS | site_values(site)
        gpus = {"gpus_per_node": 3} if values["template"] == "gpu" else {}
        numerics = sets(run__numerics="cuda_bf16_sliced8") if gpus else []
        for flags in ({"account": "someone"}, {"account": "someone", "qos": "debug", "partition": "other"} | gpus):
            words = [word for key, value in flags.items() for word in (f"--{key.replace('_', '-')}", value)]
            script = harness.succeed("submit", harness.tiny, "--site", site.stem, "--nodes", 2, *words, "--dry-run", *sets(run__dir=harness.work / "run"), *numerics)
            wanted = values | {"signal_s": f"B:USR1@{values['signal_s']}"} | flags
            expected = {option: str(wanted[key]) for key, option in DIRECTIVES.items() if wanted.get(key, "") not in ("", 0)}
            expected |= {"job-name": "rollcall-run", "nodes": "2", "output": f'"{harness.work}/run/slurm-%j.log"', "open-mode": "append", "requeue": None}
            name = f"{site.stem} with {flags}"
            check(directives(script) == expected, f"{name}: directives {directives(script)}, not {expected}")
            check(script.startswith("#!/bin/bash\n") and not re.search("@[A-Z_]+@", script), f"{name}: something of the template is left\n{script}")
            check(all(f"\n{line}\n" in script for line in values["setup"]), f"{name}: a line of the setup is missing\n{script}")
            check(subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0, f"{name}: bash cannot read it\n{script}")
    check(not (harness.work / "run").exists(), "--dry-run made the run folder")


def pbs_site(harness, **values):
    """A site file of PBS with some values of its own."""
    path = harness.work / "pbs_site.toml"
    lines = {"batch_system": "pbs", "tasks_per_node": 4, "cpus_per_task": 8, "gpus_per_node": 2, "memory": "64G", "time": "1-02:00:03", "account": "someone", "partition": "long",
             "options": ["-l filesystems=home"], "setup": ["module load mpi"]} | values
    path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items()))
    return path


def pbs_has_a_script_of_its_own(harness):
    gpus = sets(run__numerics="cuda_bf16_sliced8")
    script = harness.succeed("submit", harness.tiny, "--site", pbs_site(harness), "--nodes", 3, "--signal", 90, "--dry-run", *sets(run__dir=harness.work / "run"), *gpus)
    options = [line.removeprefix("#PBS ") for line in script.splitlines() if line.startswith("#PBS ")]
    check(options == ["-N rollcall-run", "-S /bin/bash", "-A someone", "-q long", "-l select=3:ncpus=32:mpiprocs=4:ngpus=2:mem=64gb", "-l place=scatter", "-l walltime=26:00:03", "-j oe", "-k doe",
                      f"-o {harness.work}/run/", "-r y", "-l filesystems=home"], f"{options}")
    check("\nmodule load mpi\n" in script and "\nbegin_pbs_job 93603 90 12 8\n" in script and f"requeue=yes job_script='{harness.work}/run/job.pbs'" in script, script)
    check("#SBATCH" not in script and not re.search("@[A-Z_]+@", script) and "not tried on a PBS server" in script, script)
    check(subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0, f"bash cannot read it\n{script}")
    plain = harness.succeed("submit", harness.tiny, "--site", "pbs", "--dry-run", *sets(run__dir=harness.work / "run"))
    check("#PBS -A" not in plain and "#PBS -q" not in plain and "select=1:ncpus=2:mpiprocs=2\n" in plain and "walltime=01:00:00" in plain, plain)
    site = pbs_site(harness, gpus_per_node=0)
    for words, said in ((["--qos", "debug"], "PBS has neither"), (["--sbatch", "--mail-type=END"], "--sbatch is given"), (["--at-once", 2], "--at-once is given"), (sets(run__dir=harness.work / "two words"), "a directive of PBS has no quotes"),
                        (["--time", "soon"], "cannot be read")):
        folder = [] if "--set" in words else sets(run__dir=harness.work / "run")
        code, _, err, _ = harness.run("submit", harness.tiny, "--site", site, "--dry-run", *folder, *words)
        check(code == 2 and said in err, f"{words}: exit code {code}: {err}")


def pbs_takes_each_run_and_each_link_of_a_chain(harness):
    calls, tools = harness.work / "qsub.calls", harness.work / "pbs_tools"
    tools.mkdir()
    (tools / "qsub").write_text(f'#!/bin/sh\necho "$*" >>{calls}\necho "$(wc -l <{calls}).server"\n')
    (tools / "qsub").chmod(0o755)
    path = {"PATH": f"{tools}:{os.environ['PATH']}"}
    site, runs = pbs_site(harness, gpus_per_node=0), harness.work / "pbs_runs"
    told = harness.succeed("submit", harness.tiny, "--site", site, "--seeds", "1-2", "--chain", 2, *sets(run__dir=runs), env=path)
    scripts = [runs / f"seed_{seed}/job.pbs" for seed in (1, 2)]
    check(calls.read_text().splitlines() == [str(scripts[0]), f"-W depend=afterany:1.server {scripts[0]}", str(scripts[1]), f"-W depend=afterany:3.server {scripts[1]}"], calls.read_text())
    check("Submitted batch job 2.server, to start when 1.server has ended" in told, told)
    check(all("#PBS -r n\n" in script.read_text() and "requeue=no" in script.read_text() for script in scripts), "a chain continues by itself")


def gpus_need_a_template_that_books_them(harness):
    code, _, err, _ = harness.run("submit", harness.tiny, "--gpus-per-node", 2, "--dry-run")
    check(code == 2 and "template cpu books none" in err, f"exit code {code}: {err}")


def an_array_has_its_line(harness):
    script = harness.succeed("submit", harness.tiny, "--seeds", "1-3", "--at-once", 2, "--dry-run", *sets(run__dir=harness.work / "run"))
    check(directives(script).get("array") == "0-2%2" and all(re.search(rf"/run/seed_{seed}/submitted-[0-9a-f]{{16}}\.toml", script) for seed in (1, 2, 3)), script)
    check(subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0, f"bash cannot read it\n{script}")


def names_stay_names(harness):
    """Blanks, quotes, Slurm's %, the templates' @ and other alphabets: sbatch and bash both read the folder that was meant."""
    for name in ("two words", "it's", 'a "quoted" one', "100% %j %%", "@TIME@ a@b @RUNS@", "Läufe 数", "semi;colon #1 $HOME `x`", "slashes//"):
        folder = harness.work / "odd" / name
        script = harness.succeed("submit", harness.tiny, "--dry-run", "--set", f"run.dir={folder}/", *([] if "@" in name else ["--launcher", "srun 'a b'"]))
        line = next(line for line in script.splitlines() if line.startswith("#SBATCH --output="))
        words = shlex.split(line.removeprefix("#SBATCH "))  # as sbatch takes quotes and backslashes
        check(words == [f"--output={str(folder).replace('%', '%%')}/slurm-%j.log"], f"{name}: {line}")
        job = next(line for line in script.splitlines() if line.startswith("#SBATCH --job-name="))
        check(len(shlex.split(job.removeprefix("#SBATCH "))) == 1, f"{name}: {job}")
        told = subprocess.run(["bash"], input=re.sub(r"^source .*$", """launch() { printf '%s\\n' "$1"; exit 0; }""", script, flags=re.MULTILINE), capture_output=True, text=True)
        check(told.stdout == f"{folder}\n", f"{name}: bash reads {told.stdout!r} {told.stderr}\n{script}")


def names_stay_names_in_an_array(harness):
    """Each run of the array has a folder of its own, and the job runs what lies in it."""
    for name in ("two words", 'a "quoted" one', "it's 100%", "Läufe 数/"):
        script = harness.succeed("submit", harness.tiny, "--dry-run", "--seeds", "1-2", "--set", f"run.dir={harness.work / 'odd'}/{name}")
        launch = next(line for line in script.splitlines() if line.startswith("  1) launch "))
        words = shlex.split(launch.removeprefix("  1) launch ").removesuffix(" ;;"))
        folder = str(harness.work / "odd" / name.rstrip("/") / "seed_2")
        check(words[0] == folder, f"{name}: {words}")
        check(words[2:5] == ["train", "--resume", "--start-if-none"] and re.fullmatch(re.escape(folder) + r"/submitted-[0-9a-f]{16}\.toml", *words[5:]), f"{name}: {words}")


def no_value_becomes_a_line_of_the_script(harness):
    attack = "x\ntouch pwned\n#"
    for words in (["--set", f"run.dir={attack}"], ["--set", 'run.dir="x\\ntouch pwned"'], ["--partition", attack], ["--launcher", f"srun{attack}"], ["--time", attack], ["--account", "a\x1b[2J"],
                  ["--memory", "1G\rx"], ["--sbatch", f"--mail-type={attack}"]):
        code, out, err, _ = harness.run("submit", harness.tiny, "--dry-run", *words)
        check(code == 2 and not out and "control character" in err and err.count("\n") == 1, f"{words}: exit code {code}\n{out}\n{err}")


def sbatch_that(harness, name, does):
    """An environment whose sbatch does that with the script $2."""
    fake = harness.work / name / "sbatch"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\n{does}\n")
    fake.chmod(0o755)
    return {"PATH": f"{fake.parent}:{os.environ['PATH']}"}


def settings_in(folder):
    return {path.name: path.read_text() for path in folder.glob("submitted-*.toml")}


def what_is_submitted_is_what_runs(harness):
    """The settings of the moment, --set included, are in a file of the run folder; what becomes of the run file afterwards is nothing to the job, nor is another submission."""
    mine, folder, log = harness.work / "mine.toml", harness.work / "submitted", harness.work / "sbatch.log"
    mine.write_text(pathlib.Path(harness.tiny).read_text())
    env = sbatch_that(harness, "accepting", f'cp "$2" {log}\necho 7')
    words = ("submit", mine, "--sbatch", "--mail-type=END", "--sbatch", "--comment=a b", *sets(run__dir=folder, eval__before="false", eval__after="false"))
    harness.succeed(*words, *sets(train__steps=3, run__seed=5), env=env)
    check("not started yet" in harness.succeed("status", folder), "status says nothing of it")
    mine.write_text("nonsense")
    script, (first,) = log.read_text(), settings_in(folder).items()
    check("#SBATCH --mail-type=END\n#SBATCH --comment=\"a b\"\n" in script and "--set" not in script and f"{folder}/{first[0]}" in script, script)
    run = re.sub(r"^source .*$", 'launch() { shift; exec "$@"; }', script, flags=re.MULTILINE)
    for _ in range(2):  # started, and requeued
        told = subprocess.run(["bash"], input=run, capture_output=True, text=True, cwd=harness.work)
        check(told.returncode == 0 and result(folder)["train_steps"] == 3, f"{told.returncode}\n{told.stdout}\n{told.stderr}")
    check("seed = 5 " in (folder / "config.toml").read_text(), "not the settings of the submission")
    mine.write_text(pathlib.Path(harness.tiny).read_text())
    code, _, err, _ = harness.run(*words, *sets(train__steps=3, run__seed=6), env=env)
    check(code == 2 and "run.seed is 6" in err and "was started with 5" in err, f"another seed in the same folder: exit code {code}\n{err}")
    code, _, err, _ = harness.run(*words, *sets(train__steps=4, run__seed=5), env=env)
    check(code == 0 and f"train.steps was 3 in the last submission of {folder} and is 4; a job that still waits keeps its own" in err, f"exit code {code}\n{err}")
    both = settings_in(folder)
    check(len(both) == 2 and both[first[0]] == first[1], f"the settings of the job that waits are others: {sorted(both)}")
    a_run_is_continued_as_its_checkpoint_says(harness, [*words, *sets(run__seed=5)], folder)
    code, _, err, _ = harness.run(*words, *sets(train__steps=5, run__seed=5), env=sbatch_that(harness, "refusing", "echo 'no such account' >&2\nexit 1"))
    check(code != 0 and "no such account" in err and settings_in(folder) == both, f"a submission that sbatch refused: exit code {code}, {sorted(settings_in(folder))}\n{err}")
    code, _, err, _ = harness.run(*words, *sets(run__dir=harness.work / "refused"), env=sbatch_that(harness, "refusing_again", "exit 1"))
    check(code != 0 and not settings_in(harness.work / "refused"), err)


def what_changed_while_it_waited_is_named(harness):
    """Questions, grader and model may be edited while a job waits. Its first start names what did, a requeued one does not."""
    rows, grader, folder, log = harness.work / "waiting.jsonl", harness.work / "waiting_grader.py", harness.work / "waiting", harness.work / "waiting.log"
    model = harness.work / "waiting_model"
    harness.train(harness.work / "before", *sets(sft__steps=1, train__steps=1))
    harness.succeed("export", harness.work / "before", model)
    grader.write_text('#!/usr/bin/env python3\nimport json, sys\nfor line in sys.stdin:\n'
                      '    print(json.dumps({"id": json.loads(line)["id"], "score": 0.0, "correct": False}), flush=True)\n')
    grader.chmod(0o755)
    rows.write_text("".join(f'{{"question": "{n}+1", "answer": "{n + 1}"}}\n' for n in range(80)))
    words = ("submit", harness.tiny, *sets(run__dir=folder, task__name="file", task__file=rows, model__path=model, reward__command=json.dumps([str(grader)]), task__format_weight=0, sft__steps=0,
                                           train__steps=1, eval__before="false", eval__after="false"))
    harness.succeed(*words, env=sbatch_that(harness, "waiting", f'cp "$2" {log}\necho 7'))
    (first,) = settings_in(folder).values()
    check(all(f'"{path}"' in first for path in (rows, grader, model / "config.json", model / "model.safetensors")), f"not every file is recorded:\n{first[-2000:]}")
    run = re.sub(r"^source .*$", 'launch() { shift; exec "$@"; }', log.read_text(), flags=re.MULTILINE)
    kept = folder.with_name("waiting_kept")
    shutil.copytree(folder, kept)
    for changed in ((), (rows, grader, model / "config.json")):
        shutil.rmtree(folder)
        shutil.copytree(kept, folder)
        for path in changed:
            path.write_text(path.read_text() + "\n")
        for requeued in (False, True):
            told = subprocess.run(["bash"], input=run, capture_output=True, text=True, cwd=harness.work)
            said = [line for line in (told.stdout + told.stderr).splitlines() if "since the job was submitted" in line]
            check(told.returncode == 0 and len(said) == (bool(changed) and not requeued), f"{changed}: {told.returncode}\n{told.stdout}\n{told.stderr}")
            check(not said or (all(f"{path} has changed" in said[0] for path in changed) and "model.safetensors has changed" not in said[0]), str(said))


def a_run_is_continued_as_its_checkpoint_says(harness, words, folder):
    """The folder holds a run of three steps. config.toml may have been edited since; the newest checkpoint counts, as in the job."""
    code, _, err, _ = harness.run(*words, "--dry-run", *sets(train__steps=2))
    check(code == 2 and f"train.steps is 2, but the run in {folder} has done 3" in err, f"exit code {code}\n{err}")
    own = folder / "config.toml"
    recorded = own.read_text()
    own.write_text(re.sub(r"(?m)^lr = \S+", "lr = 0.125", recorded))
    code, _, err, _ = harness.run("submit", own, "--dry-run")
    check(code == 2 and "train.lr is 0.125" in err and "as checkpoint " in err, f"an edited config.toml: exit code {code}\n{err}")
    code, _, err, _ = harness.run(*words, "--dry-run", *sets(train__steps=3))
    check(code == 0, f"the file that began the run: exit code {code}\n{err}")
    own.write_text(recorded)


def what_would_end_the_job_is_said_at_once(harness):
    rows = harness.work / "rows.jsonl"
    rows.write_text('{"question": "1+1", "answer": "2"}\n{"question": \n')
    (harness.work / "grade").write_text("#!/bin/sh\n")
    asked = sets(run__dir=harness.work / "nowhere", task__name="file", task__file=rows)
    for words, says in ((sets(run__numerics="cuda_bf16_sliced8"), "but the site books no GPU"),
                        (["--sbatch", "--gres=nvme:1", *sets(run__numerics="cuda_bf16_sliced8")], "but the site books no GPU"),
                        (sets(objective__recipe="pods"), "objective.recipe is pods, but the scheduler's selection is not max_variance"),
                        (sets(scheduler__policy="dars_hw"), "set scheduler.max_rollouts=64"),
                        (sets(objective__recipe="chord", task__shuffle_rewards="true"), "task.shuffle_rewards is set, but objective.recipe chord learns from"),
                        (sets(objective__pieces__reward="kl_limit", scheduler__policy="dapo"), "set scheduler.hears=verifier"),
                        (sets(judge__votes=3), "judge.votes is set, but no model judges"),
                        (asked, "rows.jsonl:2"),
                        (sets(task__name="file", task__file="none.jsonl"), "none.jsonl"),
                        (sets(task__format_weight=0, reward__command='["./grade"]'), "./grade, which is no program that may be run here"),
                        (sets(task__format_weight=0, reward__command='["no_such_grader"]'), "no_such_grader, which PATH does not have"),
                        (sets(model__path="no_model"), "no_model"),
                        (sets(run__init_from="no_run@4"), "no_run"),
                        (["--nodes", "2", *sets(run__layout="single")], "exactly 1"),
                        (sets(model__hidden_size=65536, model__intermediate_size=262144, model__num_hidden_layers=512), "the checkpoints alone take"),
                        (["--sbatch", "mail-type=END"], "no option of sbatch in its long form"),
                        (["--sbatch", "--time=1"], "has a line for --time already")):
        code, out, err, _ = harness.run("submit", harness.tiny, "--dry-run", *sets(run__dir=harness.work / "nowhere"), *words)
        check(code == 2 and not out and says in err and err.count("rollcall: ") == 1, f"{words}: exit code {code}, wanted {says!r}\n{out}\n{err}")
    code, _, err, _ = harness.run("submit", harness.tiny, "--dry-run", "--nodes", 64, *sets(run__dir=harness.work / "nowhere"))
    check(code == 0 and "128 ranks share the 32 rollouts of a step: 96 of them" in err, f"exit code {code}\n{err}")
    for words in (["--gres=gpu:1"], ["--gres", "gpu:a100:4"], ["--gpus=2"], ["--gpus-per-task=1"], ["--gpus-per-node=a100:1"], ["--tres-per-task=cpu:1,gres/gpu:1"]):
        harness.succeed("submit", harness.tiny, "--dry-run", "--sbatch", " ".join(words), *sets(run__dir=harness.work / "nowhere", run__numerics="cuda_bf16_sliced8"))
    code, _, err, _ = harness.run("submit", harness.tiny, "--dry-run", "--site", "perlmutter-gpu", "--account", "a", *sets(run__dir=harness.work / "nowhere"))
    check(code == 0 and "the job books GPUs and would leave them idle, since run.numerics is fp32_fixed_order" in err, f"exit code {code}\n{err}")
    check(not (harness.work / "nowhere").exists(), "a check left a folder behind")


def files_of_others_are_no_room(harness):
    """What a run folder holds already is not needed again; what lies beside it is not the run's to replace. The files have a size and no blocks."""
    large = sets(run__dir=harness.work / "room", model__hidden_size=65536, model__intermediate_size=262144, model__num_hidden_layers=512)
    for name, code in (("other", 2), ("seed_1/archive/train.h5", 0)):
        file = harness.work / "room" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        os.truncate(file, 2**60)
        found, _, err, _ = harness.run("submit", harness.tiny, "--dry-run", "--seeds", "1-2", *large)
        check(found == code and (code == 0 or "the checkpoints alone take" in err), f"with {name}: exit code {found}\n{err}")


def a_job_lives_longer_than_its_warning(harness):
    """A wall time within the signal's would stop every job of the chain before its first step. 120 s is the sites' usual warning."""
    for time, signal, short in (("00:02:00", 120, True), ("2", 120, True), ("1:59", 120, True), ("0-0:1", 120, True), ("00:02:01", 120, False), ("3", 120, False), ("0-1", 120, False),
                                ("1-00:00:00", 65535, False), ("18:12:15", 65535, True), ("UNLIMITED", 120, False), ("INFINITE", 120, False)):
        code, _, err, _ = harness.run("submit", harness.tiny, "--dry-run", "--time", time, "--signal", signal)
        check((code == 2) == short and (f"the wall time {time} is not longer than the {signal} s" in err) == short, f"--time {time} --signal {signal}: exit code {code}: {err}")


def an_array_needs_a_folder_of_its_own(harness):
    files = []
    for number, folder in enumerate(("/nowhere1/a", "/elsewhere2/b")):
        files.append(harness.work / f"{number}.toml")
        files[-1].write_text(pathlib.Path(harness.tiny).read_text().replace('dir = "runs/tiny"', f'dir = "{folder}"'))
    code, _, err, _ = harness.run("submit", *files, "--dry-run")
    check(code == 2 and "no folder in common" in err, f"exit code {code}: {err}")


def a_folder_of_one_machine_is_told(harness):
    for folder, hidden in (("/tmp/runs/x", True), ("/dev/shm/x", True), ("/nowhere/x", False)):
        _, _, err, _ = harness.run("submit", harness.tiny, "--dry-run", "--set", f"run.dir={folder}")
        check((f"run.dir is in {folder}" in err) == hidden, f"{folder}: {err}")


main(what_is_submitted_is_what_runs, what_changed_while_it_waited_is_named, what_would_end_the_job_is_said_at_once, files_of_others_are_no_room, names_stay_names, names_stay_names_in_an_array, no_value_becomes_a_line_of_the_script, an_array_needs_a_folder_of_its_own, a_folder_of_one_machine_is_told, a_job_lives_longer_than_its_warning, every_site_has_a_script, gpus_need_a_template_that_books_them, an_array_has_its_line, pbs_has_a_script_of_its_own, pbs_takes_each_run_and_each_link_of_a_chain)
