"""Tasks in chat form: a model folder with a tokenizer.json and a chat template, trained from examples and by rewards, and asked on the command line."""
import json
import shutil

from harness import check, main, policy_line, result, sets

MISCONFIGURED = 2
TEMPLATE = "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
TASK = sets(task__name="arithmetic", task__operators='["+", "-"]', task__digits="[1, 1]", task__wording="question", task__extract="last_number",
            text__user='"{prompt} Only the number."', train__steps=2, sft__steps=8, sampling__max_new_tokens=6, task__train_prompts=60)


def byte_alphabet():
    """byte -> character of byte-level tokenizers (GPT-2): printable bytes stand for themselves, the others for U+0100 onwards, in order"""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return {byte: chr(byte) if byte in printable else chr(256 + sum(other not in printable for other in range(byte))) for byte in range(256)}


def tokenizer_json():
    special = [{"id": 256 + i, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
               for i, text in enumerate(("<|im_start|>", "<|im_end|>"))]
    vocabulary = {character: byte for byte, character in byte_alphabet().items()} | {entry["content"]: entry["id"] for entry in special}
    return json.dumps({"version": "1.0", "truncation": None, "padding": None, "added_tokens": special, "normalizer": None,
                       "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}, "post_processor": None,
                       "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
                       "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None,
                                 "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "vocab": vocabulary, "merges": []}})


def folder_with_template(harness):
    """A small model of bytes whose two special tokens are those of the template."""
    folder = harness.work / "model"
    if not folder.exists():
        bytes_run = harness.work / "bytes"
        harness.train(bytes_run, *sets(text__tokenizer="byte", model__max_position_embeddings=160, sft__steps=1, train__steps=1))
        harness.succeed("export", bytes_run, folder)
        (folder / "tokenizer.json").write_text(tokenizer_json())
        (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|im_end|>", "chat_template": TEMPLATE}))
        (folder / "generation_config.json").write_text('{"temperature": 0.6, "eos_token_id": 257}')
    return folder


def trains_in_chat_form_with_the_same_bits(harness):
    model, one, three = folder_with_template(harness), harness.work / "one", harness.work / "three"
    lines = [policy_line(harness.train(one, *TASK, *sets(model__path=model))), policy_line(harness.train(three, *TASK, *sets(model__path=model), ranks=3))]
    check(lines[0] == lines[1], f"three ranks end with another policy: {lines}")
    told = result(one)
    check(told["extract"] == "last_number" and told["eval_after"]["extract"] == "last_number", f"the extraction is not told: {told}")
    settings = (one / "config.toml").read_text()
    check('tokenizer = "model"' in settings and 'template = "model"' in settings, "config.toml does not say what auto came to")
    shown = harness.succeed("archive", "show", one, "--prompt", "0", "--purpose", "eval")
    check("What is " in shown, f"the archive does not show the prompt:\n{shown}")


def a_start_tells_what_the_policy_sees(harness):
    folder = harness.work / "told"
    _, _, err, _ = harness.run("train", harness.tiny, "--set", f"run.dir={folder}", *TASK, *sets(model__path=folder_with_template(harness), run__log_level="info", train__steps=0, sft__steps=0))
    for part in ("generation_config.json suggests temperature 0.6 (here 1)", "<|im_start|>user\nWhat is ", " Only the number.<|im_end|>\n<|im_start|>assistant\n"):
        check(part in err.replace("\n  | ", "\n"), f"the log lacks {part!r}:\n{err}")


def another_template_is_no_resume(harness):
    model, run = folder_with_template(harness), harness.work / "one"
    config = model / "tokenizer_config.json"
    before = config.read_text()
    config.write_text(before.replace("assistant", "model"))
    code, _, err, _ = harness.run("train", harness.tiny, "--resume", "--set", f"run.dir={run}", *TASK, *sets(model__path=model, train__steps=3))
    config.write_text(before)
    check(code == MISCONFIGURED and "not what the run began with" in err, f"a resume with another template: exit code {code}\n{err}")


def a_template_of_its_own_is_kept(harness):
    model, run, out, own = folder_with_template(harness), harness.work / "own", harness.work / "own_exported", harness.work / "own.jinja"
    own.write_text(TEMPLATE.replace("{{ m.role }}", "the {{ m.role }}").replace("assistant", "the assistant"))
    harness.train(run, *TASK, *sets(model__path=model, text__template=own, sft__steps=2, train__steps=1, eval__before="false", eval__after="false"))
    greedy, text = sets(sampling__temperature=0, sampling__max_new_tokens=8), own.read_text()
    ask = [("generate", run, "7", *greedy), ("chat", run, *greedy)]
    before = [harness.succeed(*words, input="7\n") for words in ask]
    own.write_text("{{ raise_exception('changed') }}")
    check([harness.succeed(*words, input="7\n") for words in ask] == before, "a run answers by another template than it was trained with")
    harness.succeed("eval", run)
    harness.succeed("export", run, out)
    check((out / "chat_template.jinja").read_text() == text, "the export has another template")


def a_template_that_writes_the_date_is_told(harness):
    dated = harness.work / "dated.jinja"
    dated.write_text(TEMPLATE + "{% if date is defined %}{{ date }}{% else %}{{ strftime_now('%Y') }}{% endif %}")
    start = ("train", harness.tiny, *TASK, *sets(model__path=folder_with_template(harness), text__template=dated, train__steps=0, sft__steps=0))
    for i, (settings, env, told) in enumerate((([], {}, True), ([], {"SOURCE_DATE_EPOCH": "1"}, False), (sets(text__variables__date="today"), {}, False))):
        code, _, err, _ = harness.run(*start, *sets(run__dir=harness.work / f"dated_{i}"), *settings, env=env)
        check(code == 0 and ("SOURCE_DATE_EPOCH=" in err) == told, f"{settings} {env}: exit code {code}\n{err}")
        check("model.max_position_embeddings is 32, and the model in" in err and "has 160, which counts" in err, f"another shape is not told:\n{err}")


def other_examples_are_no_resume(harness):
    examples, run = harness.work / "data.jsonl", harness.work / "data"
    examples.write_text('{"prompt": "1+1=", "answer": "2"}\n')
    settings = sets(sft__file=examples, sft__steps=2, train__steps=2)
    harness.train(run, *settings)
    longer = ("train", harness.tiny, "--resume", *settings, *sets(run__dir=run, train__steps=3))
    before = examples.read_text()
    examples.write_text(before.replace("2", "3"))
    code, _, err, _ = harness.run(*longer)
    check(code == MISCONFIGURED and "the examples of sft.file" in err and examples.name in err, f"a resume with other examples: exit code {code}\n{err}")
    examples.write_text(before)
    harness.succeed(*longer)


def examples_are_named_by_their_line(harness):
    file = harness.work / "odd.jsonl"
    file.write_text('{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}\n'
                    '{"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": " "}]}\n')
    code, _, err, _ = harness.run("sft", harness.tiny, *TASK[:-6], *sets(run__dir=harness.work / "odd", model__path=folder_with_template(harness), sft__file=file))
    check(code == MISCONFIGURED and "odd.jsonl:2: message 2 of a conversation" in err, f"exit code {code}\n{err}")


def learns_from_a_file_of_conversations(harness):
    run, file = harness.work / "learnt", harness.work / "examples.jsonl"
    talk = [{"role": "user", "content": "Say a."}, {"role": "assistant", "content": "a"}, {"role": "user", "content": "And b?"}, {"role": "assistant", "content": "b"}]
    lines = [{"messages": talk}, {"prompt": "Say c.", "completion": "c"}, {"prompt": "x" * 500, "completion": "too long"}]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    model = folder_with_template(harness)
    settings = sets(model__path=model, sft__file=file, sft__steps=60, sft__batch_size=8, sft__lr="2e-2", eval__before="false", eval__after="false")
    _, _, err, _ = harness.run("sft", harness.tiny, "--set", f"run.dir={run}", *TASK[:-6], *settings)
    check("1 of 3 examples of the supervised steps are left out" in err, f"a long example was not told:\n{err}")
    losses = [json.loads(line)["sft/loss"] for line in (run / "metrics.jsonl").read_text().splitlines() if "sft/loss" in line]
    check(len(losses) == 60 and losses[-1] < losses[0] / 4, f"nothing was learnt: {losses[:2]} ... {losses[-2:]}")
    greedy = sets(sampling__temperature=0)
    check(harness.succeed("generate", run, "Say c.", *greedy) == "c\n", "what was learnt is not said")
    check(harness.succeed("chat", run, *greedy, input="Say a.\nAnd b?\n") == "a\nb\n", "the conversation that was learnt goes otherwise")
    check(harness.succeed("chat", run, *greedy, input="Say a.\n/exit\nAnd b?\n") == "a\n", "/exit does not end")


TOOL_TEMPLATE = ("{% if tools %}{{ tools | tojson }}{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}\n{% if m.content is string %}{{ m.content }}{% endif %}"
                 "{% for c in m.tool_calls or [] %}{{ c.function.name }}{{ c.function.arguments | tojson }}{% endfor %}<|im_end|>\n{% endfor %}"
                 "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def messages_reach_the_template_whole(harness):
    """Files that differ in a call, in tools, or in parts teach different things; a key that the template does not read is named."""
    template, model = harness.work / "tools.jinja", folder_with_template(harness)
    template.write_text(TOOL_TEMPLATE)
    call = {"role": "assistant", "content": None, "tool_calls": [{"function": {"name": "f", "arguments": {"x": 1}}}]}
    other = {**call, "tool_calls": [{"function": {"name": "f", "arguments": {"x": 2}}}]}
    user = {"role": "user", "content": "a"}
    policies, said = {}, {}
    for name, line in {"one": {"messages": [user, call]}, "other": {"messages": [user, other]}, "tools": {"messages": [user, call], "tools": [{"a": 1}]},
                       "named": {"messages": [{**user, "name": "Eve"}, call], "id": 3, "chat_template_kwargs": {"mood": "calm"}}}.items():
        file, run = harness.work / f"{name}.jsonl", harness.work / f"whole_{name}"
        file.write_text(json.dumps(line) + "\n")
        code, _, said[name], _ = harness.run("sft", harness.tiny, *TASK[:-6], *sets(run__dir=run, model__path=model, text__template=template, sft__file=file, sft__steps=2, sft__batch_size=1,
                                                                                     eval__before="false", eval__after="false"))
        check(code == 0, f"{name}: exit code {code}\n{said[name]}")
        policies[name] = result(run)["policy_sha256"]
    check(len({policies[name] for name in ("one", "other", "tools")}) == 3, f"files that differ end in the same policy: {policies}")
    check(policies["named"] == policies["one"], "what the template does not read changes the policy")
    for part in ("named.jsonl:1: the chat template does not read a message's \"name\"", "does not read \"mood\"", "the key \"id\""):
        check(part in said["named"], f"the log lacks {part!r}:\n{said['named']}")


def what_ends_no_answer_is_told(harness):
    """A base model's end token beside a template that ends turns with another one."""
    base, run = harness.work / "base", harness.work / "base_run"
    if not base.exists():
        shutil.copytree(folder_with_template(harness), base)
        (base / "tokenizer_config.json").write_text(json.dumps({"eos_token": "<|im_start|>", "chat_template": TEMPLATE}))
        (base / "generation_config.json").unlink()
        (base / "config.json").write_text(json.dumps(json.loads((base / "config.json").read_text()) | {"eos_token_id": 256}))
    for stop, told in (("[]", True), ('["<|im_end|>"]', False)):
        start = sets(run__dir=run, model__path=base, train__steps=0, sft__steps=0, eval__before="false", eval__after="false", sampling__stop=stop)
        code, _, err, _ = harness.run("train", harness.tiny, *TASK, *start)
        check(code == 0 and ('sampling.stop=["<|im_end|>"]' in err) == told, f"stop {stop}: exit code {code}\n{err}")
        shutil.rmtree(run)


def raw_prompts_have_no_template(harness):
    model = folder_with_template(harness)
    same = sets(sampling__temperature=0)
    check(harness.succeed("generate", model, "7", "--raw", *same) == harness.succeed("generate", model, "7", *same, *sets(text__template="none")),
          "--raw is not what it says")


def refusals_by_name(harness):
    model, plain = folder_with_template(harness), harness.work / "bytes"
    for arguments, words in ((["generate", model, "7", *sets(text__tokenizer="byte")], "holds a tokenizer.json"),
                             (["chat", plain], "has no chat template"),
                             (["plan", harness.tiny, *sets(text__tokenizer="model")], "no model folder is named"),
                             (["train", harness.tiny, *sets(run__dir=harness.work / "no", task__extract="last_numbr")], "did you mean last_number?"),
                             (["train", harness.tiny, *sets(run__dir=harness.work / "no", text__user="ask")], "{prompt}"),
                             (["train", harness.tiny, *sets(run__dir=harness.work / "no", text__system="S")], "text.system is set")):
        code, _, err, _ = harness.run(*arguments)
        check(code == MISCONFIGURED and words in err, f"{arguments}: exit code {code}\n{err}")


if __name__ == "__main__":
    main(trains_in_chat_form_with_the_same_bits, a_start_tells_what_the_policy_sees, another_template_is_no_resume, a_template_of_its_own_is_kept,
         a_template_that_writes_the_date_is_told, other_examples_are_no_resume, examples_are_named_by_their_line, learns_from_a_file_of_conversations, messages_reach_the_template_whole, what_ends_no_answer_is_told, raw_prompts_have_no_template, refusals_by_name)
