"""Questions in several forms, and thoughts left out of worked examples: what is drawn, who judges it, the same bits on any ranks and after a kill."""
import json
import re

from harness import check, main, result, sets

FORMS = {"boxed": "\nPut the final answer in \\boxed{}.\n", "hashes": "\nEnd with a line of #### and the final answer.\n",
         "think_opened": "\nThink up to </think>, then answer within <answer> and </answer>.\n"}
MARKS = {"boxed": (), "hashes": ("####",), "think_opened": ("</think>", "<answer>", "</answer>")}
WIDE = sets(task__forms=json.dumps(list(FORMS)), objective__recipe="prompt-augmentation-grpo", model__max_position_embeddings=160, sampling__max_new_tokens=32, task__format_weight=1,
            sft__steps=80, task__train_prompts=16, train__steps=6, eval__samples=1, eval__pass_k=1, eval__before="false", archive__pack_every=2)
THINK = sets(task__forms='["think"]', model__max_position_embeddings=160, sampling__max_new_tokens=48, sft__steps=150, sft__batch_size=16, task__heldout_prompts=16, train__steps=0,
             eval__samples=16, eval__pass_k=1, eval__before="false", eval__after="true")


def rollouts(harness, folder, purpose):
    return [json.loads(line) for line in harness.succeed("archive", "export", folder, "--purpose", purpose).splitlines()]


def form_of(prompt):
    names = [name for name, ending in FORMS.items() if prompt.endswith(ending)]
    check(len(names) == 1, f"the prompt {prompt!r} is in the forms {names}")
    return names[0]


def augmented(harness):
    folder = harness.work / "augmented"
    if not folder.exists():
        harness.ranks(1).train(folder, *WIDE, keep={3: harness.work / "killed"})
    return folder


def a_group_shares_one_form(harness):
    """Drawn anew with each group, as often each; evaluations take the first."""
    groups = {}
    for r in rollouts(harness, augmented(harness), "train"):
        groups.setdefault((r["step"], r["prompt_id"], r["draw"]), set()).add(r["prompt"])
    check(len(groups) == 48 and all(len(prompts) == 1 for prompts in groups.values()), f"{len(groups)} groups, some in several forms")
    drawn = [form_of(next(iter(prompts))) for prompts in groups.values()]
    counts = {name: drawn.count(name) for name in FORMS}
    check(all(5 <= count <= 27 for count in counts.values()), f"of 48 groups {counts}: each form is drawn 16 times on average, with a deviation of 3.3")
    by_prompt = {}
    for (_, prompt, _), name in zip(groups, drawn):
        by_prompt.setdefault(prompt, set()).add(name)
    check(any(len(names) > 1 for names in by_prompt.values()), "no prompt came in a second form")
    evaluated = {form_of(r["prompt"]) for r in rollouts(harness, augmented(harness), "eval")}
    check(evaluated == {"boxed"}, f"evaluated in {evaluated}")


def its_own_parser_judges(harness):
    """Recomputed here from the text: the answer where the form puts it, a share of the format for each mark that stands once."""
    seen = set()
    for r in rollouts(harness, augmented(harness), "train"):
        form, said = form_of(r["prompt"]), r["completion"]
        found = {"boxed": said.rpartition("\\boxed{")[2].partition("}")[0], "hashes": said.rpartition("####")[2].strip().partition("\n")[0],
                 "think_opened": said.rpartition("<answer>")[2].partition("</answer>")[0]}[form]
        asked = sum(len(re.findall(f"(?={re.escape(mark)})", said)) == 1 for mark in MARKS[form]) / len(MARKS[form]) if MARKS[form] else 1
        check(abs(r["components"]["format"] - asked) < 1e-12, f"{form}: {said!r} has format {r['components']['format']}")
        check(not r["correct"] or found.strip() == r["reference"], f"{form}: {said!r} counts as {r['reference']}")
        if r["correct"]:
            seen.add(form)
    check(seen == set(FORMS), f"right answers in {seen} alone, so the others' parsers are not seen to find any")
    out = harness.succeed("archive", "rescore", augmented(harness), "--verifier", "exact_match", "--purpose", "train")
    check("only new" in out and (augmented(harness) / "rescored/exact_match/train.h5").exists(), out)
    again = [r["correct"] for r in map(json.loads, harness.succeed("archive", "export", augmented(harness), "--purpose", "train", "--scores", "exact_match").splitlines())]
    check(again == [r["correct"] for r in rollouts(harness, augmented(harness), "train")], "the archive's answers are judged otherwise than the run's")


def same_bits(harness):
    whole = augmented(harness)
    for name, more in (("three", []), ("killed", ["--resume"])):
        folder = harness.work / name
        harness.ranks(3).train(folder, *more, *WIDE)
        for key in ("policy_sha256", "archive_sha256"):
            check(result(folder)[key] == result(whole)[key], f"{name}: {key} differs")


def half_of_the_thoughts_are_empty(harness):
    """What the policy samples after the warm start is what its examples had: a share q of empty thoughts, none, or nothing else."""
    share = {}
    for q in (0, 0.5, 1):
        folder = harness.work / f"dropout_{q}"
        harness.ranks(1).train(folder, *THINK, *sets(sft__thought_dropout=q))
        said = [r["completion"] for r in rollouts(harness, folder, "eval")]
        thoughts = [text for text in said if text.startswith("<think>")]
        check(len(said) == 256 and len(thoughts) > 240, f"q {q}: {len(thoughts)} of {len(said)} answers begin with a thought")
        share[q] = sum(text.startswith("<think></think>") for text in thoughts) / len(thoughts)
    check(share[0] == 0 and share[1] > 0.98, f"controls: {share}")
    check(0.3 < share[0.5] < 0.7, f"after dropout of a half {share[0.5]:.3f} of 256 thoughts are empty")  # 64 examples: q itself has a deviation of 0.06


def refusals(harness):
    for said, words in (("task.forms names none", sets(objective__recipe="prompt-augmentation-grpo")),
                        ("did you mean boxed", sets(task__forms='["boxd"]')),
                        ("in the form answer_tag of task.forms is judged wrong", sets(task__name="tags", task__forms='["answer_tag"]', model__max_position_embeddings=160)),
                        ("task.forms is set, and reward.command is set", sets(task__forms='["boxed"]', reward__command='["grade"]', task__format_weight=0)),
                        ("sft.thought_dropout is 0.5, and no example has a thought", sets(sft__thought_dropout=0.5)),
                        ("objective.recipe is ton-thought-dropout, but sft.thought_dropout is 0", sets(objective__recipe="ton-thought-dropout"))):
        code, _, err, _ = harness.run("train", harness.tiny, *sets(run__dir=harness.work / "refused"), *words)
        check(code == 2 and said in err, f"exit code {code}, not a word of {said!r}:\n{err}")


main(a_group_shares_one_form, its_own_parser_judges, same_bits, half_of_the_thoughts_are_empty, refusals)
