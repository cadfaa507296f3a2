#!/usr/bin/env python3
"""Holds what Rollcall learns from conversations against transformers, over chat templates:

    python learnt_parity.py BUILD/tests/text/learn_conversations [FILE_OR_FOLDER...]

Without files it takes all templates of the installed packages trl and axolotl. The rendering has to
be transformers' own. Where a template has generation marks, what is learnt has to lie between them
and to leave out no more than the head of a turn, which the assistant is given, and white space
after its end. Prints what differs. Where transformers is not installed, jinja2 with its settings
renders the templates and finds the marks."""

import copy
import functools
import json
import os
import pathlib
import re
import subprocess
import sys

import jinja_reference
import template_cases
from write_learnt_fixture import CONVERSATIONS, TOOLS, WITH_CALLS

try:
    from transformers.utils.chat_template_utils import _normalize_chat_messages, render_jinja_template
except ImportError:
    render_jinja_template = None

SKIPPED = 77
SPECIAL = re.compile(r"<\|[^|<>\s]{1,40}\|>|<｜[^｜]{1,40}｜>|</?s>|<(?:start|end)_of_turn>|\[/?INST\]|<\|?turn\|?>|<end_of_utterance>|\[\|\w+\|\]")
ENDS = ["</s>", "<|im_end|>", "<｜end▁of▁sentence｜>", "<|eot_id|>", "<end_of_turn>", "<|return|>", "<|END_OF_TURN_TOKEN|>", "<|end|>", "<turn|>", "<|eot|>", "<|endofturn|>", "[|endofturn|]",
        "<end_of_utterance>", "<|endoftext|>"]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
HEAD_LEFT_OUT = re.compile(r"[^\w]*((start_header_id|im_start|start|Assistant|assistant|model|think|nothink|tool▁outputs▁end)[^\w]*)*")


# Templates that differ rightly.
EXCEPTIONS = {"llava": "It asks with 'ASSISTANT:' and shows 'ASSISTANT: ', so the space is the model's"
                       " to say, though the marks begin behind it."}
BEGIN, END = "\ue000", "\ue001"


class MarkedGeneration(jinja_reference.Generation):
    def _said(self, caller):
        return f"{BEGIN}{caller()}{END}"


@functools.lru_cache(maxsize=1)
def compiled(source):
    environment = jinja_reference.own_environment(MarkedGeneration)
    environment.globals["strftime_now"] = jinja_reference.NOW.strftime
    return environment.from_string(source)


def own_rendering(source, messages, tools):
    """By jinja2 alone: (text, stretches between generation marks in characters)."""
    messages = jinja_reference.messages_as_passed(messages)
    told = compiled(source).render(messages=messages, tools=tools, documents=None,
                                   add_generation_prompt=False, **TOKENS)
    text, marks = "", []
    for part in re.split(f"({BEGIN}|{END})", told):
        if part == BEGIN:
            marks.append((len(text), None))
        elif part == END:
            marks[-1] = (marks[-1][0], len(text))
        else:
            text += part
    return text, marks


def rendering(source, messages, tools=None, marks=False):
    if not render_jinja_template:
        return own_rendering(source, messages, tools)
    texts, marked = render_jinja_template([_normalize_chat_messages(messages)], tools=tools,
                                          chat_template=source, return_assistant_tokens_mask=marks,
                                          **TOKENS)
    return texts[0], marked[0] if marks else []


def asked(source, name):
    """(rendering, stretches between generation marks or None), or None where the template refuses the conversation."""
    marks = re.search(r"{%-?\s*generation", source) is not None
    tools = TOOLS if name in WITH_CALLS else None
    messages = copy.deepcopy(CONVERSATIONS[name])
    try:
        text, marked = rendering(source, messages, tools, marks)
        # Some read content as parts alone.
        if "Qy7" not in rendering(source, [{"role": "user", "content": "Qy7"}])[0]:
            parts = [{**one, "content": [{"type": "text", "text": one["content"]}]} if isinstance(one.get("content"), str) else one for one in messages]
            text, marked = rendering(source, parts, tools, marks)
    except Exception:  # jinja2 has many kinds
        return None
    joined = []
    for first, last in marked if marks else []:
        first, last = len(text[:first].encode()), len(text[:last].encode())
        if joined and joined[-1][1] == first:
            first = joined.pop()[0]
        if last > first:
            joined.append((first, last))
    return text, joined if marks else None


def problem(told, text, marked):
    """None: they agree."""
    if "error" in told:
        return None if "is not in the text" in told["error"] or "leaves out" in told["error"] else told["error"]
    whole, own = text.encode(), told["text"].encode()
    # An end token is added where the text has none behind the last answer.
    added = 0
    if not whole.startswith(own):
        added = next((len(end) for end in map(str.encode, ENDS)
                      if own.endswith(end) and whole.startswith(own[: -len(end)])), None)
    if added is None:
        return f"the text is {told['text']!r} and not {text!r}"
    if marked is None:
        return None
    marked = [span for span in marked if span[0] < told["learnt"][-1][1]]
    if len(marked) != len(told["learnt"]):
        return f"{len(told['learnt'])} stretches, {len(marked)} marked"
    for (first, last), (begin, end) in zip(marked, told["learnt"]):
        end = min(end, len(own) - added)
        head, tail = whole[first:begin].decode(), whole[end:last].decode()
        if begin < first or end > last or tail.strip() or not HEAD_LEFT_OUT.fullmatch(head):
            return f"learnt is {whole[begin:end].decode()!r}, marked {whole[first:last].decode()!r}"
    return None


def main():
    program, *places = sys.argv[1:]
    places = places or template_cases.package_folders()
    if not places:
        print("skipped: trl and axolotl are not installed (scripts/setup --tests installs them)")
        return SKIPPED
    environment = dict(os.environ)
    if not render_jinja_template:
        environment["SOURCE_DATE_EPOCH"] = jinja_reference.EPOCH
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               env=environment)
    count = differences = 0
    for file in template_cases.template_files(places):
        source = file.read_text()
        for name in CONVERSATIONS:
            answer = asked(source, name)
            if answer is None:
                continue
            end = next((end for end in ENDS if end in answer[0]), "</s>")
            variables = {**TOKENS, **({"tools": TOOLS} if name in WITH_CALLS else {})}
            process.stdin.write(json.dumps({"template": source, "messages": CONVERSATIONS[name], "variables": variables, "special": [end, *sorted(set(SPECIAL.findall(answer[0])) - {end})]}) + "\n")
            process.stdin.flush()
            said = problem(json.loads(process.stdout.readline()), *answer)
            count += 1
            if said and file.stem not in EXCEPTIONS:
                differences += 1
                print(f"{file.name}, {name}: {said}")
    versions = json.dumps(jinja_reference.versions())
    print(f"{count} conversations through templates, {differences} differ ({versions})")
    return 1 if differences or not count else 0


if __name__ == "__main__":
    sys.exit(main())
