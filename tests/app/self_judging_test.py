"""Judge tasks: made of groups with both outcomes and labelled by the verifier, archived whole, the same on any ranks and after any kill; and the policy learns to judge."""
import collections
import json
import random

from harness import check, main, metrics, result, sets

STEPS, PROMPTS, ROLLOUTS = 8, 8, 4
FIRST_VERDICT, FIRST_REFLECTION = 2**39, 2**39 + 2**38
WORDS = sets(self_judging__pointwise="{prompt}{response}?", self_judging__pairwise="{prompt}{first},{second}?", self_judging__reflection="{prompt}{response};")
SMALL = [*sets(objective__recipe="spark-coevolve", self_judging__share=0.5, sft__steps=0, train__steps=STEPS, eval__before="false", eval__after="false", checkpoint__every=2, archive__pack_every=4), *WORDS]


def lessons(count, levels, seed):
    """Solved questions, and judge tasks in the right form whose verdicts are coins: what they teach is how to reply."""
    draw = random.Random(seed)
    for _ in range(count):
        digits = [draw.choice("0123456789") for _ in range(draw.choice(levels))]
        question, right = "".join(digits) + ">", "".join(sorted(digits))
        wrong = list(right)
        wrong[draw.randrange(len(wrong))] = draw.choice("0123456789")
        wrong = "".join(wrong)
        answers = draw.sample([right, wrong], 2)
        yield question, right
        yield draw.choice([(f"{question}{answers[0]}?", draw.choice("AB")), (f"{question}{answers[0]},{answers[1]}?", draw.choice("AB")), (f"{question}{wrong};", right)])


def start(harness):
    """A model that solves a part of the questions and answers verdicts with A or B at random."""
    folder = harness.work / "start"
    if not folder.exists():
        lines = [json.dumps({"prompt": prompt, "answer": answer}) for prompt, answer in lessons(2000, [1, 2], 7)]
        (harness.work / "lessons.jsonl").write_text("\n".join(lines) + "\n")
        harness.succeed("sft", harness.tiny, *sets(run__dir=folder, sft__file=harness.work / "lessons.jsonl", sft__steps=120, sft__batch_size=64))
    return folder


def train(harness, name, *more, ranks=1):
    harness.ranks(ranks).train(harness.work / name, *SMALL, *more, "--init-from", start(harness))
    return harness.work / name


KILLED = {1: 1, 2: 3, 3: 1, 5: 1, 6: 3}  # after so many steps: the ranks that go on


def whole(harness):
    folder = harness.work / "whole"
    if not folder.exists():
        harness.ranks(1).train(folder, *SMALL, "--init-from", start(harness), keep={steps: harness.work / f"killed_{steps}" for steps in KILLED})
    return folder


def same_end(folder, reference):
    for key in ("policy_sha256", "archive_sha256", "rollouts_total"):
        check(result(folder)[key] == result(reference)[key], f"{folder.name}: {key} differs from that of {reference.name}")


def groups_of(harness, run):
    """step -> prompt number and draw -> rollouts"""
    steps = collections.defaultdict(lambda: collections.defaultdict(list))
    for line in harness.succeed("archive", "export", run, "--purpose", "train").splitlines():
        rollout = json.loads(line)
        steps[rollout["step"]][rollout["prompt_id"], rollout["draw"]].append(rollout)
    return steps


def expected(before):
    """Every judge task that the groups of a step allow: text -> reference of the right kind"""
    tasks = {}
    for group in before.values():
        question = group[0]["prompt"]
        if group[0]["prompt_id"] >= FIRST_VERDICT:
            continue
        ended = [r for r in group if r["finish"] == "stop" and not r["undecided"]]
        right, wrong = ({r["completion"] for r in ended if r["correct"] == verdict} for verdict in (True, False))
        for a in right:
            for b in wrong:
                tasks |= {f"{question}{a}?": "A", f"{question}{b}?": "B", f"{question}{a},{b}?": "A", f"{question}{b},{a}?": "B", f"{question}{b};": group[0]["reference"]}
    return tasks


def made_of_mixed_groups_and_labelled_by_the_verifier(harness):
    steps, kinds = groups_of(harness, whole(harness)), collections.Counter()
    check(sorted(steps) == list(range(1, STEPS + 1)), f"steps {sorted(steps)}")
    for step, groups in steps.items():
        check(sum(map(len, groups.values())) == PROMPTS * ROLLOUTS, f"step {step} has {sum(map(len, groups.values()))} rollouts: its budget is not exact")
        asked = {key: group for key, group in groups.items() if key[0] >= FIRST_VERDICT}
        check(len(asked) <= PROMPTS // 2 and (step > 1 or not asked), f"step {step} asks {len(asked)} judge tasks")
        allowed = expected(steps[step - 1]) if step > 1 else {}
        for (number, _), group in asked.items():
            text, reference = group[0]["prompt"], group[0]["reference"]
            check(text in allowed, f"step {step} asks {text!r}, which no group with both outcomes of the step before allows")
            verdict = number < FIRST_REFLECTION
            label = json.loads(reference)["answer"] if verdict else reference
            check(label == allowed[text], f"step {step}: the label of {text!r} is {label}, the verifier says {allowed[text]}")
            said = {r["completion"]: r["correct"] for r in group if r["finish"] == "stop"}
            other = {"A": "yes", "B": "no"}.get(label) if "," not in text else None
            check(all(correct == (answer in (label, other)) for answer, correct in said.items() if answer == label or answer in "AB" or not verdict), f"step {step}: {text!r} {label}: {said}")
            kinds["reflection" if not verdict else "pair" if "," in text else "point"] += 1
        told = {row["step"]: row.get("self_judging/tasks", 0) for row in metrics(whole(harness))}
        check(told[step] == len(asked), f"step {step}: metrics tell of {told[step]} judge tasks, the archive of {len(asked)}")
    check(min(kinds[kind] for kind in ("reflection", "pair", "point")) > 0, f"a kind never came up: {dict(kinds)}")


def metrics_are_of_their_own_prompts(harness):
    steps, rows = groups_of(harness, whole(harness)), metrics(whole(harness))

    def rate(step, wanted):
        group = [r["correct"] for key, rollouts in steps[step].items() if wanted(key[0]) for r in rollouts]
        return sum(group) / len(group) if group else None

    for row in rows:
        for name, wanted in (("train/pass_rate_rollouts", lambda n: n < FIRST_VERDICT), ("self_judging/verdict_accuracy", lambda n: FIRST_VERDICT <= n < FIRST_REFLECTION),
                             ("self_judging/reflection_accuracy", lambda n: n >= FIRST_REFLECTION)):
            true = rate(row["step"], wanted)
            check((true is None and name not in row) or abs(true - row[name]) < 1e-12, f"step {row['step']}: {name} is {row.get(name)}, not {true}")


def same_on_three_ranks(harness):
    same_end(train(harness, "three", ranks=3), whole(harness))
    plain = train(harness, "plain", *sets(self_judging__share=0, objective__recipe="grpo_kl", objective__knobs__kl_coef=0.001))
    check(result(plain)["policy_sha256"] != result(whole(harness))["policy_sha256"], "judge tasks change nothing")


def survives_kills(harness):
    """Killed after each number of steps in turn, and resumed on one or three ranks."""
    for steps, ranks in KILLED.items():
        folder = harness.work / f"killed_{steps}"
        harness.ranks(ranks).train(folder, *SMALL, "--init-from", start(harness), "--resume")
        same_end(folder, whole(harness))


def the_archive_holds_them_whole(harness):
    table = harness.succeed("archive", "rescore", whole(harness), "--verifier", "exact_match", "--purpose", "train").splitlines()
    line = next(line.split() for line in table if line.split()[:1] == ["all"])
    check(line[1] == str(STEPS * PROMPTS * ROLLOUTS) and line[-1] == "1.0000", f"verdicts made again differ: {line}")
    again = train(harness, "again", "--from-archive", whole(harness))
    check(result(again)["policy_sha256"] == result(whole(harness))["policy_sha256"], "training from the archive is another training")
    harness.succeed("archive", "verify", whole(harness))


main(made_of_mixed_groups_and_labelled_by_the_verifier, metrics_are_of_their_own_prompts, same_on_three_ranks, survives_kills, the_archive_holds_them_whole)
