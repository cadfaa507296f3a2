"""What a finished run leaves and answers: the charts of report.html, TensorBoard's scalars, evaluations of it, text that ends at a stop string."""
import collections
import json
import re
import struct

from harness import check, main, metrics, result, sets

# As the documents and the changelog promise them: sections of the page with the captions of their charts.
CHARTS = {"Learning": ["Mean reward", "Mean response length (tokens)", "Responses cut at the token limit", "Pass rate", "Policy entropy (nats per token)",
                       "Supervised loss"],
          "Held-out results by level": ["pass@1", "pass@8"],
          "Rollout budget": ["Share of the budget by level", "Rollouts per prompt"],
          "Health of the update": ["Importance ratio", "Clipped share of tokens", "Divergence from the policy that sampled (nats per token)", "Gradient norm"],
          "Time": ["Seconds per step by stage", "Whole run"]}


def finished(harness):
    """A run with every kind of row: warm start, training, validation, evaluations before and after; its last step has groups of twenty."""
    folder = harness.work / "finished"
    if not folder.exists():
        harness.train(folder, *sets(eval__every=2, sft__steps=60, train__steps=3, train__rollouts_per_prompt=20, train__prompts_per_step=4,
                                    scheduler__policy="uniform"))
    return folder


def figures(section):
    """Its charts by caption."""
    return {re.match(r"<figcaption>(.*?)\s*<", figure).group(1): figure for figure in section.split("<figure>")[1:]}


def report_has_every_chart(harness):
    page = (finished(harness) / "report.html").read_text()
    sections = {section.split("</h2>")[0]: section for section in page.split("<h2>")[1:]}
    for title, captions in CHARTS.items():
        found = figures(sections.get(title, ""))
        check(sorted(found) == sorted(captions), f"{title}: charts {list(found)}, not {captions}")
        for caption, figure in found.items():
            check(re.search('<path class="(curve|area)|<rect style="fill|class="meter"', figure), f"{caption}: nothing is drawn")
    for caption in ("Share of the budget by level", "Rollouts per prompt"):
        words = ("level 1", "level 2") if "level" in caption else ("max", "mean", "min")
        check(all(f"</i>{word}<" in figures(sections["Rollout budget"])[caption] for word in words), f"{caption}: not all of {words}")
    check(all(f"</i>{stage}<" in sections["Time"] for stage in ("generation", "scoring", "update", "archive")), "the time chart lacks a stage")
    check(all(f"</i>{when}<" in sections["Held-out results by level"] for when in ("before", "after")), "not both evaluations are drawn")
    rows = re.findall(r'<tr><td class="n">(\d+)</td><td class="n">(\d+)</td>', sections["Held-out results by level"])
    check([level for level, _ in rows] == ["1", "2"] and sum(int(prompts) for _, prompts in rows) == 8, f"levels and prompts of the table: {rows}")
    group = sections["Groups in full"]
    check("<h3>20 responses with their rewards</h3>" in group and group.count('class="response"') == 20, f"not one group of twenty in full:\n{group}")


def scalars(folder, name):
    """The values of a tag in an event file: Value is field 1 (tag, length-delimited) and field 2 (simple_value, four bytes)."""
    files = list(folder.glob("events.out.tfevents.*"))
    check(len(files) == 1, f"{len(files)} event files in {folder}, not 1")
    tag = b"\x0a" + bytes([len(name)]) + name.encode() + b"\x15"
    return re.findall(re.escape(tag) + b"(.{4})", files[0].read_bytes(), re.DOTALL)


def tensorboard_has_every_metric(harness):
    for phase, known in (("sft", "sft/loss"), ("train", "critic/rewards/mean"), ("train", "actor/ratio_max"), ("train", "timing_s/step"),
                         ("validation", "validation/pass_at_1")):
        rows = metrics(finished(harness), phase)
        check(rows and known in rows[0], f"no row of {phase} measures {known}")
        for name in rows[0].keys() - {"phase", "step"}:
            found = scalars(finished(harness) / "tensorboard" / phase, name)
            check(found == [struct.pack("<f", row[name]) for row in rows], f"TensorBoard's values of {name} are not those of metrics.jsonl")


def evaluated_twice(harness):
    run = harness.work / "evaluated"
    harness.copy(finished(harness), run)
    out = json.loads(harness.succeed("eval", run).splitlines()[-1])
    path, = run.glob("eval-*/eval.json")
    check(out == json.loads(path.read_text()), "standard output and eval.json differ")
    code, _, err, _ = harness.run("eval", run)
    check(code == 2 and "--out" in err and "Traceback" not in err, f"the second time: exit code {code}\n{err}")
    check(out == json.loads(path.read_text()), "the second time changed eval.json")
    harness.succeed("eval", run, "--out", harness.work / "eval_again")


def a_folder_with_an_at(harness):
    run, copy = finished(harness), harness.work / "a@b"
    harness.copy(run, copy)
    wanted = json.loads(harness.succeed("eval", run, "--out", harness.work / "eval_of_run").splitlines()[-1])
    for weights, more in ((copy, []), (f"{copy}@3", ["--out", harness.work / "eval_of_step"])):
        got = json.loads(harness.succeed("eval", weights, *more).splitlines()[-1])
        check(got == wanted, f"eval {weights}: {got}, not {wanted}")
    check(list(copy.glob("eval-done_*/eval.json")) and not (harness.work / "a").exists(), "the evaluation of a@b lies elsewhere")
    said = [harness.succeed("generate", weights, "21", "--samples", 4) for weights in (run, copy, f"{copy}@3")]
    check(said[0] == said[1] == said[2], f"generate says other things for a folder with an @: {said}")


def text_ends_at_a_stop(harness):
    """The character most often followed by another becomes the stop: texts that hold it end there, the others are what they were."""
    def texts(*more):
        return harness.succeed("generate", finished(harness), "21>", "--samples", 12, *more).splitlines()

    whole = texts()
    followed = collections.Counter(letter for text in whole for letter in set(text[:-1]) if letter.isdigit())
    check(followed, f"no text is longer than a digit, so nothing is tested: {whole}")
    stop = max(followed, key=followed.get)
    ended = texts("--set", f'sampling.stop=["{stop}"]')
    check(ended == [text[:text.find(stop) + 1] if stop in text else text for text in whole], f"with the stop {stop}: {ended}; without: {whole}")


def rollouts_end_at_a_stop(harness):
    folder = harness.work / "stopped"
    harness.train(folder, "--set", 'sampling.stop=["1", "2"]', *sets(eval__after="false"))
    rows = [json.loads(line) for line in harness.succeed("archive", "export", folder).splitlines()]
    check({row["purpose"] for row in rows} == {"train", "eval"}, "not both kinds of rollouts")
    inside = [row["completion"] for row in rows if re.search("[12].", row["completion"], re.DOTALL)]
    check(not inside, f"rollouts that go on behind a stop string: {inside[:5]}")
    at_stop = [row for row in rows if row["completion"][-1:] in ("1", "2")]
    check(at_stop and all(row["finish"] == "stop" for row in at_stop), "rollouts that end at a stop string are not marked so")


main(report_has_every_chart, tensorboard_has_every_metric, evaluated_twice, a_folder_with_an_at, text_ends_at_a_stop, rollouts_end_at_a_stop)
