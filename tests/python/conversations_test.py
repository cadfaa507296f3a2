"""The package rollcall on a run of conversations: what was said in each turn."""

import references

references.enter()

from harness import check, main, sets  # noqa: E402

import rollcall  # noqa: E402


def conversations_have_the_words_of_each_turn(harness):
    folder = harness.work / "doors"
    talk = sets(
        task__name="key_door",
        task__min_level=2,
        task__max_level=2,
        task__format_weight=0,
        train__steps=2,
        model__max_position_embeddings=128,
        sampling__max_new_tokens=18,
        sampling__turn_tokens=6,
        environment__max_turns=3,
    )
    harness.train(folder, *talk)
    run = rollcall.open(folder).select("train", last_step=1)
    said = rollcall.turn_texts(run, harness.binary)
    check(
        len(said) == len(run.turns) > 0 and {turn["step"] for turn in said} == {1},
        f"{len(said)} texts of {len(run.turns)} turns",
    )
    check(
        [turn["role"] for turn in said]
        == [("prompt", "policy", "environment")[role] for role in run.turns["role"]],
        "other turns",
    )
    told = [
        (turn["text"], length)
        for turn, length in zip(said, run.turns["token_count"])
        if turn["role"] == "environment"
    ]
    check(
        all(len(text) == length for text, length in told) and len({text for text, _ in told}) > 1,
        f"not a character for each token: {told[:8]}",
    )
    single = harness.work / "single"
    harness.train(single, *sets(sft__steps=2, train__steps=1))
    told = rollcall.turn_texts(rollcall.open(single), harness.binary)
    check(told == [], f"single answers are no conversations: {told[:2]}")


main(conversations_have_the_words_of_each_turn)
