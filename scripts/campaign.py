"""Many short runs of the program from one warm start, and the drawing of what came of them: for scripts/train_recipes and the studies in jobs/studies.

A finished run is kept as one small file and not repeated, unless its key (run file, settings) has changed; a run that was killed goes on from its checkpoint."""
import argparse
import collections
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def parser(description, run_file, runs, out, seeds):
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--binary", default=str(ROOT / "build/release/bin/rollcall"), help="the program")
    made.add_argument("--run-file", default=str(run_file), help="what to train on")
    made.add_argument("--runs", type=pathlib.Path, default=runs, help="folder of the runs")
    made.add_argument("--out", type=pathlib.Path, default=out, help="folder of table and picture")
    made.add_argument("--seeds", type=int, default=seeds, help="runs of a row, at most")
    made.add_argument("--jobs", type=int, default=os.cpu_count(), help="runs at a time, one thread each")
    made.add_argument("--table-only", action="store_true", help="train nothing, write the table of the runs there are")
    return made


Ended = collections.namedtuple("Ended", "returncode stdout stderr core_s")


class Campaign:
    """`limit_s`: a run that takes longer hangs, and has failed."""

    def __init__(self, args, limit_s):
        self.name = pathlib.Path(sys.argv[0]).name
        self.binary, self.run_file, self.runs, self.limit_s = os.path.abspath(args.binary), os.path.abspath(args.run_file), args.runs.resolve(), limit_s
        self.jobs, self.seeds = args.jobs, range(1, args.seeds + 1)
        self.runs.mkdir(parents=True, exist_ok=True)
        self.text = pathlib.Path(self.run_file).read_text()

    def start(self, *words):
        """Return code, standard output and error, and core seconds: of a run with one thread the wall clock of an idle core."""
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
            running = subprocess.Popen([self.binary, *map(str, words)], cwd=self.runs, stdout=out, stderr=err, stdin=subprocess.DEVNULL)
            limit = threading.Timer(self.limit_s, running.kill)
            limit.start()
            _, status, usage = os.wait4(running.pid, 0)
            late = not limit.is_alive()
            limit.cancel()
            running.returncode = os.waitstatus_to_exitcode(status)
            if late:
                raise subprocess.TimeoutExpired(running.args, self.limit_s)
            out.seek(0), err.seek(0)
            return Ended(running.returncode, out.read(), err.read(), usage.ru_utime + usage.ru_stime)

    def ask(self, *words):
        done = self.start(*words)
        if done.returncode != 0:
            sys.exit(f"{self.name}: rollcall {' '.join(map(str, words))} ended with {done.returncode}:\n{done.stderr}")
        return done.stdout

    def prepare(self, folders, make, beside=""):
        """Makes what all runs start from, unless the run file, and what is set `beside` it, are those of last time. The run file's [sft] section: sft.steps is 0 in the
        runs themselves."""
        stamp, wanted = self.runs / "warm_start.toml", self.text + (f"# {beside}\n" if beside else "")
        if stamp.exists() and stamp.read_text() == wanted:
            return
        for folder in folders:
            shutil.rmtree(self.runs / folder, ignore_errors=True)
        make()
        stamp.write_text(wanted)

    def key(self, *parts):
        return hashlib.sha256("\n".join([self.text, *parts]).encode()).hexdigest()

    def record(self, label, key):
        """The finished run, or None."""
        path = self.runs / f"{label}.json"
        found = json.loads(path.read_text()) if path.exists() else {"key": None}
        return found if found["key"] == key else None

    def train(self, label, key, settings, outcome, init_from="warm_start"):
        """Trains, keeps `outcome(run folder)` or the failure, and removes the run folder."""
        folder, stamp = self.runs / label, self.runs / f"{label}.key"
        if not (stamp.exists() and stamp.read_text() == key):
            shutil.rmtree(folder, ignore_errors=True)
            stamp.write_text(key)
        began = time.monotonic()
        record = {"key": key}
        try:
            done = self.start("train", self.run_file, "--resume", "--start-if-none", "--init-from", init_from, *(f"--set={s}" for s in [f"run.dir={label}", "sft.steps=0", *settings]))
            if done.returncode == 0:
                record |= {"core_s": done.core_s, **outcome(folder)}
            else:
                record["failure"] = (done.stderr.strip().splitlines() or ["no message"])[-1].removeprefix("rollcall: ")
        except subprocess.TimeoutExpired:
            record["failure"] = f"no end after {self.limit_s} s"
        record["seconds"] = time.monotonic() - began
        (self.runs / f"{label}.json").write_text(json.dumps(record, indent=1) + "\n")
        shutil.rmtree(folder, ignore_errors=True)
        stamp.unlink()
        return record

    def progress(self, todo, wanted, train, told):
        """train(row, seed) of everything in `todo`, told(record) after each."""
        print(f"{self.name}: {len(todo)} of {wanted} runs to do, {self.jobs} at a time", flush=True)
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            running = {pool.submit(train, row, seed): (row, seed) for row, seed in todo}
            for count, future in enumerate(concurrent.futures.as_completed(running), 1):
                (row, seed), record = running[future], future.result()
                left = (time.monotonic() - began) / count * (len(todo) - count)
                what = record.get("failure") or told(record)
                print(f"[{count}/{len(todo)}] {row} seed {seed}: {what} ({record['seconds']:.1f} s), {left / 60:.0f} min left", flush=True)


def result_of(folder):
    """result.json, and the metrics of the training steps."""
    steps = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return json.loads((folder / "result.json").read_text()), [step for step in steps if step["phase"] == "train"]


def bootstrap(values, resamples=4_000, seed=1):
    """Mean, and the 95 % percentile interval of the means of resamples (Efron 1979)."""
    stream = random.Random(seed)
    means = sorted(statistics.fmean(stream.choices(values, k=len(values))) for _ in range(resamples))
    return statistics.fmean(values), means[int(0.025 * resamples)], means[int(0.975 * resamples) - 1]


def t_tail(t, freedom, steps=2_000):
    """Chance that Student's t with so many degrees of freedom lies further from 0 than t: Simpson's rule over the angle atan(t / sqrt(freedom))."""
    angle = math.atan(abs(t) / math.sqrt(freedom))
    width = (math.pi / 2 - angle) / steps
    heights = [math.cos(angle + i * width) ** (freedom - 1) for i in range(steps + 1)]
    area = width / 3 * (heights[0] + heights[-1] + 4 * sum(heights[1:-1:2]) + 2 * sum(heights[2:-1:2]))
    return min(1.0, 2 * area * math.gamma((freedom + 1) / 2) / math.gamma(freedom / 2) / math.sqrt(math.pi))


def t_interval(values, share=0.95):
    """Mean, ends of its t interval, and the two-sided p of a mean of 0 (Student 1908). One value, or equal ones, say nothing: an infinite interval, p 1."""
    mean, n = statistics.fmean(values), len(values)
    error = statistics.stdev(values) / math.sqrt(n) if n > 1 else 0.0
    if error == 0.0:
        return mean, -math.inf, math.inf, 1.0
    low, high = 0.0, 1e4
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, n - 1) > 1 - share else (low, middle)
    return mean, mean - high * error, mean + high * error, t_tail(mean / error, n - 1)


def holm(p):
    """name -> p to name -> p corrected for asking all of them (Holm 1979)."""
    corrected, least = {}, 0.0
    for rank, name in enumerate(sorted(p, key=p.get)):
        corrected[name] = least = max(least, min(1.0, (len(p) - rank) * p[name]))
    return corrected


INK, SOFT, GRID, BLUE, GREEN, GREY, RED = "#1b1f27", "#5c6573", "#e1e4ea", "#3b6fd4", "#17803d", "#8a929e", "#b42323"


def svg(width, height, about, title, subtitles, body):
    """A sheet with a heading; `about` is a comment for readers of the file."""
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            'font-family="system-ui, Segoe UI, Roboto, Arial, sans-serif" font-size="11">', f"<!-- {about} -->",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>', f'<text x="16" y="24" font-size="16" font-weight="600" fill="{INK}">{title}</text>']
    head += [f'<text x="16" y="{43 + 14 * line}" fill="{SOFT}">{text}</text>' for line, text in enumerate(subtitles)]
    return "\n".join([*head, *body, "</svg>"]) + "\n"


class Panel:
    """A horizontal axis over lines of dots with intervals."""

    def __init__(self, left, width, low, high, top, bottom):
        self.left, self.low, self.scale, self.top, self.bottom = left, low, width / (high - low), top, bottom
        self.high = high

    def x(self, value):
        return f"{self.left + (value - self.low) * self.scale:.1f}"

    def axis(self, step, digits=1, signed=True):
        out = []
        for tick in range(int(self.low / step) - 1, int(self.high / step) + 2):
            if self.low <= tick * step <= self.high:
                label = f"{tick * step:{'+' if signed else ''}.{digits}f}" if tick or not signed else "0"
                out.append(f'<line x1="{self.x(tick * step)}" x2="{self.x(tick * step)}" y1="{self.top - 8}" y2="{self.bottom}" stroke="{SOFT if tick == 0 else GRID}"/>')
                out.append(f'<text x="{self.x(tick * step)}" y="{self.top - 13}" text-anchor="middle" fill="{SOFT}">{label}</text>')
        return out

    def reference(self, value):
        return f'<line x1="{self.x(value)}" x2="{self.x(value)}" y1="{self.top - 8}" y2="{self.bottom}" stroke="{BLUE}" stroke-dasharray="3 3"/>'

    def interval(self, y, value, low, high, colour, radius=1.9):
        return (f'<line x1="{self.x(low)}" x2="{self.x(high)}" y1="{y:.1f}" y2="{y:.1f}" stroke="{colour}" stroke-opacity="0.45"/>'
                f'<circle cx="{self.x(value)}" cy="{y:.1f}" r="{radius}" fill="{colour}"/>')
