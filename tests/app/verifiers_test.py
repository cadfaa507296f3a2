"""Every task, with its verifier: a run on three ranks that is killed and goes on ends with the policy and archive of one rank alone."""
import json

from harness import check, main, metrics, result, sets

TASKS = ("sorting", "arithmetic", "countdown", "code", "tags", "json", "instructions", "multiple_choice", "word_sorting", "graph", "knights_knaves", "units")
SHORT = sets(task__max_level=3, task__train_prompts=32, task__heldout_prompts=4, task__validation_prompts=0, model__max_position_embeddings=1024, sampling__max_new_tokens=24, sft__steps=60,
             sft__batch_size=16, train__steps=5, train__prompts_per_step=4, eval__before="false", eval__after="false", checkpoint__every=1, archive__pack_every=1)


def bits(folder):
    end = result(folder)
    return end["policy_sha256"], end["archive_sha256"]


def same_end(harness, name, *settings):
    whole, killed = harness.work / name, harness.work / f"{name}_killed"
    harness.ranks(1).train(whole, *SHORT, *settings, keep={1: killed})
    harness.ranks(3).train(killed, "--resume", *SHORT, *settings)
    check(bits(whole) == bits(killed), f"{name}: killed, resumed on three ranks, it ends differently")
    said = [json.loads(line) for line in harness.succeed("archive", "export", whole, "--purpose", "train").splitlines()]
    values = {component: {line["components"][component] for line in said} for component in said[0]["components"]}
    check(any(len(seen) > 1 for seen in values.values()), f"{name}: all answers are judged alike, {values}: the verdicts say nothing")
    verdicts = [value for row in metrics(whole) for key, value in row.items() if key.startswith("scoring/") and key.endswith("/verdicts")]
    check(sum(verdicts) == 5 * 4 * 4, f"{name}: verdicts {verdicts}, not those of five steps of 4 x 4 rollouts")


def of_task(name):
    """The test of a task that makes its own prompts."""
    def test(harness):
        same_end(harness, name, *sets(task__name=name, **({"task__max_level": 1} if name in ("tags", "code") else {})))  # more would not fit an answer of this length

    test.__name__ = name
    return test


def sentences(harness):
    same_end(harness, "corpus", *sets(task__name="corpus", task__file=harness.source / "tests/task/sums.txt", task__min_level=1, objective__recipe="rlpt"))


def questions_of_a_file(harness):
    sums = [(f"{a}+{b}", a + b) for a in range(5) for b in range(5)]
    examples = harness.work / "examples.jsonl"
    examples.write_text("".join(json.dumps({"prompt": f"{question}\n", "answer": f"\\boxed{{{total}}}"}) + "\n" for question, total in sums))
    wrong_step = sets(reward__verifier="error_index", task__answer_marker="", sft__file=examples)  # the reference is no answer to learn from
    for name, answer, more in (("marked", "#### {}", []), ("error_index", '{{"error": {}, "steps": 9}}', wrong_step)):
        file = harness.work / f"{name}.jsonl"
        file.write_text("".join(json.dumps({"question": question, "answer": answer.format(total)}) + "\n" for question, total in sums))
        same_end(harness, name, *sets(task__name="jsonl", task__file=file), *more)


def mathematics(harness):
    same_end(harness, "math", *sets(task__name="arithmetic", reward__verifier="math"))


main(*map(of_task, TASKS), sentences, questions_of_a_file, mathematics, at_a_time=2)
