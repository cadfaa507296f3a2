"""Forks in whole runs: rollouts that begin as others of their group did, never more than were planned, the same on any ranks and threads, with the log-probs of the tokens that
they took over."""
import collections
import json

from harness import check, main, result, sets

ROLLOUTS, UNFORKED = 6, 2
SMALL = sets(sft__steps=20, train__steps=3, train__rollouts_per_prompt=ROLLOUTS, scheduler__policy="uniform", scheduler__min_rollouts=ROLLOUTS, scheduler__max_rollouts=ROLLOUTS, eval__before="false", eval__after="false", archive__pack_every=3)
FORKS = sets(environment__forks="top_entropy", environment__unforked=UNFORKED)


def train(harness, name, *more, ranks=1):
    folder = harness.work / name
    if not (folder / "result.json").exists():
        harness.ranks(ranks).train(folder, *SMALL, *more)
    return folder


def groups_of(harness, run):
    """[groups][sample] a line of the archive"""
    groups = collections.defaultdict(dict)
    for text in harness.succeed("archive", "export", run, "--purpose", "train", "--tokens").splitlines():
        line = json.loads(text)
        groups[line["step"], line["prompt_id"], line["draw"]][line["sample"]] = line
    return groups


def sampled(line, column):
    return [value for turn in line["turns"] if turn["role"] == "policy" for value in turn[column]]


def forks_share_what_others_began(harness):
    groups = groups_of(harness, train(harness, "whole", *FORKS))
    forks = 0
    for key, group in groups.items():
        check(len(group) <= ROLLOUTS and max(group) < ROLLOUTS, f"{key}: samples {sorted(group)}")
        for sample, line in group.items():
            check(("fork" in line) == (sample >= UNFORKED), f"{key}: sample {sample} of {UNFORKED} that begin at the prompt: {line.get('fork')}")
            if "fork" not in line:
                continue
            forks += 1
            parent, shared = line["fork"]["sample"], line["fork"]["tokens"]
            check(parent < UNFORKED and 0 < shared < len(sampled(group[parent], "tokens")), f"{key}: sample {sample} was forked from {parent} after {shared} tokens")
            for column in ("tokens", "logprob", "entropy"):
                own, other = (sampled(of, column)[:shared] for of in (line, group[parent]))
                check(own == other, f"{key}: {column} of samples {sample} and {parent}: {own}, {other}")
    check(forks > len(groups), f"{forks} forks in {len(groups)} groups")


def they_are_the_same_on_any_ranks_and_threads(harness):
    whole = train(harness, "whole", *FORKS)
    for name, ranks, more in (("three", 3, []), ("threads", 1, sets(run__threads=3))):
        other = train(harness, name, *FORKS, *more, ranks=ranks)
        for key in ("policy_sha256", "archive_sha256", "rollouts_total"):
            check(result(other)[key] == result(whole)[key], f"{name}: {key} differs")


def trees_and_other_rules_train(harness):
    """What is compared by depth trains otherwise than what is compared by rollouts, and a rule that reads the two likeliest tokens has them."""
    whole = result(train(harness, "whole", *FORKS))["policy_sha256"]
    tree = train(harness, "tree", *FORKS, *sets(objective__pieces__advantage="tree_center"))
    check(result(tree)["policy_sha256"] != whole, "tree_center changes nothing")
    second = train(harness, "second", *sets(environment__forks="runner_up", sft__steps=60))  # then single tokens are likely
    check(any("fork" in line for group in groups_of(harness, second).values() for line in group.values()), "runner_up forks nowhere")


main(forks_share_what_others_began, they_are_the_same_on_any_ranks_and_threads, trees_and_other_rules_train)
