"""`rollcall weights`: what a run moved, and models made of several."""
import json

from harness import check, main, sets, weights


def finished(harness):
    run, start, end = harness.work / "run", harness.work / "start", harness.work / "end"
    if not run.exists():
        harness.train(harness.work / "warm", *sets(train__steps=1))
        harness.succeed("export", f"{harness.work / 'warm'}@1", start)
        harness.train(run, *sets(model__path=start, sft__steps=0))
        harness.succeed("export", run, end)
    return run, start, end


def a_comparison_counts_what_moved(harness):
    run, start, end = finished(harness)
    same = json.loads(harness.succeed("weights", "compare", start, start, "--tolerance", "0", "--json"))
    check(same["sparsity"] == 1.0 and all(t["sparsity"] == 1.0 for t in same["tensors"].values()), f"a copy of itself has moved: {same}")
    before, after = weights(start), weights(end)
    for tolerance in (0.0, 1e-4):
        report = json.loads(harness.succeed("weights", "compare", start, run, "--tolerance", tolerance, "--json"))
        moved = {name: sum(abs(a - b) > tolerance for a, b in zip(before[name], after[name])) for name in before}
        check({name: t["changed"] for name, t in report["tensors"].items()} == moved, f"other counts than {moved}: {report}")
        check(report["changed"] == sum(moved.values()) > 0, "the sum is another")
    text = harness.succeed("weights", "compare", start, run)
    check("lm_head.weight" in text and text.splitlines()[-1].startswith("all "), text)


def a_merge_is_the_mean_or_the_largest_moves(harness):
    run, start, end = finished(harness)
    mean, largest = harness.work / "mean", harness.work / "largest"
    harness.succeed("weights", "merge", mean, start, run, "--shares", "0.25,0.75")
    before, after, merged = weights(start), weights(end), weights(mean)
    check(all(abs(m - (0.25 * a + 0.75 * b)) < 1e-6 for n in merged for a, b, m in zip(before[n], after[n], merged[n])), "not the mean")
    harness.succeed("weights", "merge", largest, run, "--base", start, "--keep", "0.25", "--scale", "0.7")
    merged = weights(largest)
    moves = sorted((abs(b - a) for n in before for a, b in zip(before[n], after[n])), reverse=True)
    least = moves[round(0.25 * len(moves)) - 1]
    kept = 0
    for name in merged:
        for a, b, m in zip(before[name], after[name], merged[name]):
            if m != a:
                kept += 1
                check(abs(b - a) >= least * (1 - 1e-6) and abs(m - (a + 0.7 * (b - a))) < 1e-6, f"{a} to {b} became {m}")
    check(abs(kept - round(0.25 * len(moves))) <= 0.01 * len(moves), f"{kept} of {len(moves)} moves stayed")
    harness.succeed("eval", largest, "--run-file", harness.tiny, "--out", harness.work / "eval")
    same = harness.work / "same"
    harness.succeed("weights", "merge", same, start, start)
    check(weights(same) == before, "the mean of a model and itself is another model")


def what_does_not_fit_is_refused(harness):
    run, start, end = finished(harness)
    other = harness.work / "other"
    harness.train(other, *sets(model__hidden_size=16, train__steps=1, sft__steps=1))
    for arguments, part in ((("compare", start, other), "not the same model"), (("merge", harness.work / "x", start, other), "not the same model"),
                            (("merge", end, start, run), "already holds a model"), (("merge", harness.work / "x", start, run, "--shares", "0.5"), "--shares has 1"),
                            (("merge", harness.work / "x", start, run, "--shares", "0.5,0.6"), "add up to 1.1"),
                            (("merge", harness.work / "x", run, "--keep", "0.5"), "need --base")):
        code, _, err, _ = harness.run("weights", *arguments)
        check(code != 0 and part in err, f"{arguments}: {code}\n{err}")
        check(not (harness.work / "x").exists(), f"{arguments} left something")


main(a_comparison_counts_what_moved, a_merge_is_the_mean_or_the_largest_moves, what_does_not_fit_is_refused)
