"""`rollcall view`: the pages of small runs, read in a headless browser as people read them, and what the command says when it cannot make them. (long: one browser serves all)"""
import collections
import contextlib
import json
import math
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import browser as browsers  # noqa: E402
from harness import SKIPPED, check, main, metrics, sets  # noqa: E402

STEPS = 6
SETTINGS = sets(train__steps=STEPS, scheduler__policy="gdro_both", eval__every=3, train__prompts_per_step=16, task__train_prompts=24, sft__steps=60, sampling__max_new_tokens=4)
HOSTILE = "<script>window.hurt = 1</script>"
READY = "document.querySelector('.answer[data-ready]') && !document.querySelector('main[aria-busy]')"
page = None  # the browser


def run(harness, name="one", **settings):
    folder = harness.work / name
    if not folder.exists():
        harness.train(folder, *SETTINGS, *sets(**settings))
    return folder


def site(harness, name="pages", runs=None):
    folder = harness.work / name
    if not folder.exists():
        harness.succeed("view", *(runs or [run(harness)]), "--out", folder)
    return folder


def exported(harness, folder):
    """Rollouts by (purpose, step), each a list of groups in the order of the archive."""
    steps = collections.defaultdict(list)
    for line in map(json.loads, harness.succeed("archive", "export", folder, "--tokens").splitlines()):
        groups = steps[line["purpose"], line["step"]]
        if not groups or (groups[-1][0]["prompt_id"], groups[-1][0]["draw"]) != (line["prompt_id"], line["draw"]):
            groups.append([])
        groups[-1].append(line)
    return steps


def open_step(folder, step, group=0, sample=0, more="", purpose="train"):
    page.open("about:blank")
    page.open(f"file://{folder}/index.html#run-1/{purpose}/{step}/{group}/{sample}{more}")
    page.wait(READY)


def press(keys):
    """One key after the other, each once the page has answered the one before."""
    for key in keys:
        drawn = page.run("return document.getElementById('main').dataset.drawn")
        page.type(key)
        page.wait("document.getElementById('main').dataset.drawn !== arguments[0]", drawn, what=f"an answer to the key {key}")
        page.wait(READY)


def click(selector):
    drawn = page.run("return document.getElementById('main').dataset.drawn")
    page.click(selector)
    page.wait("document.getElementById('main').dataset.drawn !== arguments[0]", drawn, what=f"an answer to a click on {selector}")
    page.wait("!document.querySelector('main[aria-busy]')")


def where():
    return page.run("return [state.step, state.group, state.sample]")


def policy_turn(line):
    return next(turn for turn in line["turns"] if turn["role"] == "policy")


def the_run_by_clicks(harness):
    steps = exported(harness, run(harness))
    page.open(f"file://{site(harness)}/index.html")
    page.wait("document.querySelectorAll('#steps tbody tr').length", what="the table of steps")
    check(len(page.texts("#steps tbody tr")) == STEPS and len(page.texts("figure")) == 5, page.text("main"))
    for step, text in enumerate(page.texts("#steps tbody tr"), 1):
        lines = [line for group in steps["train", step] for line in group]
        words = text.split()
        check(words[:3] == [str(step), str(len(steps["train", step])), str(len(lines))], f"{words}")
        check(abs(float(words[3]) - sum(line["reward"] for line in lines) / len(lines)) < 1e-3, f"{words}")
    told = page.text("#evaluations")
    check("before training" in told and "after training" in told and "validation" in told and f"eval, every rollout\t{STEPS}" in told, told)
    check(len(page.texts("#prompts .row")) == len({group[0]["prompt_id"] for (purpose, _), groups in steps.items() if purpose == "train" for group in groups}), page.text("#prompts"))
    page.run("document.body.style.paddingBottom = '3000px'; window.scrollTo(0, 900)")
    page.run("document.querySelector('#steps tbody tr:nth-child(3) a').click()")
    page.wait(READY)
    check(page.run("return window.scrollY") == 0, "a page begins at its top, wherever the link stood")
    page.run("document.body.style.paddingBottom = ''")
    group = steps["train", 3][0]
    check(where() == [3, 0, 0] and page.text("#where") == "train step 3", f"{where()}")
    check(page.text(".prompt") == group[0]["prompt"] and page.text(".reference") == group[0]["reference"], page.text("main"))
    click(".list .row[data-group='2']")
    page.wait(READY)
    line = steps["train", 3][2][0]
    check(where() == [3, 2, 0] and page.text(".prompt") == line["prompt"] and page.text(".answer .tokens").startswith(line["completion"]), page.text("main"))
    check((page.text(".extracted") or "no answer found") == (line["extracted"] or "no answer found"), page.text(".verdict"))
    facts = page.text(".group .facts")
    check(f"bin {line['bin']}" in facts and "bin weight" in facts and f"{len(steps['train', 3][2])} real" in facts, facts)
    click(".samples button:nth-child(2)")
    check(where() == [3, 2, 1], f"{where()}")
    click("#next")
    check(where()[0] == 4, f"{where()}")
    click("#to-run")
    check(page.texts("#steps tbody tr"), "back at the run")
    check(page.errors() == [], "nothing complained")


def a_prompt_over_the_steps(harness):
    """The strip of visits leads to each of them, and the story above it says when the prompt was first solved."""
    steps = exported(harness, run(harness))
    visits = collections.defaultdict(dict)
    for (purpose, step), groups in sorted(steps.items()):
        for group in groups if purpose == "train" else []:
            seen = visits[group[0]["prompt_id"]].setdefault(step, [0, 0])
            seen[0] += len(group)
            seen[1] += sum(line["correct"] for line in group)
    prompt = max(visits, key=lambda p: (len(visits[p]) > 2 and any(right for _, right in visits[p].values()), len(visits[p])))
    last = max(visits[prompt])
    place = next(g for g, group in enumerate(steps["train", last]) if group[0]["prompt_id"] == prompt)
    open_step(site(harness), last, place)
    titles = page.run("return [...document.querySelectorAll('.strip button')].map((b) => b.title)")
    check(titles == [f"step {step}: {right} of {n} rollouts correct" for step, (n, right) in visits[prompt].items()], f"{titles}, not {visits[prompt]}")
    solved = [step for step, (_, right) in visits[prompt].items() if right]
    check((f"first solved in step {solved[0]}" if solved else "never solved") in page.text(".group"), page.text(".group"))
    lost = next((step for step, (_, right) in visits[prompt].items() if solved and step > solved[0] and right == 0), None)
    check(lost is None or f"lost again in step {lost}" in page.text(".group"), page.text(".group"))
    click(".strip button:nth-child(1)")
    page.wait(READY)
    first = min(visits[prompt])
    check(where()[0] == first and page.text(".prompt") == next(g for g in steps["train", first] if g[0]["prompt_id"] == prompt)[0]["prompt"], f"{where()} {page.text('.prompt')}")


def evaluations_are_entries(harness):
    steps = exported(harness, run(harness))
    page.open(f"file://{site(harness)}/index.html")
    page.wait("document.querySelectorAll('#evaluations .go').length")
    check(len(page.texts("#evaluations .go")) == len([key for key in steps if key[0] != "train"]), page.text("#evaluations"))
    click("#evaluations .go a")
    page.wait(READY)
    purpose, step = page.run("return [state.purpose, state.step]")
    line = steps[purpose, step][0][0]
    check(purpose != "train" and page.text(".prompt") == line["prompt"] and page.text(".sample .badge") == ("✓\xa0correct" if line["correct"] else "✗\xa0wrong")
          or page.text(".sample .badge") == ("correct" if line["correct"] else "wrong"), page.text("main"))


def the_keys(harness):
    steps = exported(harness, run(harness))
    open_step(site(harness), 2)
    n = len(steps["train", 2][0])
    press("j")
    check(where() == [2, 0, 1], f"j: {where()}")
    press("j" * (n - 1))
    check(where() == [2, 1, 0], f"j goes on with the next group: {where()}")
    press("k")
    check(where() == [2, 0, n - 1], f"k: {where()}")
    press("nn")
    check(where() == [2, 2, 0], f"n: {where()}")
    press("p")
    check(where() == [2, 1, 0], f"p: {where()}")
    press("]]")
    check(where() == [4, 0, 0], f"]: {where()}")
    press("[")
    check(where() == [3, 0, 0], f"[: {where()}")
    before = page.run("return state.colour")
    press("c")
    check(page.run("return state.colour") != before, "c")
    page.type("/")
    check(page.run("return document.activeElement.id") == "search", "/ goes to the search")
    page.run("document.activeElement.blur()")
    page.type("?")
    check(page.run("return document.getElementById('keys').open") and "next sample" in page.text("#keys"), "? shows the keys")
    page.run("document.getElementById('keys').close()")


def mean_logprob(line):
    values = policy_turn(line)["logprob"]
    return sum(values) / len(values) if values else None


def expected(steps, name, step):
    """[(group, sample)] that a filter lists, from the archive's own export."""
    groups = steps["train", step]
    every = [(g, i) for g, group in enumerate(groups) for i in range(len(group))]
    line = lambda place: groups[place[0]][place[1]]
    visits = collections.defaultdict(lambda: [0, 0])
    for (purpose, s), others in steps.items():
        for group in others if purpose == "train" and s < step else []:
            visits[group[0]["prompt_id"], s][0] += len(group)
            visits[group[0]["prompt_id"], s][1] += sum(entry["correct"] for entry in group)

    def flipped(place):
        seen = [s for p, s in visits if p == line(place)["prompt_id"]]
        if not seen:
            return False
        n, right = visits[line(place)["prompt_id"], max(seen)]
        return right / n < 0.5 if line(place)["correct"] else right / n > 0.5

    tenth = max(1, math.ceil(len(every) / 10))
    length = lambda place: len(policy_turn(line(place))["tokens"])
    return {"wrong": lambda: [p for p in every if not line(p)["correct"]], "cut": lambda: [p for p in every if line(p)["finish"] == "length"],
            "flipped": lambda: [p for p in every if flipped(p)], "longest": lambda: sorted(every, key=lambda p: -length(p))[:tenth],
            "surprising": lambda: sorted([p for p in every if mean_logprob(line(p)) is not None], key=lambda p: round(1000 * mean_logprob(line(p))))[:tenth]}[name]()


def the_filters(harness):
    steps = exported(harness, run(harness))
    some = set()
    for step in (4, 6):
        open_step(site(harness), step)
        for name in ("wrong", "cut", "flipped", "longest", "surprising"):
            click(f"[data-filter={name}]")
            places = expected(steps, name, step)
            some |= {name} if places else set()
            listed = page.run("return [...document.querySelectorAll('.list .row')].map((r) => [Number(r.dataset.group), Number(r.dataset.sample)])")
            if name == "surprising":  # float32 sums on the other side: the order of near equals may differ
                listed, places = sorted(listed), sorted(places)
            check([list(p) for p in places][: len(listed)] == listed and len(listed) == len(places), f"{name} in step {step}: {listed}, not {places}")
            check(f"{len(places)} sample" in page.text("#listed"), page.text("#listed"))
            if name != "surprising" and len(places) > 1:
                check(where()[1:] == list(places[0]), f"the first is shown: {where()}")
                press("j")
                check(where()[1:] == list(places[1]), f"j stays within the filter: {where()}")
    check(some >= {"wrong", "cut", "longest", "surprising", "flipped"}, f"every filter found something once: {some}")


def the_search(harness):
    steps = exported(harness, run(harness))
    group = steps["train", 5][-1]
    open_step(site(harness), 5)
    page.type("/")
    page.type(group[0]["prompt"])
    page.wait("document.querySelectorAll('.list .row[data-sample]').length", what="the prompt's samples")
    matching = sum(len(g) for g in steps["train", 5] if any(group[0]["prompt"] in text for text in (g[0]["prompt"], g[0]["reference"])))
    check(int(page.text("#listed").split()[0]) >= matching, page.text("#listed"))
    page.open(f"file://{site(harness)}/index.html")
    page.wait("document.querySelectorAll('#steps tbody tr').length")
    words = max((line["completion"] for groups in steps.values() for g in groups for line in g), key=len)[:4]
    page.type("/")
    page.type(words + "\ue007")  # Enter
    page.wait("document.querySelector('#status[data-done]')", what="the end of the search")
    answers = sum(words.lower() in line["completion"].lower() or words.lower() in line["extracted"].lower() for groups in steps.values() for g in groups for line in g)
    check(f"{answers} answer" in page.text("#status"), f"{words}: {answers} answers; {page.text('#status')}")
    page.click("#found-answers .row")
    page.wait(READY)
    check(words.lower() in (page.text(".answer .tokens") + page.text(".extracted")).lower(), page.text("main"))


def the_colours(harness):
    steps = exported(harness, run(harness))
    groups = steps["train", 4]
    g, i = max(((g, i) for g, group in enumerate(groups) for i in range(len(group))), key=lambda p: len(policy_turn(groups[p[0]][p[1]])["tokens"]))
    turn = policy_turn(groups[g][i])
    open_step(site(harness), 4, g, i)
    levels = {"logprob": [0.05, 0.2, 0.5, 1, 2, 4], "entropy": [0.05, 0.2, 0.5, 1, 2, 4]}
    for mode in ("logprob", "entropy", "advantage", "none"):
        page.run("set_colour(arguments[0])", mode)
        page.wait(f"state.colour === '{mode}' && {READY}")
        time.sleep(0.05)
        classes = page.run("return [...document.querySelectorAll('.answer > .tokens > span')].map((s) => s.className.replace('special', '').trim())")
        check(len(classes) == len(turn["tokens"]), f"{len(classes)} pieces of {len(turn['tokens'])} tokens")
        if mode in levels:
            hue = "hot" if mode == "logprob" else "cool"
            wanted = [sum(round(abs(value), 3) > level for level in levels[mode]) for value in turn[mode]]
            check([f"{hue}{level}" if level else "" for level in wanted] == classes, f"{mode}: {wanted} {classes}")
            check(page.text(".legend").startswith("log-prob [nats]" if mode == "logprob" else "entropy [nats]"), page.text(".legend"))
        if mode == "none":
            check(not any(classes), f"{classes}")
    page.run("document.querySelector('.answer .tokens span').dispatchEvent(new MouseEvent('mouseover', {bubbles: true}))")
    title = page.run("return document.querySelector('.answer .tokens span').title")
    check(f"id {turn['tokens'][0]}" in title and "nats" in title and "advantage" in title, title)


def advantages_are_those_of_the_update(harness):
    seen = {row["step"]: row for row in metrics(run(harness, "plain", scheduler__policy="uniform"))}
    folder = site(harness, "plain_pages", [run(harness, "plain", scheduler__policy="uniform")])
    for step, row in seen.items():
        values = []
        for file in sorted((folder / "data/run-1").glob(f"tokens-train-{step}-*.js")):
            part = json.loads(re.fullmatch(r"rollcall\(\"[^\"]*\",(.*)\);\n", file.read_text(), re.DOTALL).group(1))
            for rollout in (rollout for group in part["groups"] for rollout in group["rollouts"]):
                own = rollout["advantage"]
                values += own if isinstance(own, list) else [own] * len(rollout["logprob"])
        for name, value in (("mean", sum(values) / len(values)), ("min", min(values)), ("max", max(values))):
            check(abs(value / 1000 - row[f"critic/advantages/{name}"]) < 1e-3, f"step {step}, {name}: {value / 1000}, the update had {row[f'critic/advantages/{name}']}")
    other = site(harness, "critic_pages", [run(harness, "critic", scheduler__policy="uniform", objective__recipe="ppo")])
    open_step(other, 2)
    page.run("set_colour('advantage')")
    page.wait("document.querySelector('.no-colour')")
    check("the critic's values, which the archive does not hold" in page.text(".no-colour"), page.text(".no-colour"))
    page.run("set_colour('logprob')")


def two_runs_side_by_side(harness):
    other = run(harness, "two", train__lr=3e-3)
    folder = site(harness, "pair", [run(harness), other])
    a, b = exported(harness, run(harness)), exported(harness, other)
    page.open(f"file://{folder}/index.html")
    page.wait("document.querySelectorAll('.key i').length === 2", what="the key of two curves")
    open_step(folder, 1, more="?beside=run-2")
    page.wait("document.querySelector('#beside .answer[data-ready]')")
    check(page.text("#beside .answer .tokens").startswith(b["train", 1][0][0]["completion"]) and page.text(".sides > div .answer .tokens").startswith(a["train", 1][0][0]["completion"]), page.text("main"))
    shared = next(((step, g) for step in range(STEPS, 1, -1) for g, group in enumerate(a["train", step])
                   if any(group[0]["prompt"] == o[0]["prompt"] and group[0]["draw"] == o[0]["draw"] for o in b["train", step])), None)
    alone = next(((step, g) for step in range(STEPS, 1, -1) for g, group in enumerate(a["train", step]) if all(group[0]["prompt"] != o[0]["prompt"] for o in b["train", step])), None)
    if shared:
        open_step(folder, shared[0], shared[1], more="?beside=run-2")
        page.wait("document.querySelector('#beside .answer[data-ready]')")
    if alone:
        open_step(folder, alone[0], alone[1], more="?beside=run-2")
        check("did not draw this prompt" in page.text("#beside"), page.text("#beside"))
    check(shared or alone, "a step to compare")


def hostile_text_is_text(harness):
    folder = harness.work / "<img src=x onerror=window.hurt=1>"
    subprocess.run([os.environ["ROLLCALL_VIEW_ARCHIVE"], folder, "600", "hostile"], check=True)
    pages = site(harness, "hostile_pages", [folder])
    for file in (pages / "data").rglob("*.js"):
        text = file.read_bytes()
        check(not re.search(rb"[<>&]|\xe2\x80[\xa8\xa9]", text), f"{file.name} holds what could end a script")
        text.decode()
    page.open(f"file://{pages}/index.html")
    page.wait("document.querySelectorAll('#steps tbody tr').length")
    check(page.text("h1") == folder.name, page.text("h1"))
    open_step(pages, 1)
    for selector in (".prompt", ".reference", ".extracted", ".answer .tokens"):
        check(page.text(selector).startswith(HOSTILE), f"{selector}: {page.text(selector)}")
    check("\\u202E" in page.text(".prompt") and "\\xE2\\x82" in page.text(".answer .tokens"), page.text("main"))
    check(HOSTILE in page.text(".sample .facts"), "the name of a component")
    page.run("document.querySelectorAll('.answer .tokens span').forEach((s) => s.dispatchEvent(new MouseEvent('mouseover', {bubbles: true})))")
    click("[data-filter=wrong]")
    check(page.run("return window.hurt === undefined && document.querySelectorAll('main script, main img').length === 0"), "nothing of it was run")
    check(page.errors() == [], "nothing complained")


def conversations_read_as_such(harness, lines):
    """Rewards, flags and reasons stand beside their turns, and a derived group says what it was made of."""
    at = next(i for i, line in enumerate(lines) if any(turn.get("flags") for turn in line.get("turns", [])) and any(turn.get("reason") for turn in line["turns"]))
    open_step(harness.work / "turns_pages", 4)
    for _ in range(at):
        press("j")
    turns, made = lines[at]["turns"][1:], page.texts(".turn .made")
    check(len(made) == len(turns), f"{made}")
    for turn, text in zip(turns, made):
        words = [flag.replace("_", " ") for flag in turn["flags"]]
        check(all(word in text for word in words) and " ".join(turn.get("reason", "").split()) in " ".join(text.split()) and turn["state"] in text, f"{turn}: {text}")
        check(("reward" in text) == (turn["role"] == "policy"), text)
    groups = list(dict.fromkeys((line["prompt_id"], line["draw"]) for line in lines))
    derived = next(line for line in lines if "from" in line)
    open_step(harness.work / "turns_pages", 4, group=groups.index((derived["prompt_id"], derived["draw"])))
    check(f"kind {derived['from']['kind']}" in page.text(".origin") and f"prompt {derived['from']['prompt_id']}" in page.text(".origin"), page.text("main"))
    ends = {"stop": "by itself", "length": "at the token limit", "turns": "at the limit of turns", "lost": "lost by its environment"}
    open_step(harness.work / "turns_pages", 4)
    for line in lines:
        check(ends[line["finish"]] in page.text(".sample .facts"), f"{line['finish']}: {page.text('.sample .facts')}")
        if line is not lines[-1]:
            press("j")


def turns_are_told_apart_without_a_tokenizer(harness):
    """Of a run with several turns, loose shards and no run file: tokens are shown by their numbers, and the page says why."""
    folder = harness.work / "turns"
    folder.mkdir()
    subprocess.run([os.environ["ROLLCALL_SAMPLE_RUN"], folder], check=True, stdout=subprocess.DEVNULL)
    lines = [line for (purpose, step), groups in exported(harness, folder).items() if (purpose, step) == ("train", 4) for group in groups for line in group]
    n = next(i for i, line in enumerate(lines) if len(line["turns"]) > 2 and line["turns"][1]["tokens"])
    page.open(f"file://{site(harness, 'turns_pages', [folder])}/index.html")
    page.wait("document.querySelectorAll('#steps tbody tr').length")
    check(len(page.texts("#steps tbody tr")) == 5 and "no config.toml" in page.text("main"), page.text("main"))
    open_step(harness.work / "turns_pages", 4)
    for _ in range(n):
        press("j")
    turns = lines[n]["turns"][1:]
    check(page.texts(".turn > span") == [turn["role"] for turn in turns], page.text(".answer"))
    check(page.texts(".turn .tokens") == ["".join(f"[{token}]" for token in turn["tokens"]) for turn in turns], page.text(".answer"))
    conversations_read_as_such(harness, lines)
    check(page.errors() == [], "nothing complained")


@contextlib.contextmanager
def server(harness, *words):
    process = harness.start("view", *words)
    try:
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def status(url, **headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers={name.replace("_", "-"): value for name, value in headers.items()})) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


def serving_while_the_run_writes(harness):
    live = harness.work / "live"
    slowly = sets(train__epochs=32)  # a page is written for each step: there should not be thousands
    job = harness.start("train", harness.tiny, *slowly, *sets(run__dir=live, train__steps=100000, eval__before="false", checkpoint__every=2, checkpoint__keep_last=1, archive__pack_every=4),
                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not live.exists() or len(list(live.glob("archive/train*.h5"))) < 1:
            check(job.poll() is None, "the run ended early")
            time.sleep(0.02)
        with server(harness, live, "--serve", "0") as (process, address):
            check(re.fullmatch(r"http://127\.0\.0\.1:\d+/", address), address)
            port = int(address[:-1].rsplit(":", 1)[1])
            page.open(address)
            page.wait("document.querySelectorAll('#steps tbody tr').length", what="the steps there are")
            before = page.run("return document.querySelectorAll('#steps tbody tr').length")
            while len(list(live.glob("archive/train*.h5"))) * 4 < before + 5:
                check(job.poll() is None, "the run ended early")
                time.sleep(0.02)
            page.open(address)
            page.wait("document.querySelectorAll('#steps tbody tr').length > arguments[0]", before, what="new steps after a reload")
            click("#steps tbody tr:nth-child(2) a")
            page.wait(READY)
            check(page.errors() == [], "nothing complained")
            check(status(address)[0] == 200 and status(address, Host=f"localhost:{port}")[0] == 200, "its own names")
            check(status(address, Host="evil.example")[0] == 403 and status(address + "data/runs.js", Host=f"evil.example:{port}")[0] == 403, "another name for 127.0.0.1")
            check(status(address + "data/runs.js", Sec_Fetch_Site="cross-site")[0] == 403 and status(address + "data/runs.js", Sec_Fetch_Site="same-site")[0] == 403, "another page")
            check(status(address + "data/runs.js", Sec_Fetch_Site="same-origin")[2]["Cross-Origin-Resource-Policy"] == "same-origin", "only for this page")
            for name in ("none.js", "data/run-1/step-train-99999999.js", "data/run-1/../../config.toml", "config.toml", "data/run-9/steps.js", "data/run-1/step-train-01.js", "data/run-1/step-train-.js", "data/run-1/step-5.js", "data/run-1/prompts-5.js"):
                check(status(address + name)[0] == 404, name)
            with socket.create_connection(("127.0.0.1", port)) as taken:
                code, out, err, _ = harness.run("view", live, "--serve", port)
                check(code == 2 and f"port {port} of 127.0.0.1 cannot be used" in err and err.count("\n") == 1, f"{code} {out} {err}")
                taken.close()
            for attempt in range(3):  # while the run goes on
                text = (site(harness, f"live_pages_{attempt}", [live]) / "data/run-1/steps.js").read_text()
                listed = json.loads(text[text.index(",") + 1 : text.rindex(")")])["steps"]
                missing = [step[:2] for step in listed if not (harness.work / f"live_pages_{attempt}/data/run-1/step-{step[0]}-{step[1]}.js").exists()]
                check(listed and not missing, f"steps are listed that have no file: {missing}")
            process.send_signal(signal.SIGINT)
            check(process.wait(timeout=20) == 0, f"{process.returncode} {process.stderr.read()}")
    finally:
        job.kill()
        job.wait()


def the_port_may_be_left_out(harness):
    """8737 then, wherever the flag stands; where something else has it here, that is said."""
    for words in (["--serve", run(harness)], [run(harness), "--serve"]):
        with server(harness, *words) as (process, address):
            check(address == "http://127.0.0.1:8737/" or "port 8737 of 127.0.0.1 cannot be used" in process.stderr.read(), address)


def an_archive_without_rollouts(harness):
    empty = harness.work / "nothing"
    (empty / "shards").mkdir(parents=True)
    page.open(f"file://{site(harness, 'nothing_pages', [empty])}/index.html")
    page.wait("document.querySelector('main').innerText.includes('no scored rollouts yet')")


def stopped_midway(harness, archive, folder, partial, how):
    """A process that was ended while it wrote, and what it said; on a busy machine one may be done before it is caught."""
    for _ in range(20):
        process = harness.start("view", archive, "--out", folder)
        while process.poll() is None and not any(partial.glob("data/run-1/step-train-[1-9].js")):
            time.sleep(0.001)
        process.send_signal(how)
        err = process.communicate()[1]
        if process.returncode != 0:
            return process, err
        shutil.rmtree(folder)
    raise AssertionError("it was always done before it could be stopped")


def a_folder_is_whole_or_not_there(harness):
    archive, folder = harness.work / "many", harness.work / "many_pages"
    subprocess.run([os.environ["ROLLCALL_VIEW_ARCHIVE"], archive, "60000"], check=True)
    partial, other = pathlib.Path(f"{folder}.partial"), pathlib.Path(f"{folder}.old")
    other.mkdir()
    (other / "precious").write_text("of somebody else")
    for how, left in ((signal.SIGTERM, False), (signal.SIGINT, False), (signal.SIGKILL, True)):
        process, err = stopped_midway(harness, archive, folder, partial, how)
        check(not folder.exists() and partial.exists() == left, f"{how}: {folder.exists()} {partial.exists()} {err}")
        check(left or (process.returncode == 75 and err.count("\n") == 1 and "is as it was before" in err), f"{process.returncode} {err}")
    out = harness.succeed("view", archive, "--out", folder)
    check(not partial.exists() and "\nopen " in out and "\r" not in out and "view" in out.splitlines()[0], out)
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    (folder / "old").write_text("of an earlier site")
    harness.succeed("view", archive, "--out", folder)
    check((other / "precious").exists(), "a folder beside it is gone")
    check(names == sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()), "the earlier site is replaced as a whole")


def wrong_inputs_give_one_message(harness):
    own = run(harness)
    (harness.work / "empty").mkdir(exist_ok=True)
    for words, code, fragment in (
        ([own], 2, "rollcall view needs --out FOLDER or --serve [PORT]"),
        ([own, "--out", "x", "--serve"], 2, "two ways"),
        ([harness.work / "none", "--out", "x"], 2, "does not exist"),
        ([harness.work / "empty", "--out", "x"], 2, "is not a run folder"),
        ([own, "--out", own], 2, "was not written by rollcall view"),
        ([own, "--out", harness.work / "empty"], 2, "was not written by rollcall view"),
        ([own, "--out", harness.work / "none/x"], 3, "cannot create"),
        ([own, own, own, "--out", "x"], 2, "3 runs are named"),
        ([own, "--serve", "70000"], 2, "there is no such port"),
        ([own, "--serve", "abc"], 2, "there is no such port"),
    ):
        got, out, err, _ = harness.run("view", *words)
        check(got == code and fragment in err and err.count("\n") == 1 and err.startswith("rollcall: "), f"{words}: {got}\n{out}\n{err}")
    check(not (harness.work / "x").exists() and not (harness.work / "x.partial").exists(), "nothing was written")


if browsers.missing():
    print(f"skipped: there is no {browsers.missing()} here (scripts/setup --tests installs them)")
    sys.exit(SKIPPED)
with browsers.Browser() as page:
    main(the_run_by_clicks, a_prompt_over_the_steps, evaluations_are_entries, the_keys, the_filters, the_search, the_colours, advantages_are_those_of_the_update, two_runs_side_by_side, hostile_text_is_text,
         turns_are_told_apart_without_a_tokenizer, serving_while_the_run_writes, the_port_may_be_left_out, an_archive_without_rollouts, a_folder_is_whole_or_not_there, wrong_inputs_give_one_message)
