"""Model folders in and out: what an export holds and says of its origin, what a run keeps of the folder it began from, and log-probs as a filter."""
import array
import json
import math
import shutil
import struct
import subprocess

from harness import check, main, policy_line, result, sets

MISCONFIGURED = 2
TEXTS = {"generation_config.json": '{"eos_token_id": [353, 351], "temperature": 0.6}', "chat_template.jinja": "{{ messages }}", "LICENSE": "free"}


def finished(harness):
    folder = harness.work / "finished"
    if not folder.exists():
        harness.train(folder)
    return folder


def tensors(folder):
    """Header of model.safetensors."""
    with open(folder / "model.safetensors", "rb") as file:
        return json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))


def exports_say_where_they_are_from(harness):
    run, out = finished(harness), harness.work / "exported"
    said = harness.succeed("export", run, out)
    metadata = tensors(out)["__metadata__"]
    check(metadata == {"format": "pt", "run": "finished", "step": "6", "checkpoint": "done_000006", "policy_sha256": result(run)["policy_sha256"]},
          f"metadata: {metadata}")
    check(metadata["policy_sha256"] in policy_line(said), "the digest of the metadata is not the one printed")
    _, _, err, _ = harness.run("export", run, out)
    check("already holds a model" in err, f"an export was overwritten:\n{err}")
    (out / "tokenizer.json").write_text("another model's")
    harness.succeed("export", run, out, "--force")
    check(not (out / "tokenizer.json").exists(), "another model's tokenizer stays beside the weights")
    half = harness.work / "half"
    harness.succeed("export", run, half, "--dtype", "bf16")
    header = tensors(half)
    check({entry["dtype"] for name, entry in header.items() if name != "__metadata__"} == {"BF16"}, "an export in bf16 has other tensors")
    check(json.loads((half / "config.json").read_text())["torch_dtype"] == "bfloat16", "config.json speaks of another dtype")
    harness.succeed("generate", half, "21", *sets(sampling__max_new_tokens=6))


def a_run_keeps_the_text_files_of_its_model(harness):
    source, run, out = harness.work / "source", harness.work / "from_folder", harness.work / "out"
    harness.succeed("export", finished(harness), source)
    for name, text in TEXTS.items():
        (source / name).write_text(text)
    harness.train(run, *sets(model__path=source, train__steps=1, sft__steps=0))
    shutil.rmtree(source)
    said = harness.succeed("export", f"{run}@1", out)
    check(f"from {run}/tokenizer" in said, f"export does not say where the tokenizer is from:\n{said}")
    check({name: (out / name).read_text() for name in TEXTS} == TEXTS, "the text files did not come along")
    check(json.loads((out / "config.json").read_text())["eos_token_id"] == [353, 351], "the end tokens of generation_config.json are lost")
    shutil.rmtree(run / "tokenizer")
    harness.succeed("export", run, harness.work / "bare")  # a built-in tokenizer needs no files
    check(not (harness.work / "bare/tokenizer.json").exists(), "a tokenizer came from nowhere")
    settings = (run / "config.toml").read_text()
    check(settings.count('tokenizer = "character"') == 1, "config.toml names another tokenizer")
    (run / "config.toml").write_text(settings.replace('tokenizer = "character"', 'tokenizer = "model"'))
    code, _, err, _ = harness.run("export", run, harness.work / "nothing")
    check(code == MISCONFIGURED and "is gone" in err and "tokenizer.json" in err, f"a lost tokenizer: exit code {code}\n{err}")


def pad_vocabulary(folder, more):
    """As model makers do for round sizes; but what pads here is four times as loud as the loudest of the tokenizer's own ids."""
    config = json.loads((folder / "config.json").read_text())
    header, path = tensors(folder), folder / "model.safetensors"
    data = path.read_bytes()[8 + struct.unpack("<Q", path.read_bytes()[:8])[0]:]
    metadata, at, body = header.pop("__metadata__"), 0, []
    for name, entry in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        values = data[slice(*entry["data_offsets"])]
        if entry["shape"] and entry["shape"][0] == config["vocab_size"]:
            rows = [values[i:i + len(values) // entry["shape"][0]] for i in range(0, len(values), len(values) // entry["shape"][0])]
            loudest = max((array.array("f", row) for row in rows), key=lambda row: sum(map(abs, row)))
            values += array.array("f", [4 * value for value in loudest]).tobytes() * (more // 2) + array.array("f", [-4 * value for value in loudest]).tobytes() * (more - more // 2)
            entry["shape"][0] += more
        entry["data_offsets"] = [at, at + len(values)]
        at += len(values)
        body.append(values)
    text = json.dumps({"__metadata__": metadata} | header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(body))
    (folder / "config.json").write_text(json.dumps(config | {"vocab_size": config["vocab_size"] + more}))
    return config["vocab_size"]


def ids_that_pad_the_vocabulary_are_never_drawn(harness):
    source, run = harness.work / "padded", harness.work / "from_padded"
    harness.succeed("export", finished(harness), source)
    known = pad_vocabulary(source, 40)
    harness.train(run, *sets(model__path=source, text__tokenizer="character", train__steps=2, sft__steps=0))
    rollouts = [json.loads(line) for line in harness.succeed("archive", "export", run, "--tokens").splitlines()]
    drawn = [token for rollout in rollouts for turn in rollout["turns"] for token in turn["tokens"]]
    check(len(rollouts) > 100 and drawn and max(drawn) < known, f"{sum(token >= known for token in drawn)} of {len(drawn)} tokens of {len(rollouts)} rollouts have no text")
    likely = [value for rollout in rollouts for turn in rollout["turns"] for value in turn.get("logprobs", turn.get("logprob", []))]
    check(sum(likely) / len(likely) < -1, "the ids that pad are not likely: nothing was tried")
    said = harness.succeed("generate", source, "21", "--samples", 50, *sets(text__tokenizer="character", sampling__max_new_tokens=3))
    check(said.strip(), "nothing but ids without text was said")


def log_probs_line_by_line(harness):
    filter_ = harness.start("logprob", finished(harness), stdin=subprocess.PIPE)
    answers = []
    for ids in ([1, 2, 3], [5], [353, 0]):  # each is answered before the next is asked
        filter_.stdin.write(json.dumps(ids) + "\n")
        filter_.stdin.flush()
        answers.append(json.loads(filter_.stdout.readline()))
    filter_.stdin.close()
    check(filter_.wait(30) == 0, filter_.stderr.read())
    check([len(answer) for answer in answers] == [2, 0, 1], f"{answers}")
    check(all(-50 < value < 0 and math.isfinite(value) for answer in answers for value in answer), f"these are no log-probs: {answers}")
    again = harness.succeed("logprob", f"{finished(harness)}@6", input="[1, 2]\n[1,2,3]").splitlines()
    check(json.loads(again[1]) == answers[0] and json.loads(again[0]) == answers[0][:1], "another call gives other numbers")


def a_model_answers_in_its_own_numerics(harness):
    """That of its run; of a folder that of config.json's dtype; --numerics goes over both."""
    fp32, bf16, folders = "fp32_fixed_order", "bf16_sliced8", {dtype: harness.work / f"in_{dtype}" for dtype in ("f32", "bf16")}
    run = harness.work / "in_bf16_sliced8"
    harness.train(run, *sets(run__numerics=bf16, train__steps=1, sft__steps=5))
    for dtype, folder in folders.items():
        harness.succeed("export", finished(harness), folder, "--dtype", dtype)
    renamed = json.loads((folders["bf16"] / "config.json").read_text())
    renamed["dtype"] = renamed.pop("torch_dtype")  # as transformers 5 writes it
    newer = harness.work / "newer"
    shutil.copytree(folders["bf16"], newer)
    (newer / "config.json").write_text(json.dumps(renamed))
    for weights, own in ((finished(harness), fp32), (f"{finished(harness)}@6", fp32), (folders["f32"], fp32), (folders["bf16"], bf16), (newer, bf16), (run, bf16),
                         (next(run.glob("checkpoints/*")), bf16)):
        said = harness.succeed("logprob", weights, input="[1, 2, 3]\n")
        by_name = {numerics: harness.succeed("logprob", weights, "--numerics", numerics, input="[1, 2, 3]\n") for numerics in (fp32, bf16)}
        check(by_name[fp32] != by_name[bf16] and said == by_name[own], f"{weights} does not answer in {own}: {said} {by_name}")
    # The message about kernels that nobody has names the numerics that were asked for.
    for weights, own, other in ((finished(harness), fp32, bf16), (folders["bf16"], bf16, fp32), (run, bf16, fp32)):
        for command, more, numerics in ((["generate", weights, "21"], [], own), (["generate", weights, "21"], ["--numerics", other], other),
                                        (["chat", weights], [], own), (["chat", weights], ["--numerics", other], other)):
            _, _, err, _ = harness.run(*command, *more, env={"ROLLCALL_KERNELS": "none"})
            check(f"no set of {numerics}" in err, f"{command} {more} would not answer in {numerics}:\n{err}")


def write_adapter(folder, base, value):
    """A LoRA adapter of rank 1 on q of every layer as PEFT saves it, its A and B all of one value; s is 2."""
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "task_type": "CAUSAL_LM", "base_model_name_or_path": str(base), "r": 1,
                                                            "lora_alpha": 2, "target_modules": ["q_proj"], "lora_dropout": 0.0, "bias": "none"}))
    header, body = {"__metadata__": {"format": "pt"}}, b""
    for name, entry in tensors(base).items():
        if not name.endswith("q_proj.weight"):
            continue
        outputs, inputs = entry["shape"]
        for factor, shape in (("A", [1, inputs]), ("B", [outputs, 1])):
            values = array.array("f", [value] * (shape[0] * shape[1])).tobytes()
            header[f"base_model.model.{name[:-len('weight')]}lora_{factor}.weight"] = {"dtype": "F32", "shape": shape, "data_offsets": [len(body), len(body) + len(values)]}
            body += values
    text = json.dumps(header).encode()
    (folder / "adapter_model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + body)


def values_of(folder, name):
    entry, data = tensors(folder)[name], (folder / "model.safetensors").read_bytes()
    begin = 8 + struct.unpack("<Q", data[:8])[0]
    return array.array("f", data[begin + entry["data_offsets"][0]:begin + entry["data_offsets"][1]])


def an_adapter_stands_for_a_model(harness):
    base, adapter, merged, name = harness.work / "base", harness.work / "adapter", harness.work / "merged", "model.layers.0.self_attn.q_proj.weight"
    harness.succeed("export", finished(harness), base)
    write_adapter(adapter, base, 0.25)
    harness.succeed("export", adapter, merged)
    before, after = values_of(base, name), values_of(merged, name)
    check(all(abs(b + 0.125 - a) < 1e-6 for b, a in zip(before, after)), "the merged weights are not W + 2 B A")
    ids = "[1, 2, 3, 4]\n"
    by_folder = {folder: harness.succeed("logprob", folder, input=ids) for folder in (base, adapter, merged)}
    check(by_folder[adapter] == by_folder[merged] != by_folder[base], f"log-probs: {by_folder}")
    check(harness.succeed("generate", adapter, "21", *sets(sampling__max_new_tokens=4)).strip(), "the adapter says nothing")
    drawn = {}
    for folder in by_folder:
        out = harness.work / f"eval_{folder.name}"
        harness.succeed("eval", folder, "--run-file", harness.tiny, "--out", out)
        drawn[folder] = [turn["tokens"] for line in harness.succeed("archive", "export", out, "--tokens").splitlines() for turn in json.loads(line)["turns"]]
    check(drawn[adapter] == drawn[merged] != drawn[base], "an adapter is evaluated as another model than its export")
    (base / "model.safetensors").unlink()
    code, _, err, _ = harness.run("logprob", adapter, input=ids)
    check(code == MISCONFIGURED and f"{base} has neither model.safetensors" in err, f"a base without weights: exit code {code}\n{err}")


def wrong_lines_are_named(harness):
    positions = json.loads(next(finished(harness).glob("checkpoints/*/config.json")).read_text())["max_position_embeddings"]
    for line, words in (("[]", "empty"), ("[1, 354]", "element 2 is 354"), ("[-1]", "element 1 is -1"), ("[1.5]", "1.5"), ("{}", "not a JSON array"),
                        ("[[1]]", "not a JSON array"), ("1", "not a JSON array"), ("", "not a JSON array"), ("[1", "not a JSON array"), ("[" * 100000, "not a JSON array"),
                        (json.dumps([1] * (positions + 1)), f"{positions + 1} ids for a model of {positions} positions")):
        code, out, err, _ = harness.run("logprob", finished(harness), input=f"[1, 2]\n{line}\n[1, 2]\n")
        check(code == MISCONFIGURED and "line 2" in err and words in err, f"{line[:40]}: exit code {code}\n{err}")
        check(len(out.splitlines()) == 1, f"{line[:40]}: {out}")


main(exports_say_where_they_are_from, a_run_keeps_the_text_files_of_its_model, ids_that_pad_the_vocabulary_are_never_drawn, log_probs_line_by_line, a_model_answers_in_its_own_numerics, an_adapter_stands_for_a_model, wrong_lines_are_named)
