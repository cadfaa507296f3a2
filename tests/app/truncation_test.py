"""Draws that leave tokens out: the run says so once, archive and metrics say how much is kept, and with sampling.logprob = kept training is on what was drawn from.
The same bits on any ranks, after a kill, from the archive and with groups that are replayed."""
import json
import math

from harness import check, main, metrics, result, sets

SMALL = sets(sft__steps=20, train__steps=6, train__mini_batches=2, train__epochs=2, eval__before="false", eval__after="false", checkpoint__every=2,
             archive__pack_every=4, sampling__top_p=0.7, sampling__temperature=1.3)
KEPT = [*SMALL, *sets(sampling__logprob="kept")]
REPLAYED = [*KEPT, *sets(objective__recipe="dots-rr", replay__share=0.5, replay__old_policy="current")]


def run(harness, name, settings, ranks=1):
    folder = harness.work / name
    if not folder.exists():
        harness.ranks(ranks).train(folder, *settings)
    return folder


def same_end(folder, reference):
    for key in ("policy_sha256", "archive_sha256"):
        check(result(folder)[key] == result(reference)[key], f"{folder.name}: {key} differs from that of {reference.name}")


def tokens_of(harness, folder, step):
    """(id, log-prob, kept mass or None, kept ids or None) of all policy tokens of a step's training rollouts."""
    lines = harness.succeed("archive", "export", folder, "--purpose", "train", "--tokens").splitlines()
    turns = [turn for line in map(json.loads, lines) if line["step"] == step for turn in line["turns"] if turn["role"] == "policy"]
    return [row for turn in turns
            for row in zip(turn["tokens"], turn["logprob"], turn.get("kept_mass", [None] * len(turn["tokens"])), turn.get("kept", [None] * len(turn["tokens"])))]


def told_once(harness):
    line = "sampling.top_p is 0.7: tokens are drawn from"
    for name, settings, ranks, times in (("told", SMALL, 3, 1), ("not_told", KEPT, 1, 0)):
        code, out, err, _ = harness.run("train", harness.tiny, *sets(run__dir=harness.work / name, eval__every=2), *settings, *sets(train__steps=2), ranks=ranks)
        check(code == 0 and (out + err).count(line) == times, f"{name}: exit code {code}, told {(out + err).count(line)} times\n{out}\n{err}")


def kept_mass_is_stored_and_measured(harness):
    full, kept = run(harness, "full", SMALL), run(harness, "kept", KEPT)
    rows = {folder: metrics(folder) for folder in (full, kept)}
    for folder, of in rows.items():
        check(all(0.7 <= row["rollout/kept_mass_min"] <= row["rollout/kept_mass_mean"] < 1 for row in of), f"{folder.name}: kept mass {of}")
    check(all("rollout/kept_tokens_mean" not in row for row in rows[full]) and all(row["rollout/kept_tokens_mean"] > 1 for row in rows[kept]), "lists")
    first = {folder: tokens_of(harness, folder, 1) for folder in (full, kept)}  # both policies are the same still
    for (token, logprob, mass, ids), (same, of_kept, same_mass, listed) in zip(first[full], first[kept], strict=True):
        check(token == same and mass == same_mass and ids is None and token in listed and listed == sorted(listed), f"{token}, {same}: {mass}, {same_mass}, {listed}")
        check(abs(of_kept + math.log(mass) - logprob) < 1e-4, f"log-prob {of_kept} of the kept tokens, {mass} of all, and {logprob}")
    for folder, tokens in first.items():
        mean = sum(mass for _, _, mass, _ in tokens) / len(tokens)
        check(abs(mean - rows[folder][0]["rollout/kept_mass_mean"]) < 1e-6, f"{folder.name}: {mean} is stored, {rows[folder][0]['rollout/kept_mass_mean']} measured")
    check(result(full)["policy_sha256"] != result(kept)["policy_sha256"], "the correction corrects nothing")
    plain = run(harness, "plain", [*SMALL, *sets(sampling__top_p=1, train__steps=2)])
    check(not any(name.startswith("rollout/kept") for row in metrics(plain) for name in row), "all tokens are kept, and their mass is measured")
    check(all(mass is None and ids is None for _, _, mass, ids in tokens_of(harness, plain, 1)), "all tokens are kept, and their mass is stored")


def the_ratio_begins_at_one(harness):
    """Also on the same sets, which a later mini-batch repeats: then it moves about 1."""
    for name, settings in (("kept", KEPT), ("replayed", REPLAYED)):
        rows = metrics(run(harness, name, settings))
        check(all(row["actor/ratio_min_first"] == 1 == row["actor/ratio_max_first"] for row in rows), f"{name}: the ratio of fresh tokens is not 1 at first")
        check(all(0.3 < row["actor/ratio_min"] < 1 < row["actor/ratio_max"] < 3 for row in rows), f"{name}: {[(r['actor/ratio_min'], r['actor/ratio_max']) for r in rows]}")
    check(any(row.get("replay/rollouts", 0) > 0 for row in metrics(run(harness, "replayed", REPLAYED))), "nothing was replayed")


def same_bits(harness):
    for name, settings in (("kept", KEPT), ("replayed", REPLAYED)):
        reference = run(harness, name, settings)
        same_end(run(harness, f"{name}_3", settings, ranks=3), reference)
        killed = harness.work / f"{name}_killed"
        harness.ranks(1).train(harness.work / f"{name}_whole", *settings, keep={3: killed})
        harness.ranks(1).train(killed, *settings, "--resume")
        same_end(killed, reference)
    again = run(harness, "from_archive", [*KEPT, "--from-archive", run(harness, "kept", KEPT)])
    check(result(again)["policy_sha256"] == result(run(harness, "kept", KEPT))["policy_sha256"], "training from the archive is another training")
    harness.succeed("archive", "verify", run(harness, "kept", KEPT))


def other_passes_read_the_same_sets(harness):
    """A reference that is the policy of the first step has its log-probs: the divergence begins at 0 in either softmax."""
    rows = metrics(run(harness, "reference", [*KEPT, *sets(objective__pieces__regularizer="kl", train__steps=2, train__mini_batches=1, train__epochs=1)]))
    check(rows[0]["actor/kl_loss"] == 0 < rows[1]["actor/kl_loss"], f"the divergence from the reference: {[row['actor/kl_loss'] for row in rows]}")


if __name__ == "__main__":
    main(told_once, kept_mass_is_stored_and_measured, the_ratio_begins_at_one, same_bits, other_passes_read_the_same_sets)
