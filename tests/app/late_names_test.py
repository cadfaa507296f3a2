"""On a file system that shows a node late what another has made, a run waits a little and ends with the same bits; run.dir that nodes do not share is refused."""
import os

from harness import check, main, result, sets

SETTINGS = sets(train__steps=3, sft__steps=5, eval__before="false", archive__pack_every=2, checkpoint__every=1)
LATE_S = 0.3


def late_names_change_nothing(harness):
    reference = harness.work / "reference"
    harness.train(reference, *SETTINGS)
    for layout, ranks in (("colocated", 3), ("disaggregated", 4)):
        folder, count = harness.work / layout, harness.work / f"{layout}.count"
        late = {"LD_PRELOAD": os.environ["ROLLCALL_LATE_LIBRARY"], "ROLLCALL_LATE_S": str(LATE_S), "ROLLCALL_LATE_COUNT": str(count)}
        harness.train(folder, *SETTINGS, *sets(run__layout=layout), ranks=ranks, env=late)
        for key in ("policy_sha256", "archive_sha256"):
            check(result(folder)[key] == result(reference)[key], f"{layout}: {key} differs")
        in_vain = [int(line) for line in count.read_text().split()]
        check(len(in_vain) > 1 and sum(in_vain) > 20, f"{layout}: names were hidden {in_vain} times: nothing was tried")


main(late_names_change_nothing)
