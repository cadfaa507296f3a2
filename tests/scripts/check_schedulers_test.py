#!/usr/bin/env python3
"""Does scripts/check_schedulers notice? Breaks a copy of the sources one way at a time and expects each breach to be named."""
import sys

from breaches import unnoticed

SCHEDULING, TESTS = "src/scheduling", "tests/scheduling"

# (file, what to replace, by what, what the report must say)
BREACHES = [
    (f"{SCHEDULING}/schedulers.cpp", '{"pcl",', '{"pcl2",', "schedulers.cpp has pcl2, METHODS.md has not"),
    (f"{SCHEDULING}/schedulers.cpp", '"1.25"', '"1.5"', "greso: schedulers.cpp says"),
    (f"{SCHEDULING}/schedulers.cpp", '"uniform", "knapsack"', '"uniform", "rucksack"', "knapsack: there is no allocator rucksack"),
    (f"{SCHEDULING}/METHODS.md", "arXiv:2509.25849 (2025)", "arXiv:2509.25848 (2025)", "knapsack: schedulers.cpp says"),
    (f"{SCHEDULING}/METHODS.md", "- Test: `Ucb`: three", "- three", "ucb: no line '- Test: ...'"),
    (f"{SCHEDULING}/METHODS.md", "- Complete: yes.", "- Complete: partly, lacks a second half.", "schedulers.cpp says"),
    (f"{SCHEDULING}/METHODS.md", "- Traits: capped at refill_rounds", "- Traits: exact, not capped at refill_rounds", "dapo: METHODS.md gives the trait 'exact'"),
    (f"{SCHEDULING}/METHODS.md", "- Traits: exact.\n- Complete: partly, lacks the paper's schedule", "- Traits: capped.\n- Complete: partly, lacks the paper's schedule", "adhint: METHODS.md gives the trait 'capped'"),
    (f"{SCHEDULING}/METHODS.md", "| selection | `max_variance` |", "| selection | `max_spread` |", "selection table of pieces.cpp has max_variance, METHODS.md has not"),
    (f"{SCHEDULING}/pieces.cpp", '  {"pairs",', '  {"couples",', "wgrpo: there is no sampler pairs"),
    (f"{SCHEDULING}/pieces.cpp", '  {"pairs",', '  {"couples",', "sampler couples: no row uses it"),
    (f"{SCHEDULING}/rounds/make_up.hpp", "// The rounds `make_up`", "// The rounds", "rounds make_up: no header of src/scheduling/rounds names it"),
    (f"{TESTS}/works_when/budgets_test.cpp", "TEST(DarsHw,", "TEST(Dars,", "dars_hw: there is no test suite DarsHw"),
]


if __name__ == "__main__":
    sys.exit(1 if unnoticed("check_schedulers", (SCHEDULING, TESTS), BREACHES) else 0)
