"""Tasks in chat form: a model folder with a tokenizer.json and a chat template, trained from examples and by rewards, and asked on the command line."""
import json
import pathlib
import shutil
import signal
import time

from harness import check, main, metrics, policy_line, result, sets

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


def every_example_once_a_pass(harness):
    """Of weights that stay as they are, the mean loss over three passes in batches that do not
    divide them is that of all examples at once: on one rank and three, and after a kill."""
    file = harness.work / "passes.jsonl"
    lines = [{"prompt": f"{i:02} ", "answer": f"{i * 7919 % 1000:03}"} for i in range(32)]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    settings = sets(text__tokenizer="byte", sft__file=file, sft__lr=1e-30, train__steps=0,
                    eval__before="false", eval__after="false", checkpoint__every=1)

    def losses(folder):
        return [row["sft/loss"] for row in metrics(folder, "sft")]

    names = ("whole", "one", "three", "killed")
    folders = {name: harness.work / f"passes_{name}" for name in names}
    parts = [*settings, *sets(sft__batch_size=12, sft__steps=8)]
    harness.ranks(1).train(folders["whole"], *settings, *sets(sft__batch_size=32, sft__steps=2))
    harness.ranks(1).train(folders["one"], *parts)
    harness.train(folders["three"], *parts, ranks=3)
    job = harness.start("train", harness.tiny, *sets(run__dir=folders["killed"]), *parts)
    while not (folders["killed"] / "metrics.jsonl").exists() or len(losses(folders["killed"])) < 3:
        check(job.poll() is None, "the run ended before it could be killed")
        time.sleep(0.001)
    job.send_signal(signal.SIGKILL)
    job.communicate()
    check(not (folders["killed"] / "result.json").exists(), "the kill came after the run's end")
    harness.ranks(1).train(folders["killed"], "--resume", *parts)
    whole = losses(folders["whole"])
    check(abs(whole[0] - whole[1]) < 1e-9, f"two passes differ: {whole}")
    for name in names[1:]:
        found = losses(folders[name])
        check(len(set(found)) == 8 and abs(sum(found) / 8 - whole[0]) < 1e-6,
              f"{name}: the mean over three passes is {sum(found) / 8}, over one {whole[0]}: {found}")


def learnt_from(harness, run, file, **settings):
    """The sha256 of the policy that a step over the examples of the file ends in."""
    model = folder_with_template(harness)
    step = sets(model__path=model, sft__file=file, sft__steps=1, sft__batch_size=1, train__steps=0,
                eval__before="false", eval__after="false", **settings)
    harness.ranks(1).train(run, *TASK[:-6], *step)
    return result(run)["policy_sha256"]


EVERY_KEY = ("{% if tools %}{{ tools | tojson }}{% endif %}{{ mood }}{% for m in messages %}"
             "<|im_start|>{{ m.role }}{{ m.name }}{{ m.tool_call_id }}\n{{ m.reasoning_content }}"
             "{{ m.content if m.content is string else m.content[0].text }}"
             "{% for c in m.tool_calls or [] %}{{ c.function.arguments | tojson }}{% endfor %}"
             "<|im_end|>\n{% endfor %}"
             "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")


def whole_line():
    """An example that holds every key that templates read."""
    call = {"function": {"name": "f", "arguments": {"x": 1}}}
    messages = [{"role": "user", "content": "a"},
                {"role": "assistant", "content": "b", "reasoning_content": "r", "tool_calls": [call]},
                {"role": "tool", "content": "3", "name": "f", "tool_call_id": "1"},
                {"role": "assistant", "content": "c"}]
    return {"messages": messages, "tools": [{"a": 1}], "chat_template_kwargs": {"mood": "calm"}}


def policy_of_line(harness, name, line):
    template, file = harness.work / "every_key.jinja", harness.work / f"key_{name}.jsonl"
    template.write_text(EVERY_KEY)
    file.write_text(json.dumps(line) + "\n")
    return learnt_from(harness, harness.work / f"key_{name}", file, text__template=template)


def every_key_of_a_message_is_learnt_from(harness):
    """Where one value differs, another policy comes of it."""
    places = {"call": ("messages", 1, "tool_calls", 0, "function", "arguments", "x"),
              "thought": ("messages", 1, "reasoning_content"), "name": ("messages", 2, "name"),
              "id": ("messages", 2, "tool_call_id"), "tools": ("tools", 0, "a"),
              "mood": ("chat_template_kwargs", "mood")}
    policies = {"none": policy_of_line(harness, "none", whole_line())}
    for name, place in places.items():
        other = at = whole_line()
        for key in place[:-1]:
            at = at[key]
        at[place[-1]] = "other"
        policies[name] = policy_of_line(harness, name, other)
    check(len(set(policies.values())) == len(policies), f"what differs is not learnt: {policies}")


def content_in_parts_is_the_text_that_they_hold(harness):
    parts = whole_line()
    parts["messages"][3]["content"] = [{"type": "text", "text": "c"}]
    text = result(harness.work / "key_none")["policy_sha256"]
    check(policy_of_line(harness, "parts", parts) == text, "parts teach otherwise than their text")


def what_the_template_does_not_read_is_named(harness):
    """And it changes nothing."""
    file, run = harness.work / "unread.jsonl", harness.work / "unread"
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    file.write_text(json.dumps({"messages": talk}) + "\n")
    plain = learnt_from(harness, harness.work / "plain", file)
    unread = {"messages": [{**talk[0], "name": "Eve"}, talk[1]], "id": 3}
    file.write_text(json.dumps({**unread, "chat_template_kwargs": {"mood": "calm"}}) + "\n")
    settings = sets(run__dir=run, model__path=folder_with_template(harness), sft__file=file,
                    sft__steps=1, sft__batch_size=1, eval__before="false", eval__after="false")
    code, _, said, _ = harness.run("sft", harness.tiny, *TASK[:-6], *settings)
    check(code == 0, f"exit code {code}\n{said}")
    check(result(run)["policy_sha256"] == plain, "what is not read changes the policy")
    for part in ("unread.jsonl:1: the chat template does not read a message's \"name\"",
                 "does not read \"mood\"", "the key \"id\""):
        check(part in said, f"the log lacks {part!r}:\n{said}")


def tags_that_are_special_tokens_stay(harness):
    """What a verifier sees holds them, and a stop text may."""
    model = harness.work / "tagged"
    shutil.copytree(folder_with_template(harness), model)
    (model / "tokenizer.json").write_text(tokenizer_json().replace("<|im_start|>", "<answer>"))
    template = ("{% for m in messages %}{{ m.role }}: {{ m.content }}<|im_end|>{% endfor %}"
                "{% if add_generation_prompt %}assistant: {% endif %}")
    config = {"eos_token": "<|im_end|>", "chat_template": template}
    (model / "tokenizer_config.json").write_text(json.dumps(config))
    questions, examples = harness.work / "asked.jsonl", harness.work / "tagged.jsonl"
    asked = [{"question": f"q{i}", "answer": "2"} for i in range(24)]
    learnt = [{"prompt": f"q{i}", "answer": "1<answer>2"} for i in range(24)]
    for file, lines in ((questions, asked), (examples, learnt)):
        file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    task = sets(task__name="file", task__file=questions, task__train_prompts=16,
                task__validation_prompts=0, task__heldout_prompts=8, task__answer_marker="",
                eval__before="false", eval__after="false", train__steps=1, sampling__temperature=0.01)  # training does not draw the likeliest
    whole, stopped = harness.work / "tagged_whole", harness.work / "tagged_stopped"
    teach = sets(sft__file=examples, sft__steps=30, sft__lr="2e-2")
    harness.ranks(1).train(whole, *task, *teach, *sets(model__path=model))
    stop = sets(sft__steps=0, sampling__stop='["<answer>"]')
    harness.ranks(1).train(stopped, *task, *stop, "--init-from", whole)
    for run, said in ((whole, "1<answer>2"), (stopped, "1<answer>")):
        lines = harness.succeed("archive", "export", run, "--purpose", "train").splitlines()
        seen = {json.loads(line)["completion"] for line in lines}
        check(seen == {said}, f"{run.name}: the verifier saw {seen}")


def variables_keep_their_type(harness):
    template, file = harness.work / "typed.jinja", harness.work / "typed.toml"
    template.write_text("v={{ version }} y={{ year }}\n" + TEMPLATE)
    variables = '\n[text.variables]\nversion = "1.10"\nyear = 2026\n'
    file.write_text(pathlib.Path(harness.tiny).read_text() + variables)
    settings = sets(run__dir=harness.work / "typed", model__path=folder_with_template(harness),
                    text__template=template, run__log_level="info", train__steps=0, sft__steps=0)
    _, _, err, _ = harness.run("train", file, *TASK, *settings)
    check("v=1.10 y=2026" in err, f"the template does not see what the run file says:\n{err}")


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
    main(trains_in_chat_form_with_the_same_bits, a_start_tells_what_the_policy_sees,
         another_template_is_no_resume, a_template_of_its_own_is_kept,
         a_template_that_writes_the_date_is_told, other_examples_are_no_resume,
         examples_are_named_by_their_line, learns_from_a_file_of_conversations,
         every_example_once_a_pass, every_key_of_a_message_is_learnt_from,
         content_in_parts_is_the_text_that_they_hold, what_the_template_does_not_read_is_named,
         tags_that_are_special_tokens_stay, variables_keep_their_type, what_ends_no_answer_is_told,
         raw_prompts_have_no_template, refusals_by_name)
