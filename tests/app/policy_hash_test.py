"""The policy of a short run, per numerics and maker of processor: on one maker it never changes unnoticed, whatever instructions are used, and all makers seen so far agree."""
import json
import re

from harness import check, main, policy_line, sets

NUMERICS = ("fp32_fixed_order", "bf16_sliced8")
# Two mini-batches, so that the second one's ratios are not 1 and the objective's exponentials count.
SHORT = sets(sft__steps=20, train__steps=3, train__mini_batches=2)
RECORD = "tests/app/policy_hashes.json"


def maker():
    with open("/proc/cpuinfo", encoding="utf-8") as info:
        found = re.search(r"^(?:vendor_id|CPU implementer)\s*:\s*(\S+)", info.read(), re.MULTILINE)
    check(found, "/proc/cpuinfo names no maker")
    return found[1]


def recorded(harness):
    return json.loads((harness.source / RECORD).read_text())


def policy(harness, name, numerics, **env):
    line = policy_line(harness.train(harness.work / name, *SHORT, *sets(run__numerics=numerics), env=env))
    return line.removeprefix("policy sha256 ")


def the_policy_is_the_recorded_one(harness):
    """On a maker that is not recorded yet it must be the one that all others agree on."""
    mine = maker()
    for numerics in NUMERICS:
        known, seen = recorded(harness)[numerics], policy(harness, numerics, numerics)
        expected = known.get(mine, next(iter(known.values())))
        check(seen == expected,
              f"{numerics} on {mine}: the policy is {seen}, recorded is {expected} ({', '.join(known)}). If a change of what a run computes is meant, say so in the changelog and record "
              f"the new one in {RECORD}; if nothing was to change, compiler, LibTorch or C library compute something else here")


def makers_agree(harness):
    for numerics, known in recorded(harness).items():
        check(len(set(known.values())) == 1, f"{numerics}: the makers' policies differ: {known}")


def instructions_do_not_matter(harness):
    """LibTorch evaluates the objective with the widest vectors it finds."""
    for numerics in NUMERICS:
        names = re.search(rf"{numerics}: \w+ of (.*)", harness.succeed("doctor"))[1].split(", ")
        seen = {}
        for capability in ("default", "avx2"):
            seen[f"LibTorch {capability}"] = policy(harness, f"{numerics}_libtorch_{capability}", numerics, ATEN_CPU_CAPABILITY=capability)
        for name in {names[0], names[-1]}:
            seen[f"kernels {name}"] = policy(harness, f"{numerics}_{name}", numerics, ROLLCALL_KERNELS=name)
        check(len(set(seen.values())) == 1, f"{numerics}: policies by instructions: {seen}")


main(the_policy_is_the_recorded_one, makers_agree, instructions_do_not_matter)
