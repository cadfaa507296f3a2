"""Cases of the comparison with jinja2: templates of many families (families/*.jinja) and of the
packages trl and axolotl, where they are installed, over conversations, and one small template for
every row of the tables. ROLLCALL_CHAT_TEMPLATES adds more: files, or folders with any below them,
apart by colons."""

import copy
import importlib.util
import itertools
import os
import pathlib
import random

import template_rows

TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "description": "The weather, \"now\" & <soon>.", "parameters": {"type": "object", "properties": {
        "city": {"type": "string", "description": "Zürich or 東京"}, "unit": {"type": "string", "enum": ["c", "f"], "default": "c"}, "days": {"type": ["integer", "null"]},
        "where": {"type": "object", "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}}, "required": ["lat"]},
        "tags": {"type": "array", "items": {"type": "string"}}, "rows": {"type": "array", "items": {"type": "object", "additionalProperties": {"type": "integer"}}},
        "either": {"oneOf": [{"type": "string", "description": "a name"}, {"type": "number", "default": 1.5}]}}, "required": ["city"]}, "return": {"type": "string"}}},
    {"type": "function", "function": {"name": "stop", "description": "", "parameters": {"type": "object", "properties": {}}}},
]
USER = {"role": "user", "content": "Hi 😀, what's \"new\" in Zürich?\n"}
SYSTEM = {"role": "system", "content": "  You are terse.\n/no_think"}
ANSWER = {"role": "assistant", "content": "<think>\nhm\n</think>\n\nNothing. "}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "abcdef123", "type": "function", "function": {"name": "get_weather", "arguments": {"city": "東京", "days": 2, "x": 1.0, "ok": True, "no": None}}}]}
TEXT_CALL = {"role": "assistant", "content": "Let me look.", "tool_calls": [{"id": "abcdef123", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Bern"}'}},
                                                                        {"id": "abcdef124", "type": "function", "function": {"name": "stop", "arguments": {}}}]}
RESULT = {"role": "tool", "tool_call_id": "abcdef123", "name": "get_weather", "content": "{\"t\": 21.5}"}
PARTS = {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": " look\n"}, {"type": "text", "text": "here"}]}

CONVERSATIONS = {
    "empty": [],
    "user": [USER],
    "system": [SYSTEM, USER],
    "turns": [USER, ANSWER, {"role": "user", "content": ""}],
    "system_turns": [SYSTEM, USER, ANSWER, USER, {"role": "assistant", "content": "Done", "reasoning_content": "\nbecause\n"}],
    "call": [USER, CALL, RESULT],
    "calls": [SYSTEM, USER, TEXT_CALL, RESULT, {**RESULT, "tool_call_id": "abcdef124", "content": "stopped"}, ANSWER, USER],
    "call_chain": [USER, CALL, RESULT, TEXT_CALL, RESULT, {"role": "assistant", "content": "21 degrees"}],
    "parts": [PARTS, ANSWER],
    "system_parts": [{"role": "system", "content": [{"type": "text", "text": "Be kind."}]}, PARTS],
    "two_users": [USER, USER],
    "unknown_role": [{"role": "critic", "content": "no"}, USER],
    "no_content": [{"role": "user"}],
    "override": [{"role": "system", "content": "/system_override Speak.  "}, USER],
    "tool_response": [USER, ANSWER, {"role": "user", "content": "<tool_response>x</tool_response>"}],
    "number": [{"role": "user", "content": 12345678901234}],
}
VARIANTS = [{}, {"add_generation_prompt": True}, {"tools": TOOLS}, {"tools": TOOLS, "add_generation_prompt": True, "enable_thinking": False},
            {"tools": [tool["function"] for tool in TOOLS], "documents": [{"title": "one  two", "text": "line\nline"}, {"name": "x", "n": [1, {"a": None}]}]}, {"tools": []}]
TOKENS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}


PACKAGES = ("trl", "axolotl")  # hold the templates of many model families, and are not imported


def package_folders():
    found = filter(None, map(importlib.util.find_spec, PACKAGES))
    return [pathlib.Path(place) for spec in found for place in spec.submodule_search_locations or []]


def template_files(places):
    """Every template below these places, one file of those that are equal."""
    sources = set()
    for place in map(pathlib.Path, places):
        for file in sorted(place.rglob("*.jinja")) if place.is_dir() else [place]:
            if file.read_text() not in sources:
                sources.add(file.read_text())
                yield file


def conversation_cases(places):
    talks = [*itertools.product(CONVERSATIONS.items(), enumerate(VARIANTS))]
    for file in template_files(places):
        source = file.read_text()
        for (name, messages), (i, variant) in talks:
            variables = {"messages": messages, **variant, **TOKENS}
            yield f"{file.stem}, {name}, variant {i}", source, variables


def cases(share, seed):
    """`share`: of the cases of the packages, drawn by `seed`."""
    own, named = pathlib.Path(__file__).parent / "families", os.environ.get("ROLLCALL_CHAT_TEMPLATES", "")
    draw = random.Random(seed)
    drawn = (case for case in conversation_cases(package_folders()) if draw.random() < share)
    for name, source, variables in (*conversation_cases([own, *filter(None, named.split(":"))]), *drawn):
        yield name, source, copy.deepcopy(variables)
    for i, template in enumerate(template_rows.templates()):
        yield f"row {i}", template, template_rows.VARIABLES
