"""What the documents say is so: links lead somewhere, files exist, commands have the flags that they are quoted with, and the
program accepts every setting. Pages that the program can say itself are compared with it."""
import collections
import concurrent.futures
import json
import re
import shlex
import subprocess
import sys

from harness import check, main, metrics

COMMAND = re.compile(r"(?<![/\w.-])rollcall ([a-z]+)((?: [^`\n|#;]*)?)")
SCRIPT = re.compile(r"(?<![/\w.-])((?:scripts|benchmarks)/[\w/]+)((?: [^`\n|#;]*)?)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.S | re.M)
FILE = re.compile(r"(?:benchmarks|cmake|docs|io|jobs|kernels|packaging|scripts|src|tests)/[\w./-]+")
SETTING = re.compile(r"(?<![\w.])([a-z_]+(?:\.[a-z_]+)+) ?= ?(\"[^\"]*\"|\[[^\]]*\]|[^\s`,;:)\]]+)")
PAST = "CHANGELOG.md"  # what was true on its day
FOLDERS_OF_THE_BUILD = ("build", "runs", "tests")
ENDINGS = ("cpp", "hpp", "json", "jsonl", "prompts", "py", "rows", "safetensors", "toml")  # of files whose names look like keys
HEADINGS = ["Context", "Choice", "Price", "In the code"]


def documents(harness):
    """{name: text} of every document; those of a build, a run or a test's own are none."""
    found = {}
    for path in sorted(harness.source.rglob("*.md")):
        name = path.relative_to(harness.source)
        if name.parts[0] not in FOLDERS_OF_THE_BUILD and not name.parts[0].startswith("."):
            found[str(name)] = path.read_text()
    return found


def of_today(harness):
    return {name: text for name, text in documents(harness).items() if name != PAST}


def spans(text):
    """Code in the text, and blocks of commands."""
    inline = re.findall(r"`([^`\n]+)`", FENCE.sub("", text))
    return [span.replace("\\|", "|") for span in inline] + [block for language, block in FENCE.findall(text) if language in ("", "sh")]


def quoted(harness):
    """{subcommand: {flag: document}}"""
    commands = {}
    for name, text in of_today(harness).items():
        for span in spans(text):
            for subcommand, rest in COMMAND.findall(span):
                first = rest.split()[:1]
                if subcommand in ("archive", "weights") and first and re.fullmatch("[a-z]+", first[0]):
                    subcommand += " " + first[0]
                flags = commands.setdefault(subcommand, {})
                for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest):
                    flags.setdefault(flag, name)
    return commands


def flags_are_those_of_the_program(harness):
    commands = quoted(harness)
    check(len(commands) > 12, f"only {sorted(commands)} are quoted")

    def help_of(subcommand):
        return subcommand, harness.run(*shlex.split(subcommand), "--help")

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for subcommand, (code, out, err, _) in pool.map(help_of, commands):
            check(code == 0, f"rollcall {subcommand} --help: exit code {code}\n{out}\n{err}")
            known = set(re.findall(r"--[a-z][a-z-]*", out))
            for flag, document in commands[subcommand].items():
                check(flag in known, f"{document} quotes rollcall {subcommand} {flag}, which has {sorted(known)}")


def flags_are_those_of_the_scripts(harness):
    seen = 0
    for name, text in of_today(harness).items():
        for span in spans(text):
            for script, rest in SCRIPT.findall(span):
                path = harness.source / script
                if not path.is_file():
                    continue  # files_exist says so
                program = path.read_text(errors="replace")
                for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest):
                    seen += 1
                    check(flag in program, f"{name} quotes {script} {flag}, which it does not know")
    check(seen >= 20, f"only {seen} flags of scripts are quoted")


def slug(heading):
    """The anchor that a heading has on GitHub."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def anchors(text):
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.M)
    return {slug(heading) for heading in headings} | set(re.findall(r'<a id="([^"]+)">', text))


def links_lead_somewhere(harness):
    texts, seen = documents(harness), 0
    for name, text in texts.items():
        plain = re.sub(r"`[^`\n]+`", "", FENCE.sub("", text))
        for target in re.findall(r"\]\(([^)\s]+)\)", plain):
            if target.startswith(("http://", "https://", "mailto:")):
                continue
            seen += 1
            file, _, anchor = target.partition("#")
            path = ((harness.source / name).parent / file).resolve() if file else harness.source / name
            check(path.exists(), f"{name} links to {target}, which does not exist")
            if anchor:
                check(anchor in anchors(path.read_text()), f"{name} links to {target}, which has no such heading")
    check(seen > 250, f"only {seen} links")


def files_exist(harness):
    seen = 0
    tests = {name for path in harness.source.rglob("CMakeLists.txt") if "build" not in path.parts for name in re.findall(r"NAME (\S+)", path.read_text())}
    for name, text in of_today(harness).items():
        if name.startswith("benchmarks/results/"):
            continue  # a file that was measured then may be gone
        for span in re.findall(r"`([^`\n]+)`", FENCE.sub("", text)):
            if not span.strip() or not FILE.fullmatch(span.split()[0]) or re.search(r"[A-Z]{3}|\*|<", span.split()[0].replace("README", "").replace("METHODS", "")):
                continue
            seen += 1
            path = harness.source / span.split()[0]
            check(path.exists() or span in tests, f"{name} names {span.split()[0]}, which does not exist")
    check(seen > 250, f"only {seen} files are named")


def keys_are_those_of_the_program(harness):
    """A key that a document mentions is one of a run file."""
    _, out, _, _ = harness.run("train", "--help")
    known = set(re.findall(r"^  ([a-z_]+\.[a-z_0-9.]+)", out.split("Keys of a run file")[1], re.M))
    sections = {key.split(".")[0] for key in known}
    seen = 0
    for name, text in of_today(harness).items():
        for span in re.findall(r"`([a-z_]+\.[a-z_]+)`", FENCE.sub("", text)):
            if span.split(".")[0] in sections and span.split(".")[1] not in ENDINGS:
                seen += 1
                check(span in known, f"{name} names the key {span}, which no run file has")
    check(seen > 100, f"only {seen} keys are mentioned")


def names_of_other_trainers(harness):
    """The page and the program's own table have the same names, and say the same of each."""
    ours_of, page = {}, (harness.source / "docs/reference/other_trainers.md").read_text()
    for line in page.splitlines():
        cells = [re.findall(r"`([^`]+)`", cell) for cell in line.strip().strip("|").split("|")] if line.startswith("| `") else []
        for name in (name for cell in cells[1:] for name in cell):
            ours_of.setdefault(name, set()).update(cells[0])
    table = set(re.findall(r'^    \{"([\w.]+)",', (harness.source / "src/core/other_trainers.cpp").read_text(), re.M))
    check(len(ours_of) > 100 and len(table) > 100, f"{len(ours_of)} names on the page, {len(table)} in the program")
    for name in table:
        check(any(shown == name or shown.endswith("." + name) for shown in ours_of), f"the page lacks {name}")
    names, told = list(ours_of), {}
    for first in range(0, len(names), 40):  # one message does not tell more than some forty mistakes
        _, _, err, _ = harness.run("plan", harness.tiny, *[word for name in names[first:first + 40] for word in ("--set", f"{name}=1")])
        told |= dict(re.findall(r"--set ([\w.]+)=1: .*; here it is (.*)", err))
    for name, ours in ours_of.items():
        check(name in told and all(own in told[name] for own in ours), f"the page says {ours} of {name}, and the program {told.get(name)}")


def quoted_settings(harness):
    """{key: {value as --set takes it: document}}; of sections that a run file has"""
    _, out, _, _ = harness.run("train", "--help")
    sections = set(re.findall(r"^  ([a-z_]+)\.", out.split("Keys of a run file")[1], re.M))
    found = collections.defaultdict(dict)

    def add(key, value, name):
        if key.split(".")[0] in sections and "..." not in value and not value.startswith("<"):
            found[key].setdefault(value.rstrip("."), name)

    for name, text in of_today(harness).items():
        for span in spans(text) + [block for language, block in FENCE.findall(text) if language == "toml"]:
            for key, value in SETTING.findall(span):
                add(key, value, name)
        blocks = [block for language, block in FENCE.findall(text) if language == "toml"]
        blocks += [block.replace("\n    ", "\n") for block in re.findall(r"(?:^    .*\n)+", text, re.M) if re.match(r"    \[[a-z_.]+\]\n", block)]
        for block in blocks:
            section = ""
            for line in block.strip().splitlines():
                if match := re.match(r"\s*\[([a-z_.]+)\]", line):
                    section = match.group(1) + "."
                elif match := re.match(r"([a-z_]+) = (\"(?:[^\"\\]|\\.)*\"|\[[^\]]*\]|\S+)", line.strip()):
                    add(section + match.group(1), match.group(2), name)
    return found


# What a setting needs beside it, by the beginning of its key; RUN and QUESTIONS are made here.
BESIDE = {
    "judge.": ["judge.model=RUN"], "reward.": ["task.format_weight=0", 'reward.command=["true"]'], "reward.verifier": ["reward.command=[]"],
    "environment.tools": ["environment.name=tools"], "environment.index": ["environment.name=tools", 'environment.tools=["search"]'],
    "hints.": ["scheduler.policy=ghpo"], "replay.": ["replay.share=0.5"], "self_judging.": ["self_judging.share=0.5"],
    "sft.turns": ["task.name=key_door"], "environment.start_": ["task.name=key_door"], "environment.turns_every": ["task.name=key_door"],
    "environment.start_every": ["environment.start_depth=backward"], "environment.start_success": ["environment.start_depth=success"],
    "sft.thought_dropout": ['task.forms=["think"]'],
    "task.name": ["task.file=QUESTIONS"], "train.rollouts_per_prompt": ["scheduler.max_rollouts=64"],
    "objective.recipe": ["judge.model=RUN", "judge.component=votes"], "objective.knobs.kl_anchor": ["objective.pieces.regularizer=kl", "train.mini_batches=2"],
    "objective.knobs.omit_components": ["objective.pieces.reward=components", "judge.model=RUN"],
}
OF_THE_READER = {"judge.model", "model.path", "run.dir", "task.file"}  # folders and files that are not here
ALONE = ("environment.", "objective.", "reward.", "task.")  # settings of one section that do not go together
APART = ("hints", "judge", "openings", "replay", "second_pass", "self_judging")  # sections that do not go with others


# What is said of a setting that needs others, of which a page need not speak.
OTHERS = re.compile(r"guide\.model is empty|guide\.max_tokens is|experts\.share is|self_judging\.share is 0|nor a judge fills"
                    r"|teacher\.model is empty|requires \S+, which is not set|the policy \S+ requires|draws up to|requires a value model|task\.shuffle_rewards is set"
                    r"|reward\.command begins with|there is no validation prompt|does not measure|no validation measures|a probe behind|no such folder|holds no checkpoint"
                    r"|environment\.command begins with|there would be nothing to call|does not show tools|nothing would be learnt|cannot open|it would draw as another policy")
# The same, of the setting itself: the message names its key. Said of another key, a page quotes what does not go together.
OF_ITSELF = re.compile(r"nothing would read it|goes by rewards|objective\.recipe is \S+, but")


def settings_are_accepted(harness):
    """Wrong names and values are refused all at once; then each is tried with what it needs beside it."""
    found = quoted_settings(harness)
    check(len(found) > 55, f"only {sorted(found)} are quoted")
    rounds = range(max(map(len, found.values())))
    quoting = {f"{key}={value}": name for key, values in found.items() for value, name in values.items()}
    turns = [[f"{key}={list(values)[turn]}" for key, values in found.items() if turn < len(values)] for turn in rounds]
    run, questions = harness.work / "judge", harness.work / "questions.jsonl"
    harness.train(run, "--set", "train.steps=0", "--set", "sft.steps=1", "--set", "eval.before=false", "--set", "eval.after=false")
    questions.write_text("".join(json.dumps({"question": f"{i}+1=", "answer": str(i + 1)}) + "\n" for i in range(40)))

    def plan(settings):
        words = [word for setting in settings for word in ("--set", setting.replace("RUN", str(run)).replace("QUESTIONS", str(questions)))]
        code, _, err, _ = harness.run("plan", harness.tiny, "--ranks", "4", "--set", "model.max_position_embeddings=256", *words)
        return code, err

    def refused_by_name(settings):
        """Keys, types, ranges and names of tables."""
        wrong = re.compile(r"is not a key of the run file|must be |use a value from|did you mean|valid are|is not in the table|is not a piece|has a knob|is read as one")
        apart = "no chosen piece has a knob"  # which another setting of the turn may have replaced
        return [line for line in plan(settings)[1].splitlines() if wrong.search(line) and apart not in line]

    def refused(settings):
        beside = [other for setting in settings for begin, others in BESIDE.items() if setting.startswith(begin) for other in others]
        code, err = plan(list(dict.fromkeys(beside)) + settings)
        told = [line for line in err.splitlines() if re.match(r"rollcall: |  \| ", line) and " mistakes, one a line:" not in line]
        keys = [setting.split("=")[0] for setting in [*beside, *settings]]
        forgiven = [line for line in told if OTHERS.search(line) or OF_ITSELF.search(line) and any(key in line for key in keys)]
        return [f"{', '.join(settings)}: {line}" for line in told if code and line not in forgiven]

    groups = []
    for turn in turns:
        together = collections.defaultdict(list)
        for setting in turn:
            key = setting.split("=")[0]
            if key not in OF_THE_READER:
                section = key.split(".")[0]
                together[key if key.startswith(ALONE) else section if section in APART else "others"].append(setting)
        groups += together.values()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        problems = sum(pool.map(refused_by_name, turns), []) or sum(pool.map(refused, groups), [])
    check(not problems, "\n".join(f"{[name for setting, name in quoting.items() if setting in problem]} quote what is refused: {problem}" for problem in problems))


def pages_of_the_program_are_those_of_the_program(harness):
    done = subprocess.run([sys.executable, harness.source / "scripts/write_reference", "--check", "--binary", harness.binary],
                          capture_output=True, text=True, timeout=60)
    check(done.returncode == 0, done.stdout + done.stderr)
    enum = re.search(r"enum class ExitCode : int \{(.*?)\};", (harness.source / "src/base/errors/error.hpp").read_text(), re.S).group(1)
    codes = set(re.findall(r"= (\d+),", enum))
    listed = re.findall(r"^\| ([\d, ]+) \|", (harness.source / "docs/reference/exit_codes.md").read_text(), re.M)
    check(codes and codes <= set(", ".join(listed).split(", ")), f"exit_codes.md lists {listed}, error.hpp has {sorted(codes)}")


def tasks_are_those_of_the_program(harness):
    page = (harness.source / "docs/reference/tasks.md").read_text()
    listed = dict(re.findall(r"^\| `(\w+)` \| .* \| `(\w+)`", page, re.M))
    tasks = dict(re.findall(r'TaskRow\{\s*"(\w+)",(?:(?!TaskRow).)*?"(\w+)"(?:,\s*"\w+")?\}', (harness.source / "src/task/tasks.cpp").read_text(), re.S))
    check(len(tasks) > 10 and listed == tasks, f"tasks.md lists {listed}, tasks.cpp has {tasks}")
    verifiers = re.findall(r'^      \{"(\w+)",', (harness.source / "src/reward/verifiers.cpp").read_text(), re.M)
    lacking = [name for name in verifiers if f"`{name}`" not in page]
    check(len(verifiers) > 10 and not lacking, f"tasks.md lacks the verifiers {lacking}")


def metrics_are_those_of_the_program(harness):
    named = re.findall(r"`([a-z_]+/[\w/]+)`", (harness.source / "docs/reference/metrics.md").read_text())
    source = (harness.source / "src/run/coordinator/metric_names.cpp").read_text()
    names = set(re.findall(r'"([a-z_]+/[a-z0-9_/]*[a-z0-9_])"', source.split("kNames[] = {")[1].split("};")[0]))
    families = re.findall(r'"([a-z_/]+/)"', source.split("kFamilies[] = {")[1].split("};")[0])
    check(len(names) > 60 and families, "metric_names.cpp is not understood")
    check(names <= set(named), f"metrics.md lacks {sorted(names - set(named))}")
    for family in families:
        check(any(name.startswith(family) for name in named), f"metrics.md has nothing of {family}")
    pattern = re.compile("|".join(re.sub(r"[A-Z]+", r"[\\w-]+", name) for name in named))
    folder = harness.work / "run"
    harness.train(folder, "--set", "train.steps=2", "--set", "sft.steps=2")
    for row in metrics(folder) + metrics(folder, "sft"):
        unknown = [key for key in row if key not in ("phase", "step") and not pattern.fullmatch(key)]
        check(not unknown, f"metrics.md lacks {unknown} of {row['phase']}")


def pages_have_their_form(harness):
    texts = documents(harness)
    check(len(texts["CONTRIBUTING.md"].splitlines()) <= 120, "CONTRIBUTING.md has over 120 lines")
    glossary = texts["docs/architecture.md"].split("## Glossary")[1]
    check(len(re.findall(r"^\| ", glossary, re.M)) <= 41, "the glossary has over 40 words")
    index = texts["docs/decisions/README.md"]
    for name, text in texts.items():
        if re.match(r"docs/decisions/\d", name):
            check(re.findall(r"^## (.*)$", text, re.M) == HEADINGS, f"{name} has other headings than {HEADINGS}")
            check(re.search(r"^Date: \d{4}-\d\d-\d\d$", text, re.M), f"{name} has no date")
            check(f"({name.split('/')[-1]})" in index, f"docs/decisions/README.md lacks {name}")
        if name.startswith("benchmarks/results/"):
            check(f"({name.removeprefix('benchmarks/')})" in texts["benchmarks/README.md"], f"benchmarks/README.md does not lead to {name}")
        for folder in ("guide", "reference"):
            if re.fullmatch(rf"docs/{folder}/(?!README)\w[\w-]*\.md", name):
                check(f"({name.split('/')[-1]})" in texts[f"docs/{folder}/README.md"], f"docs/{folder}/README.md lacks {name}")
        if name.startswith("docs/"):
            for line in FENCE.sub("", text).splitlines():
                check(len(line) <= 100 or line.startswith(("|", "!")) or " " not in line.strip("-* "), f"{name} has a line of {len(line)} columns: {line}")


main(names_of_other_trainers, flags_are_those_of_the_program, flags_are_those_of_the_scripts, links_lead_somewhere, files_exist, keys_are_those_of_the_program, settings_are_accepted,
     pages_of_the_program_are_those_of_the_program, tasks_are_those_of_the_program, metrics_are_those_of_the_program, pages_have_their_form)
