"""scripts/same_recipes on a dozen rows of a tiny run: rows that end with another's weights are named unless a reason says why. Its long form trains every row."""
import importlib.machinery
import importlib.util
import subprocess
import sys

from harness import LIMIT_S, check, main

# Two of each reason, and rows that part from them by advantage, ratio, surrogate, weight, aggregate, regularizer or data of their own.
ROWS = ("grpo", "decoupled_token_is", "gspo", "gspo_token", "dr_grpo", "dapo", "cispo", "minpro", "kl_cov", "nft", "chord", "topr")


def script(harness):
    path = str(harness.source / "scripts/same_recipes")
    sys.path.insert(0, str(harness.source / "scripts"))
    loader = importlib.machinery.SourceFileLoader("same_recipes", path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("same_recipes", loader))
    loader.exec_module(module)
    return module


def rows_part_or_have_a_reason(harness):
    words = [sys.executable, harness.source / "scripts/same_recipes", *ROWS, "--jobs", 2, "--binary", harness.binary, "--run-file", harness.tiny]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=LIMIT_S)
    check(done.returncode == 0 and not done.stderr and f"{len(ROWS)} of {len(ROWS)} rows trained, {len(ROWS) - 2} ends, 0 to look at" in done.stdout, f"{done.stdout}\n{done.stderr}")


def a_row_that_is_another_is_named(harness):
    judge = script(harness).judge
    check(judge({"grpo": "a", "dapo": "b"}, {}) == [], "rows that part are named")
    check(judge({"grpo": "a", "mis": "a"}, {}) == [], "a reason is not taken")
    found = judge({"grpo": "a", "mis": "a", "dapo": "a"}, {})
    check(len(found) == 1 and "grpo, mis, dapo end with the same weights" in found[0], found)
    found = judge({"gspo": "a", "gspo_token": "b"}, {})
    check(len(found) == 1 and "gspo_token and gspo end with other weights" in found[0], found)
    check(judge({}, {"rlpt": "no file"}) == ["rlpt does not train: no file"], "a row that does not train is not named")


main(rows_part_or_have_a_reason, a_row_that_is_another_is_named)
