"""A run that trains only the weights which another one moved: frozen weights keep their bits, any rank count and a resume end alike, and another mask is refused."""
import shutil

from harness import check, main, metrics, policy_line, sets, weights

TOLERANCE = 5e-4
# A constant rate: another number of steps is another cosine, and the halves of a run must be the whole.
DECAY = sets(train__weight_decay=0.1, train__warmup_steps=0, train__min_lr_ratio=1)
# Three shares of the optimizer: 1 MiB of moments each.
WIDE = sets(model__hidden_size=128, model__intermediate_size=352, model__num_hidden_layers=3, model__head_dim=32, model__num_attention_heads=4,
            model__num_key_value_heads=2, train__steps=3, sft__steps=4)


def unmasked(settings):
    """The same --set words without those of the mask."""
    pairs = zip(settings[::2], settings[1::2])
    return [word for pair in pairs if "gradient_mask" not in pair[1] for word in pair]


def moved(harness, name, *more):
    """A run, what its training began from, and the settings that repeat it on what it moved."""
    run, start = harness.work / f"{name}_first", harness.work / f"{name}_start"
    if not run.exists():
        harness.succeed("sft", harness.tiny, *sets(run__dir=harness.work / f"{name}_warm"), *more)
        harness.succeed("export", harness.work / f"{name}_warm", start)
        harness.train(run, *more, *sets(model__path=start, sft__steps=0))
    mask = sets(gradient_mask__before=start, gradient_mask__after=run, gradient_mask__tolerance=TOLERANCE)
    return run, start, [*more, *sets(model__path=start, sft__steps=0), *mask]


def frozen_weights_keep_their_bits(harness):
    run, start, repeat = moved(harness, "tiny", *DECAY)
    again = harness.work / "again"
    harness.train(again, *repeat)
    harness.succeed("export", run, harness.work / "end")
    harness.succeed("export", again, harness.work / "masked")
    first, end, masked = (weights(folder) for folder in (start, harness.work / "end", harness.work / "masked"))
    mask = {name: [abs(a - b) > TOLERANCE for a, b in zip(first[name], end[name])] for name in first}
    trained, frozen = (sum(m == own for tensor in mask.values() for m in tensor) for own in (True, False))
    check(trained > 100 and frozen > 100, f"{trained} weights train and {frozen} do not: this shows nothing")
    for name in first:
        changed = [a.hex() != b.hex() for a, b in zip(first[name], masked[name])]
        check(not any(c and not m for c, m in zip(changed, mask[name])), f"a frozen weight of {name} has moved")
    stayed = sum(a == b for name in first for a, b, m in zip(first[name], masked[name], mask[name]) if m)
    check(stayed < 0.05 * trained, f"{stayed} of {trained} weights that train did not move")
    norms = [metrics(folder)[0]["actor/grad_norm"] for folder in (run, again)]  # of the same rollouts
    check(0 < norms[1] < norms[0], f"the norm of the masked gradient is {norms[1]}, that of the whole one {norms[0]}")


def any_ranks_and_a_resume_end_alike(harness):
    _, _, repeat = moved(harness, "wide", *WIDE, *DECAY)
    lines = {ranks: policy_line(harness.train(harness.work / f"wide_{ranks}", *repeat, ranks=ranks)) for ranks in (1, 3)}
    check(lines[1] == lines[3], f"1 and 3 ranks end with other weights: {lines}")
    check(lines[1] != policy_line(harness.train(harness.work / "wide_whole", *unmasked(repeat))), "the mask changes nothing")
    half = harness.work / "wide_half"
    harness.train(half, *repeat, *sets(train__steps=2), ranks=3)
    line = policy_line(harness.train(half, "--resume", *repeat))
    check(line == lines[1], f"in two halves: {line}, in one go: {lines[1]}")


def another_mask_is_refused(harness):
    _, start, repeat = moved(harness, "tiny", *DECAY)
    half, elsewhere, plain = harness.work / "tiny_half", harness.work / "elsewhere", harness.work / "tiny_plain"
    harness.train(half, *repeat, *sets(train__steps=2))
    shutil.copytree(start, elsewhere)
    goes_on = ["train", harness.tiny, "--resume", *sets(run__dir=half), *repeat, *sets(train__steps=4)]
    for settings, part in ((sets(gradient_mask__tolerance=2e-4), "makes other weights train"),
                           (sets(gradient_mask__before="", gradient_mask__after=""), "names none"),
                           (sets(gradient_mask__after=start), "no weight differs")):
        code, _, err, _ = harness.run(*goes_on, *settings)
        check(code != 0 and part in err, f"{settings}: {code}\n{err}")
    harness.succeed(*goes_on, *sets(gradient_mask__before=elsewhere))  # the same weights in another folder
    harness.train(plain, *unmasked(repeat), *sets(train__steps=2))
    code, _, err, _ = harness.run("train", harness.tiny, "--resume", *sets(run__dir=plain), *repeat, *sets(train__steps=4))
    check(code == 2 and "began without a gradient mask" in err, f"{code}\n{err}")


def what_cannot_be_is_refused(harness):
    run, start, _ = moved(harness, "tiny", *DECAY)
    other = harness.work / "other"
    harness.train(other, *sets(model__hidden_size=16, train__steps=1, sft__steps=1))
    both = sets(gradient_mask__before=start, gradient_mask__after=run)
    for settings, part in ((sets(gradient_mask__before=start), "set without gradient_mask.after"), (sets(gradient_mask__tolerance=1), "it names no checkpoints"),
                           (sets(gradient_mask__before=start, gradient_mask__after=other), "not a checkpoint of the run's model"),
                           (sets(gradient_mask__before=start, gradient_mask__after=harness.work / "none"), "holds no checkpoint"),
                           ([*both, *sets(train__steps=0)], "no training step")):
        code, _, err, _ = harness.run("train", harness.tiny, *sets(run__dir=harness.work / "refused"), *settings)
        check(code != 0 and part in err and len(err.strip().splitlines()) <= 3, f"{settings}: {code}\n{err}")


main(frozen_weights_keep_their_bits, any_ranks_and_a_resume_end_alike, another_mask_is_refused, what_cannot_be_is_refused)
