"""A second model that scores: the bits of any ranks and of a killed run, judges on ranks of their own, reward models, rows that read its component, wrong settings."""
import json
import shutil
import struct

from harness import check, main, metrics, result, sets

LONG = sets(model__max_position_embeddings=160)
SETTINGS = [*LONG, *sets(train__steps=5, eval__after="false", objective__pieces__reward="components", objective__knobs__component_weights='"judge=1"')]
TINY = 354  # characters, bos and eos


def judge(harness, **more):
    """A tiny sorter that rates by the digits it happens to say: bad at judging, but each rating follows from what it reads."""
    folder = harness.work / "judge"
    if not folder.exists():
        harness.ranks(1).train(harness.work / "sorter", *LONG, *sets(run__seed=3, train__steps=0, eval__before="false", eval__after="false"))
        harness.succeed("export", harness.work / "sorter", folder)
    given = {"model": folder, "prompt": "{prompt} {response}", "extract": "regex:[0-9]", "scale": "[0, 9]", "votes": 2, "temperature": 1, "max_new_tokens": 6} | more
    if given.get("kind") == "reward_model":  # which writes nothing
        given = {key: value for key, value in given.items() if key not in ("extract", "scale", "votes", "temperature", "max_new_tokens")}
    return [word for key, value in given.items() for word in ("--set", f"judge.{key}={value}")]


def reward_model(harness):
    """The sorter with a score in place of its head: its lm_head's first row."""
    judge(harness)
    folder = harness.work / "reward_model"
    if folder.exists():
        return folder
    shutil.copytree(harness.work / "judge", folder)
    config = json.loads((folder / "config.json").read_text())
    config["architectures"] = [config["architectures"][0].replace("ForCausalLM", "ForSequenceClassification")]
    (folder / "config.json").write_text(json.dumps(config))
    data = (folder / "model.safetensors").read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header, block = json.loads(data[8 : 8 + length]), data[8 + length :]
    head, width = header.pop("lm_head.weight"), config["hidden_size"]
    begin = head["data_offsets"][0]
    header["score.weight"] = {"dtype": head["dtype"], "shape": [1, width], "data_offsets": [len(block), len(block) + 4 * width]}
    begun = block + block[begin : begin + 4 * width]
    # Rows without the head: what it leaves behind is not named, so the tensors are written anew, end to end.
    kept, place = b"", 0
    for tensor in (t for name, t in header.items() if name != "__metadata__"):
        first, last = tensor["data_offsets"]
        kept, tensor["data_offsets"], place = kept + begun[first:last], [place, place + last - first], place + last - first
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + kept)
    return folder


def run_with(harness, name, *words, ranks=1):
    harness.ranks(ranks).train(harness.work / name, *SETTINGS, *words)
    return harness.work / name


def bits(folder):
    return result(folder)["policy_sha256"], result(folder)["archive_sha256"]


def exported(harness, folder, *words):
    return [json.loads(line) for line in harness.succeed("archive", "export", folder, *words).splitlines()]


def same_bits_wherever_it_judges(harness):
    one = harness.work / "one"
    harness.ranks(1).train(one, *SETTINGS, *judge(harness), keep={3: harness.work / "killed"})
    for name, ranks, words in (
        ("three", 3, sets(run__threads=2)),
        ("own_rank", 3, sets(judge__ranks=1)),
        ("own_ranks", 4, sets(judge__ranks=2)),
        ("apart", 4, sets(run__layout="disaggregated")),
    ):
        folder = run_with(harness, name, *judge(harness), *words, ranks=ranks)
        check(bits(folder) == bits(one), f"other bits on {ranks} ranks ({name}): {harness.run('archive', 'diff', folder, one)[1]}")
    row = metrics(one)[-1]
    check(row["scoring/judge/asked"] == 32 and 0 <= row["perf/judge_known"] <= 1 and row["timing_s/judge"] > 0, row)
    check(0 < row["critic/component/judge/mean"] < 1, row)
    values = {line["components"]["judge"] for line in exported(harness, one, "--purpose", "train")}
    check(len(values) > 5 and all(abs(18 * value - round(18 * value)) < 1e-9 for value in values), f"not means of up to two digits: {values}")
    plain = harness.work / "plain"
    harness.ranks(1).train(plain, *LONG, *sets(train__steps=5, eval__after="false"))
    check(bits(plain)[0] != bits(one)[0], "the judge changes nothing")


def its_identity_is_in_the_archive(harness):
    archive = next((harness.work / "one/archive").glob("train*.h5")).read_bytes()
    for part in (b'"weights_sha256":"', b'"numerics":"fp32_fixed_order"', b'"template_sha256":"', str(harness.work / "judge").encode()):
        check(part in archive, f"{part} is not in the archive")


def a_kill_changes_no_bit(harness):
    folder = harness.work / "killed"
    words = [*SETTINGS, *judge(harness), *sets(run__dir=folder)]
    other = harness.work / "other_judge"
    shutil.copytree(harness.work / "judge", other)
    code, _, err, _ = harness.run("train", harness.tiny, *words, "--resume", *sets(judge__model=reward_model(harness), judge__kind="reward_model"))
    check(code == 2 and "judge.kind is" in err, err)
    weights = bytearray((other / "model.safetensors").read_bytes())
    weights[-1] ^= 1
    (other / "model.safetensors").write_bytes(weights)
    code, _, err, _ = harness.run("train", harness.tiny, *words, "--resume", *sets(judge__model=other))
    check(code == 2 and "is not the one that the run began with" in err, err)
    moved = harness.work / "judge_moved"
    shutil.copytree(harness.work / "judge", moved)
    harness.ranks(3).train(folder, *words, "--resume", *sets(judge__model=moved, judge__ranks=1))  # as long as its weights are the same
    check(bits(folder) == bits(harness.work / "one"), harness.run("archive", "diff", folder, harness.work / "one")[1])


def score_says_what_the_run_was_told(harness):
    lines = [line for line in exported(harness, harness.work / "one", "--purpose", "train") if not line["undecided"] and "\ufffd" not in line["completion"]][:60]
    asked = "".join(json.dumps({"prompt": line["prompt"], "response": line["completion"], "answer": line["reference"]}) + "\n" for line in lines)
    answered = harness.succeed("score", "-", "--judge", harness.work / "one/config.toml", "--threads", "2", input=asked)
    told = [json.loads(line) for line in answered.splitlines()]
    check([line["score"] for line in told] == [line["components"]["judge"] for line in lines], "score and archive differ")
    check(all(line["verdict"] == ("correct" if line["score"] > 0.5 else "wrong") for line in told), told[0])
    for words, part in (
        (["--judge", harness.tiny], "judge.model of"),
        (["--judge", harness.tiny, "--verifier", "exact_match"], "one of --verifier, --command and --judge"),
        ([], "one of --verifier, --command and --judge"),
    ):
        code, _, err, _ = harness.run("score", "-", *words, input=asked)
        check(code == 2 and part in err, err)


def rescore_says_it_again(harness):
    """What each run was told, whatever its ranks; another judge and a verifier beside it."""
    for name in ("one", "three"):
        folder, before = harness.work / name, bits(harness.work / name)
        judge_file = folder / "config.toml"
        harness.succeed("archive", "rescore", folder, "--judge", judge_file, "--purpose", "train", "--threads", "2")
        stored, again = (exported(harness, folder, "--purpose", "train", *words) for words in ([], ["--scores", "judge"]))
        pairs = [(old, new) for old, new in zip(stored, again, strict=True) if not old["undecided"]]
        check(len(pairs) > 60 and all(new["components"] == {"judge": old["components"]["judge"]} for old, new in pairs), pairs[:2])
        check(all(new["reward"] == new["components"]["judge"] and new["correct"] == (new["reward"] > 0.5) for new in again if not new["undecided"]), again[0])
        check(bits(folder) == before, "the archive was changed")
        written = (folder / "rescored/judge/train.h5").read_bytes()
        check(b'"weights_sha256":"' in written and str(harness.work / "judge").encode() in written, "the judge is not named")
        harness.succeed("archive", "rescore", folder, "--verifier", "exact_match", "--purpose", "train")
        check(b"weights_sha256" not in (folder / "rescored/exact_match/train.h5").read_bytes(), "a verifier's verdicts name a judge")
    words = [word for key, value in {"model": reward_model(harness), "kind": "reward_model", "component": "liking"}.items() for word in ("--set", f"judge.{key}={value}")]
    out = harness.succeed("archive", "rescore", folder, "--judge", judge_file, *words, "--purpose", "train", "--name", "liking")
    check(" 1.0000" in out.splitlines()[-3], out)  # its scores are no verdicts, so the stored ones stand
    liking = exported(harness, folder, "--purpose", "train", "--scores", "liking")
    check([line["correct"] for line in liking] == [line["correct"] for line in stored] and len({line["components"]["liking"] for line in liking}) > 20, liking[0])
    for words, part in (
        (["--judge", harness.tiny, "--name", "x"], "judge.model of"),
        (["--judge", harness.work / "nowhere.toml", "--name", "x"], "nowhere.toml"),
        (["--judge", judge_file], "already exists"),
        (["--judge", judge_file, "--verifier", "exact_match"], "several of --verifier, --command and --judge"),
        (["--verifier", "exact_match", "--name", "x", "--set", "judge.votes=2"], "--set requires --judge"),
        (["--judge", judge_file, "--name", "x", "--set", "judge.extract=yes_on"], "did you mean yes_no"),
    ):
        code, _, err, _ = harness.run("archive", "rescore", folder, *words)
        check(code == 2 and part in err and not (folder / "rescored/x").exists(), f"{words}: {code}\n{err}")


def reward_models_score_too(harness):
    words = judge(harness, model=reward_model(harness), kind="reward_model")
    one, three = (run_with(harness, f"rewarded_{ranks}", *words, ranks=ranks) for ranks in (1, 3))
    check(bits(one) == bits(three), "other bits on three ranks")
    values = {line["components"]["judge"] for line in exported(harness, one, "--purpose", "train")}
    check(len(values) > 20 and (min(values) < 0 or max(values) > 1), f"scores look like verdicts: {sorted(values)[:3]}")


def rows_read_its_component(harness):
    """The row's reward from the archive's columns, by its formula, is what the update reports."""
    quick = [*LONG, *sets(train__steps=2, eval__before="false", eval__after="false")]
    for recipe, component, extra, reward in (
        ("fapo", "sound", {"asked": "correct"}, lambda c: 2 * c["correct"] - 1 - (c["correct"] > 0 and c["sound"] <= 0)),
        ("spell", "votes", {"votes": 8, "extract": "regex:[0-9]", "scale": "[0, 9]"}, lambda c: float(c["correct"] > 0 or c["votes"] > 0.5)),
    ):
        folder = harness.work / recipe
        harness.ranks(1).train(folder, *quick, *judge(harness, component=component, **extra), *sets(objective__recipe=recipe, task__format_weight=0))
        row = metrics(folder)[0]
        lines = [line for line in exported(harness, folder, "--purpose", "train", "--step", "1") if not line["undecided"]]
        mean = sum(reward(line["components"]) - line["reward"] for line in lines) / len(lines)
        piece = "flawed" if recipe == "fapo" else "rule_or_votes"
        check(abs(row[f"critic/shaping/{piece}/mean"] - mean) < 1e-9, f"{recipe}: {row[f'critic/shaping/{piece}/mean']} and not {mean}")
        check(f"critic/component/{component}/mean" in row, row)
        code, _, err, _ = harness.run("train", harness.tiny, *quick, *sets(run__dir=harness.work / "refused", objective__recipe=recipe))
        check(code == 2 and f"reads component/{component}, which neither exact_match nor a judge fills" in err, err)


def answers_are_compared_in_pairs(harness):
    """Rates of wins of a prompt's answers have the mean 1/2, and the same bits wherever they are made."""
    words = [*LONG, *sets(train__steps=1, train__prompts_per_step=12, train__rollouts_per_prompt=2, scheduler__policy="uniform", task__format_weight=0, eval__before="false", eval__after="false",
                          objective__recipe="inpo", objective__pieces__reward="components", objective__knobs__omit_components='"correct, format"'),
             *judge(harness, component="wins", prompt="{prompt} {response} or {other}", votes=1)]
    folders = [harness.work / f"pairs_{ranks}" for ranks in (1, 3)]
    for ranks, folder in zip((1, 3), folders):
        harness.ranks(ranks).train(folder, *words, *(sets(judge__ranks=1) if ranks > 1 else []))
    check(bits(folders[0]) == bits(folders[1]), "other bits on three ranks")
    groups = {}
    for line in exported(harness, folders[0], "--purpose", "train"):
        groups.setdefault((line["prompt_id"], line["draw"]), []).append(line)
    whole = [[line["components"]["wins"] for line in group] for group in groups.values() if not any(line["undecided"] for line in group)]
    check(all(0 <= rate <= 1 for group in whole for rate in group), f"rates of wins {whole}")
    # where all verdicts could be read
    check(any(len(set(group)) > 1 and abs(sum(group) / len(group) - 0.5) < 1e-9 for group in whole), f"the mean of no group's rates is 1/2: {whole}")
    file = harness.work / "pairs.toml"
    file.write_text(f'[judge]\nmodel = "{harness.work / "judge"}"\nprompt = "{{response}} {{other}}"\n')
    code, _, err, _ = harness.run("archive", "rescore", folders[0], "--judge", file, "--name", "x")
    check(code == 2 and "has {other}" in err, err)


def wrong_settings(harness):
    empty = harness.work / "empty"
    empty.mkdir()
    narrow = harness.work / "narrow"
    shutil.copytree(harness.work / "judge", narrow)
    (narrow / "config.json").write_text((narrow / "config.json").read_text().replace("ForCausalLM", "ForTokenClassification"))
    for wrong, part in (
        ({"model": "/nowhere"}, "/nowhere"),
        ({"model": empty}, "config.json"),
        ({"model": narrow}, "ForTokenClassification"),
        ({"kind": "reward_model"}, "a reward model is a sequence classifier with one label"),
        ({"model": reward_model(harness)}, "judge.kind is judge, and"),
        ({"model": reward_model(harness), "kind": "reward_model", "prompt": '""'}, "has no chat template"),
        ({"prompt": "is it right?"}, "without {response} every answer would be judged alike"),
        ({"model": reward_model(harness), "kind": "reward_model", "prompt": "is {response} or {other}"}, "a reward model scores one answer"),
        ({"extract": "yes_on"}, "did you mean yes_no"),
        ({"scale": "[1]"}, "judge.scale is [1]"),
        ({"temperature": 0}, "all votes would be the same"),
        ({"kind": "critic"}, "valid are judge, reward_model"),
        ({"component": "format"}, "judge.component is format, and exact_match has a component of that name"),
        ({"ranks": 1}, "judge.ranks is 1, and the job has 1 ranks"),
        ({"modell": "x"}, "did you mean judge.model"),
    ):
        words = judge(harness, **wrong)
        folder = harness.work / "refused"
        code, _, err, _ = harness.run("train", harness.tiny, *SETTINGS, *words, *sets(run__dir=folder))
        check(code == 2 and part in err and len([line for line in err.splitlines() if line.startswith("rollcall:")]) == 1 and not folder.exists(), f"{wrong}: {code}\n{err}")
    code, _, err, _ = harness.run("train", harness.tiny, *sets(run__dir=harness.work / "refused", judge__ranks=1))
    check(code == 2 and "judge.ranks is 1, but judge.model is empty" in err, err)


main(same_bits_wherever_it_judges, its_identity_is_in_the_archive, a_kill_changes_no_bit, score_says_what_the_run_was_told, rescore_says_it_again,
     reward_models_score_too, rows_read_its_component, answers_are_compared_in_pairs, wrong_settings)
