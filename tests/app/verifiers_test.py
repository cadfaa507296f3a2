"""Every task that Rollcall makes, with its verifier: a run on three ranks that is killed and goes on ends with the policy and archive of one rank alone."""
from harness import check, main, metrics, result, sets

TASKS = ("sorting", "arithmetic", "countdown", "code", "tags", "json", "instructions", "multiple_choice", "word_sorting", "graph", "knights_knaves", "units")
SHORT = sets(task__max_level=3, task__train_prompts=32, task__heldout_prompts=4, task__validation_prompts=0, model__max_position_embeddings=1024, sampling__max_new_tokens=12, sft__steps=12,
             sft__batch_size=16, train__steps=3, train__prompts_per_step=4, eval__before="false", eval__after="false", checkpoint__every=1, archive__pack_every=1)


def bits(folder):
    end = result(folder)
    return end["policy_sha256"], end["archive_sha256"]


def same_end(harness, name, *settings):
    whole, killed = harness.work / name, harness.work / f"{name}_killed"
    harness.train(whole, *SHORT, *settings)
    harness.kill_after(killed, *SHORT, *settings, steps=1)
    check(not (killed / "result.json").exists(), f"{name}: the kill came after the end of the run, and tested nothing")
    harness.train(killed, "--resume", *SHORT, *settings, ranks=3)
    check(bits(whole) == bits(killed), f"{name}: killed, resumed on three ranks, it ends differently")
    verdicts = [value for row in metrics(whole) for key, value in row.items() if key.startswith("scoring/") and key.endswith("/verdicts")]
    check(sum(verdicts) == 3 * 4 * 4, f"{name}: verdicts {verdicts}, not those of three steps of 4 x 4 rollouts")


def every_task(harness):
    for name in TASKS:
        same_end(harness, name, *sets(task__name=name))


def sentences(harness):
    same_end(harness, "corpus", *sets(task__name="corpus", task__file=harness.source / "tests/task/sums.txt", task__min_level=1, objective__recipe="rlpt"))


def mathematics(harness):
    same_end(harness, "math", *sets(task__name="arithmetic", reward__verifier="math"))


main(every_task, sentences, mathematics)
