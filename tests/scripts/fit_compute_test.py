"""fit_compute finds the curve that points were made of, and predicts the second half of a run from the first."""
import importlib.machinery
import importlib.util
import json
import pathlib
import random
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "fit_compute"
loader = importlib.machinery.SourceFileLoader("fit_compute", str(SCRIPT))
module = importlib.util.module_from_spec(importlib.util.spec_from_loader("fit_compute", loader))
loader.exec_module(module)


def curve(c, low=0.2, high=0.61, b=1.8, middle=2500.0):
    return low + (high - low) / (1 + (middle / c) ** b)


def known_numbers_are_recovered():
    draw = random.Random(3)
    points = [(100.0 * 1.13 ** i, curve(100.0 * 1.13 ** i) + draw.gauss(0, 0.001)) for i in range(60)]
    for start in (None, 0.2):
        found = module.fit(points, start)
        for name, truth in (("A", 0.61), ("B", 1.8), ("C_mid", 2500.0), ("R0", 0.2)):
            assert abs(found[name] / truth - 1) < 0.02, (start, name, found)


def the_second_half_is_predicted():
    draw = random.Random(5)
    run = [(150.0 * (i + 1), curve(150.0 * (i + 1)) + draw.gauss(0, 0.002)) for i in range(80)]
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "metrics.jsonl"
        rows = [{"step": i, "timing_s/step": 150.0, "accuracy": r} for i, (_, r) in enumerate(run)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        said = subprocess.run([SCRIPT, path, "--accuracy", "accuracy", "--share", "0.5", "--at", "12000"], capture_output=True, text=True, check=True)
        out = json.loads(said.stdout)
        assert out["points"] == 40 and out["rest"]["points"] == 40, out
        assert out["rest"]["rms"] < 0.006, out
        assert abs(out["predictions"]["12000.0"] - curve(12000)) < 0.01, out
        # A line of the points so far would be far off: the curve is what predicts.
        slope = (run[39][1] - run[19][1]) / (run[39][0] - run[19][0])
        assert abs(run[39][1] + slope * (run[79][0] - run[39][0]) - run[79][1]) > 0.05


def what_cannot_be_fitted_is_refused():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "points"
        for text, part in (("1 0.1\n2 0.2\n", "at least 4"), ("0 0.1\n1 0.2\n2 0.3\n3 0.4\n", "above 0"), ("a b c\n", "line 1"), ('{"x": 1}\n', "no point")):
            path.write_text(text)
            said = subprocess.run([SCRIPT, path], capture_output=True, text=True)
            assert said.returncode == 1 and part in said.stderr and "Traceback" not in said.stderr, (text, said)


for test in (known_numbers_are_recovered, the_second_half_is_predicted, what_cannot_be_fitted_is_refused):
    test()
sys.exit(0)
