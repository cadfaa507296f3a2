#!/usr/bin/env python3
"""Holds what Rollcall learns from conversations against transformers, over any chat templates:

    python learnt_parity.py BUILD/tests/text/learn_conversations FILE_OR_FOLDER...

The rendering has to be transformers' own. Where a template has generation marks, what is learnt has
to lie between them and to leave out no more than the head of a turn, which the assistant is given,
and white space behind its end. Prints what differs: a template may mark the end of what it was given,
or not mark the space before an answer. Needs transformers; the packages trl and axolotl hold many
templates."""

import copy
import json
import pathlib
import re
import subprocess
import sys

from transformers.utils.chat_template_utils import _normalize_chat_messages, render_jinja_template

from write_learnt_fixture import CONVERSATIONS, TOOLS, WITH_CALLS

SPECIAL = re.compile(r"<\|[^|<>\s]{1,40}\|>|<｜[^｜]{1,40}｜>|</?s>|<(?:start|end)_of_turn>|\[/?INST\]|<\|?turn\|?>|<end_of_utterance>|\[\|\w+\|\]")
ENDS = ["</s>", "<|im_end|>", "<｜end▁of▁sentence｜>", "<|eot_id|>", "<end_of_turn>", "<|return|>", "<|END_OF_TURN_TOKEN|>", "<|end|>", "<turn|>", "<|eot|>", "<|endofturn|>", "[|endofturn|]",
        "<end_of_utterance>", "<|endoftext|>"]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
HEAD_LEFT_OUT = re.compile(r"[^\w]*((start_header_id|im_start|start|Assistant|assistant|model|think|nothink|tool▁outputs▁end)[^\w]*)*")


def templates(places):
    for place in map(pathlib.Path, places):
        yield from sorted(place.rglob("*.jinja")) if place.is_dir() else [place]


def asked(source, name):
    """(rendering, stretches between generation marks or None), or None where the template refuses the conversation."""
    marks = re.search(r"{%-?\s*generation", source) is not None
    tools = TOOLS if name in WITH_CALLS else None
    messages = _normalize_chat_messages(copy.deepcopy(CONVERSATIONS[name]))
    try:
        texts, marked = render_jinja_template([messages], tools=tools, chat_template=source, return_assistant_tokens_mask=marks, **TOKENS)
        if "Qy7" not in render_jinja_template([[{"role": "user", "content": "Qy7"}]], chat_template=source, **TOKENS)[0][0]:  # content as parts alone
            parts = [{**one, "content": [{"type": "text", "text": one["content"]}]} if isinstance(one.get("content"), str) else one for one in messages]
            texts, marked = render_jinja_template([parts], tools=tools, chat_template=source, return_assistant_tokens_mask=marks, **TOKENS)
    except Exception:  # jinja2 has many kinds
        return None
    joined = []
    for first, last in marked[0] if marks else []:
        first, last = len(texts[0][:first].encode()), len(texts[0][:last].encode())
        if joined and joined[-1][1] == first:
            first = joined.pop()[0]
        if last > first:
            joined.append((first, last))
    return texts[0], joined if marks else None


def problem(told, text, marked):
    """None: they agree."""
    if "error" in told:
        return None if "is not in the text" in told["error"] or "leaves out" in told["error"] else told["error"]
    whole, own = text.encode(), told["text"].encode()
    if not whole.startswith(own) and not any(own.endswith(end.encode()) and whole.startswith(own[: -len(end.encode())]) for end in ENDS):
        return f"the text is {told['text']!r} and not {text!r}"
    if marked is None:
        return None
    marked = [span for span in marked if span[0] < told["learnt"][-1][1]]
    if len(marked) != len(told["learnt"]):
        return f"{len(told['learnt'])} stretches, {len(marked)} marked"
    for (first, last), (begin, end) in zip(marked, told["learnt"]):
        head, tail = whole[first:begin].decode(), whole[min(end, len(whole)):last].decode()
        if begin < first or tail.strip() or not HEAD_LEFT_OUT.fullmatch(head):
            return f"learnt is {whole[begin:end].decode()!r}, marked {whole[first:last].decode()!r}"
    return None


def main():
    program, *places = sys.argv[1:]
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    count = differences = 0
    for file in templates(places):
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
            if said:
                differences += 1
                print(f"{file.name}, {name}: {said}")
    print(f"{count} conversations through templates, {differences} differ")
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
