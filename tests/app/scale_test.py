"""How a job scales: the study of benchmarks/scaling on two counts of ranks, and rollcall simulate --scale with runs that it fits to, predicts or refuses."""
import json
import os
import re
import subprocess
import sys

from harness import check, main, sets

RUNS = {}  # folder by name, made once


def measured_runs(h):
    """Tiny runs on one, two and three ranks."""
    for ranks in (1, 2, 3):
        if ranks not in RUNS:
            h.train(f"ranks{ranks}", *sets(sft__steps=2, train__steps=8), ranks=ranks)
            RUNS[ranks] = f"ranks{ranks}"
    return RUNS


def the_model_is_fitted_and_tried(h):
    runs = measured_runs(h)
    words = ["simulate", "--scale", "--from", runs[1], runs[3], "--check", runs[2], "--ranks", "100,1000", "--cores", 2]
    out = h.succeed(*words)
    check(out == h.succeed(*words), "the same runs give other predictions")
    check(re.search(r"largest error of a step: [\d.]+ %", out), f"no error of the run that was not fitted to:\n{out}")
    rows = [line.split() for line in out.splitlines() if line.startswith(("weak", "strong"))]
    check([(row[0], row[1], row[2]) for row in rows] == [(k, l, n) for k in ("weak", "strong") for l in ("colocated", "disaggregated") for n in ("100", "1000")], out)
    for row in rows:
        shares = [float(word.rstrip("%")) for word in row[7:11]]
        check(abs(sum(shares) - 100) < 0.3 and min(shares) > -0.01, f"the shares are not the whole: {row}")
    larger = [line.split() for line in h.succeed(*words, "--larger", 100).splitlines() if line.startswith("weak")]
    check(all(float(a[6].rstrip("%")) > float(b[6].rstrip("%")) for a, b in zip(larger, rows)), "a larger model does not scale better")
    for words in ("Assumed:", "lengths are drawn", "No step is packed"):
        check(words in out, f"does not say: {words}")


def wrong_inputs_are_named(h):
    runs = measured_runs(h)
    (h.work / "empty").mkdir()
    other = "wider"
    h.train(other, *sets(sft__steps=2, train__steps=5, model__hidden_size=48))
    for words, code, said in ([["--scale"], 2, "--scale without --from"], [["--scale", "--form", runs[1]], 2, "did you mean --from?"], [["--from", runs[1]], 2, "--scale"],
                              [["--scale", "--from", runs[1], "--policy", "uniform"], 2, "--policy"], [["--scale", "--from", "empty"], None, "empty"],
                              [["--scale", "--from", runs[1], other], None, f"{other} has"], [["--scale", "--from", runs[1], "--ranks", "100,10"], 2, "--ranks is not in ascending order"]):
        got, out, err, _ = h.run("simulate", *words)
        check(got != 0 and (code is None or got == code), f"exit code {got}: {words}\n{err}")
        check(said in err and len(err.strip().splitlines()) == 1, f"not one message with {said!r}: {words}\n{err}")
        check(not out, f"speaks before it knows its inputs: {out}")


def the_study_measures(h):
    words = [sys.executable, h.source / "benchmarks/scaling/run", "--binary", h.binary, "--launcher", " ".join(h.launcher), "--ranks", "1", "4", "--rounds", "1", "--steps", "4",
             "--sft-steps", "1", "--out", h.work / "study", "--set", "model.hidden_size=32", "--set", "model.num_hidden_layers=1"]
    done = subprocess.run([str(word) for word in words], check=False, capture_output=True, text=True, cwd=h.work, env=os.environ)
    check(done.returncode == 0, done.stderr)
    told = json.loads((h.work / "study/measurements.json").read_text())
    cases = [(line["kind"], line["layout"], line["ranks"], line["rollouts"]) for line in told["medians"]]
    check(cases == [("strong", "colocated", 1, 512), ("strong", "colocated", 4, 512), ("strong", "disaggregated", 4, 512), ("weak", "colocated", 1, 128),
                    ("weak", "colocated", 4, 512), ("weak", "disaggregated", 4, 512)], cases)
    for line in told["medians"]:
        check(abs(sum(line["shares"].values()) - 1) < 0.02, line)
        check(line["timing_s"]["update_compute_mean"] <= line["timing_s"]["update_compute_max"] <= line["timing_s"]["update"] * 1.001, line)
    check((h.work / "study/scaling.svg").read_text().startswith("<svg"), "no picture")
    same = re.findall(r"the same step as weak and as strong, 4 ranks, (\w+): [+-][\d.]+%", done.stdout)
    check(same == ["colocated", "disaggregated"], f"not said how far the same step differs from itself:\n{done.stdout}")
    runs = h.work / "study/runs"
    check(len(list(runs.glob("*/checkpoints/sft_*"))) == len(list(runs.glob("first/checkpoints/sft_*"))) == 1, "the model is trained more than once")
    (runs / "first").rename(h.work / "gone")  # a run folder is read wherever it lies
    h.succeed("simulate", "--scale", "--from", *sorted(runs.glob("strong-*")), "--check", *sorted(runs.glob("weak-*")))
    for words_too, said in ((["--set", "train.steps=3"], "train.steps: the study sets it itself"), (["--sft-steps", "0"], "supervised steps of at least 1")):
        refused = subprocess.run([str(word) for word in [*words, *words_too]], check=False, capture_output=True, text=True, cwd=h.work, env=os.environ)
        check(refused.returncode == 2 and said in refused.stderr, refused.stderr)


if __name__ == "__main__":
    main(the_model_is_fitted_and_tried, wrong_inputs_are_named, the_study_measures)
