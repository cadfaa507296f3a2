"""Breaks a copy of some sources one way at a time and expects a checking script to name each breach."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]


def report(script, root):
    run = subprocess.run([sys.executable, ROOT / "scripts" / script, root], capture_output=True, text=True, check=False)
    return run.returncode, run.stdout


def unnoticed(script, parts, breaches):
    """Number of breaches (file, what to replace, by what, what the report must say) of a copy of `parts` that `script` did not name."""
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder)
        for part in parts:
            shutil.copytree(ROOT / part, copy / part)
        code, text = report(script, copy)
        if code != 0:
            print("the unbroken tree is refused:", text)
            failures += 1
        for path, old, new, expected in breaches:
            whole = (copy / path).read_text()
            assert old in whole, f"{path} no longer holds {old!r}: bring this test up to date"
            (copy / path).write_text(whole.replace(old, new, 1))
            code, text = report(script, copy)
            if code == 0 or expected not in text:
                print(f"{path}: {old!r} -> {new!r} was not noticed:\n{text}")
                failures += 1
            (copy / path).write_text(whole)
    print(f"{script}: {len(breaches)} breaches, {failures} unnoticed")
    return failures
