"""Every task, with its verifier: a run on three ranks that is killed and goes on ends with the policy and archive of one rank alone."""
import json

from harness import check, main, metrics, result, sets

TASKS = ("sorting", "arithmetic", "countdown", "code", "tags", "json", "instructions", "multiple_choice", "word_sorting", "graph", "knights_knaves", "units")
LEVELS = sets(task__max_level=3)
SHORT = sets(task__train_prompts=32, task__heldout_prompts=4, task__validation_prompts=0, model__max_position_embeddings=1024, sampling__max_new_tokens=24, sft__steps=60,
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
        same_end(harness, name, *LEVELS, *sets(task__name=name, **({"task__max_level": 1} if name in ("tags", "code") else {})))  # more would not fit an answer of this length

    test.__name__ = name
    return test


def sentences(harness):
    same_end(harness, "corpus", *LEVELS, *sets(task__name="corpus", task__file=harness.source / "tests/task/sums.txt", task__min_level=1, objective__recipe="rlpt"))


def questions_of_a_file(harness):
    sums = [(f"{a}+{b}", a + b) for a in range(5) for b in range(5)]
    examples = harness.work / "examples.jsonl"
    examples.write_text("".join(json.dumps({"prompt": f"{question}\n", "answer": f"\\boxed{{{total}}}"}) + "\n" for question, total in sums))
    wrong_step = sets(reward__verifier="error_index", task__answer_marker="", sft__file=examples)  # the reference is no answer to learn from
    for name, answer, more in (("marked", "#### {}", []), ("error_index", '{{"error": {}, "steps": 9}}', wrong_step)):
        file = harness.work / f"{name}.jsonl"
        file.write_text("".join(json.dumps({"question": question, "answer": answer.format(total)}) + "\n" for question, total in sums))
        same_end(harness, name, *sets(task__name="file", task__file=file), *more)


def a_critic_earns_its_verdict_less_the_distance(harness):
    """jobs/runs/fapo-critic.toml with a small model: twice the verdict less the distance, whatever else the verifier fills."""
    file, examples, folder = harness.work / "solutions.jsonl", harness.work / "criticisms.jsonl", harness.work / "critic"
    wrong = [(f"{a}+{b}", (a + b) % 6 - 1) for a in range(6) for b in range(6)]
    file.write_text("".join(json.dumps({"question": q, "answer": json.dumps({"error": error, "steps": 5})}) + "\n" for q, error in wrong))
    examples.write_text("".join(json.dumps({"prompt": f"{q}\n", "answer": f"\\boxed{{{error}}}"}) + "\n" for q, error in wrong))
    small = sets(model__path="", model__hidden_size=32, model__intermediate_size=48, model__num_hidden_layers=1, model__num_attention_heads=2, model__num_key_value_heads=1,
                 model__head_dim=16, model__max_position_embeddings=40, sampling__max_new_tokens=12, sft__steps=60, sft__file=examples, sft__lr=1e-2, train__steps=3,
                 train__prompts_per_step=8, eval__samples=2, eval__pass_k=1, eval__bootstrap=10)
    harness.train(folder, *sets(task__file=file), *small, run_file=harness.source / "jobs/runs/fapo-critic.toml")
    for row in metrics(folder):
        earned = 2 * row["critic/component/verdict/mean"] - row["critic/component/distance/mean"]
        check(abs(row["critic/rewards/mean"] - earned) < 1e-9, f"step {row['step']}: {row['critic/rewards/mean']}, not {earned}")
    check(any(row["critic/component/distance/mean"] > 0 for row in metrics(folder)), "no guess was off, so the distance says nothing")


def mathematics(harness):
    same_end(harness, "math", *LEVELS, *sets(task__name="arithmetic", reward__verifier="math"))


main(*map(of_task, TASKS), sentences, questions_of_a_file, a_critic_earns_its_verdict_less_the_distance, mathematics, at_a_time=2)
