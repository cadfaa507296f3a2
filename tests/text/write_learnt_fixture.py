#!/usr/bin/env python3
"""Writes fixtures/learnt.json: the text that transformers makes of conversations with the templates of learnt/, and what lies between the generation marks of
the templates, which Rollcall does not read: it has to find the same. Needs transformers.

    python write_learnt_fixture.py"""

import copy
import json
import pathlib


def user(text):
    return {"role": "user", "content": text}


def assistant(text, **more):
    return {"role": "assistant", "content": text, **more}


THOUGHT = "<think>\nFirst this.\n</think>\n\n"
CALL = {"id": "call_0001", "type": "function", "function": {"name": "weather", "arguments": {"city": "Zürich", "days": 2}}}
TOOLS = [{"type": "function", "function": {"name": "weather", "description": "", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}}]
RESULT = {"role": "tool", "tool_call_id": "call_0001", "name": "weather", "content": "3"}
CONVERSATIONS = {
    "turns": [user("a"), assistant("b"), user("b?"), assistant("c")],
    "white_space": [user("  a\n"), assistant("\n b \n"), user("c"), assistant("  d ")],
    "thoughts": [user("a"), assistant(THOUGHT + "b"), user("c"), assistant(THOUGHT + "d")],
    "assistant_first": [assistant("Welcome."), user("a"), assistant("b")],
    "equal": [user("Yes"), assistant("Yes"), user("Yes"), assistant("Yes")],
    "system": [{"role": "system", "content": "assistant"}, user("a"), assistant("assistant")],
    "spelt": [user("say assistant\n"), assistant("x [/INST] y"), user("z [/INST]"), assistant("ü")],
    "calls": [user("a"), assistant(None, tool_calls=[CALL]), RESULT, assistant("3 degrees"), user("b"), assistant("c", reasoning_content="so")],
    "words_and_calls": [user("a"), assistant("Wait.", reasoning_content="hm", tool_calls=[CALL, CALL]), RESULT, RESULT, assistant("3")],
    "reasoned_call": [user("a"), assistant(None, reasoning_content="hm", tool_calls=[CALL]), RESULT, assistant("3", reasoning_content="so")],
    "reasoned_calls": [user("a"), assistant("", reasoning_content="hm", tool_calls=[CALL]), RESULT, assistant(None, reasoning_content="hm", tool_calls=[CALL]), RESULT, assistant("3"), user("b"), assistant("c")],
    "call_last": [user("a"), assistant("", tool_calls=[CALL])],
}
WITH_CALLS = {"calls", "words_and_calls", "reasoned_call", "reasoned_calls", "call_last"}
# Template: what ends an answer, and other special tokens.
TEMPLATES = {
    "thought_dropped": ["</s>", "<s>", "<|User|>", "<|Assistant|>"],
    "stripped": ["<|end|>", "<s>", "<|turn|>"],
    "last_thought": ["<|im_end|>", "<|im_start|>"],
    "empty_thought": ["<|im_end|>", "<|im_start|>"],
    "closed_question": ["</s>", "<s>"],
    "own_ends": ["<|return|>", "<|end|>", "<|start|>", "<|channel|>", "<|message|>"],
}
VARIABLES = {"bos_token": "<s>", "eos_token": "</s>"}
NO_HEAD = {("closed_question", "assistant_first"), ("closed_question", "system")}  # a template without a head for such a turn


def case(template, name):
    from transformers.utils.chat_template_utils import _normalize_chat_messages, render_jinja_template

    source = (pathlib.Path(__file__).parent / "learnt" / f"{template}.jinja").read_text()
    tools = TOOLS if name in WITH_CALLS else None
    texts, marked = render_jinja_template([_normalize_chat_messages(copy.deepcopy(CONVERSATIONS[name]))], tools=tools, chat_template=source, return_assistant_tokens_mask=True, **VARIABLES)
    spans = [[len(texts[0][:at].encode()) for at in span] for span in marked[0]]
    return {"template": template, "conversation": name, "text": texts[0], "learnt": spans}


def main():
    import transformers

    cases = [case(template, name) for template in TEMPLATES for name in CONVERSATIONS
             if (name not in WITH_CALLS or template in ("last_thought", "empty_thought")) and (template, name) not in NO_HEAD]
    fixture = {"transformers": transformers.__version__, "variables": VARIABLES, "tools": TOOLS, "with_tools": sorted(WITH_CALLS), "special": TEMPLATES, "conversations": CONVERSATIONS}
    lines = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in fixture.items()]
    lines.append('"cases": [\n' + ",\n".join(json.dumps(one, ensure_ascii=False) for one in cases) + "\n]")
    (pathlib.Path(__file__).parent / "fixtures/learnt.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
