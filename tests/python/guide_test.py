"""The page docs/guide/python.md: its blocks run one after another, as a notebook would run them."""

import contextlib
import io
import os
import re

import references

references.enter()

from harness import check, main, sets  # noqa: E402


def the_page_runs(harness):
    page = (harness.source / "docs/guide/python.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.S | re.M)
    check(len(blocks) == 6, f"the page has {len(blocks)} blocks")
    harness.train(harness.work / "runs/quickstart", *sets(eval__every=3))
    (harness.work / "own.toml").write_text((harness.source / "tests/app/tiny.toml").read_text())
    os.chdir(harness.work)
    os.environ["PATH"] = f"{os.path.dirname(harness.binary)}:{os.environ['PATH']}"
    scope, printed = {}, []
    for number, block in enumerate(blocks):
        out = io.StringIO()
        try:
            with contextlib.redirect_stdout(out):
                exec(compile(block, f"docs/guide/python.md, block {number}", "exec"), scope)
        except Exception as error:
            raise AssertionError(
                f"block {number} ends with {type(error).__name__}: {error}\n{block}"
            ) from error
        printed.append(out.getvalue())
    check("done 6 0.001" in printed[0] and "pass_rate" in printed[0], printed[0])
    check(
        len(scope["rollouts"]) == len(scope["reward"]) > len(scope["trained"].rollouts) == 3 * 32,
        printed[1],
    )
    check(scope["tokens"].step.nunique() == 6 and scope["data"].sizes["component"] == 2, printed[2])
    check(
        printed[4].startswith("1 ") and "\nstopped\n" in printed[4] and "\ndone " in printed[4],
        printed[4],
    )
    check(printed[3] == "", f"words of conversations in a run without any: {printed[3]}")
    check(printed[5].strip() == "[('correct', '\\\\frac{2}{4}'), ('wrong', '3')]", printed[5])


main(the_page_runs)
