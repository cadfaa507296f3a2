"""One policy and one archive, whoever hosts what: every layout at 1, 3, 4 and 6 ranks ends with the same bits."""
from harness import check, main, metrics, policy_line, result, sets

LAYOUTS = [(1, "single"), (1, "colocated"), (3, "colocated"), (4, "colocated"), (4, "disaggregated"), (6, "colocated"), (6, "disaggregated")]
SMALL = sets(sft__steps=20, train__steps=4)


def layouts_agree(harness):
    ends = {}
    for ranks, layout in LAYOUTS:
        folder = harness.work / f"{layout}_{ranks}"
        out = harness.train(folder, *SMALL, *sets(run__layout=layout), ranks=ranks)
        rows = metrics(folder)
        check(len(rows) == 4, f"{layout} on {ranks} ranks: {len(rows)} training rows, not 4")
        for row in rows:
            name = f"{layout} on {ranks} ranks, step {row['step']}"
            check(row["actor/ratio_min"] == 1 == row["actor/ratio_max"], f"{name}: ratio in [{row['actor/ratio_min']}, {row['actor/ratio_max']}], not exactly 1")
        check(any(row["actor/grad_norm"] > 0 for row in rows), f"{layout} on {ranks} ranks: no step moved the weights, so equal bits say nothing")
        end = result(folder)
        check(policy_line(out) == f"policy sha256 {end['policy_sha256']}", f"{layout} on {ranks} ranks: the printed line is not that of result.json")
        ends[f"{layout} on {ranks} ranks"] = end["policy_sha256"], end["archive_sha256"]
    check(len(set(ends.values())) == 1, "policies or archives differ (policy sha256, archive sha256):\n" + "\n".join(f"{k}: {v}" for k, v in ends.items()))


main(layouts_agree)
