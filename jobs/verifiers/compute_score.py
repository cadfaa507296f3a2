#!/usr/bin/env python3
"""Calls a reward function written for verl or TRL: reward.command = ["jobs/verifiers/compute_score.py", "my_rewards.py"]

The function is compute_score of that file, or NAME of my_rewards.py:NAME. One of verl is called as
compute_score(data_source=..., solution_str=..., ground_truth=..., extra_info=...) and returns a
number or a dict with "score". One of TRL, known by its parameter `completions`, gets lists of one
text (with --chat one list of messages): completions, prompts, and as far as it takes them answer,
ground_truth and solution; it returns a list of one number. None says that there is no verdict.

The score is the reward. The answer is correct where the dict's "acc" is true, or without one where
the score is above 0.5. ground_truth is the row's answer, a list where the row accepts several;
extra_info the object "extra" of the line, if it has one; data_source the option, else its field."""
import argparse
import importlib.util
import inspect
import json
import pathlib
import sys


def load(place):
    path, _, name = place.partition(":")
    name = name or "compute_score"
    if not pathlib.Path(path).is_file():
        sys.exit(f"compute_score.py: there is no file {path} in {pathlib.Path.cwd()}")
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    if spec is None:
        sys.exit(f"compute_score.py: {path} is no Python file: its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(pathlib.Path(path).resolve().parent))
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        known = [key for key, value in vars(module).items() if inspect.isfunction(value) and value.__module__ == module.__name__]
        sys.exit(f"compute_score.py: {path} has no function {name}; it has {', '.join(known) or 'none'}: name one as {path}:NAME")
    return function


def as_verl(function, data_source):
    def call(asked, extra):
        return function(data_source=data_source or extra.get("data_source", ""), solution_str=asked["response"], ground_truth=asked["answer"], extra_info=extra)
    return call


def as_trl(function, chat):
    messages = (lambda role, text: [{"role": role, "content": text}]) if chat else (lambda role, text: text)
    parameters = inspect.signature(function).parameters
    takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters.values())

    def call(asked, extra):
        answer = asked["answer"]
        fields = extra | {"answer": answer, "ground_truth": answer, "solution": answer, 
                          "prompts": messages("user", asked["prompt"]), "completions": messages("assistant", asked["response"])}
        return function(**{name: [value] for name, value in fields.items() if takes_all or name in parameters})[0]
    return call


def reply_to(result, components):
    if result is None:
        return {"undecided": True, "reason": "the function returned None"}
    parts = result if isinstance(result, dict) else {"score": result}
    score = float(parts["score"])
    reply = {"score": score, "correct": bool(parts.get("acc", score > 0.5))}
    return reply | ({"components": {name: float(parts[name]) for name in components}} if components else {})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("function", help="FILE.py or FILE.py:NAME")
    parser.add_argument("--data-source", default="")
    parser.add_argument("--chat", action="store_true", help="a function of TRL gets messages, as it does for conversational data sets")
    parser.add_argument("components", nargs="*", help="numbers of the dict to report, as reward.components names them")
    options = parser.parse_args()
    function = load(options.function)
    call = as_trl(function, options.chat) if "completions" in inspect.signature(function).parameters else as_verl(function, options.data_source)
    replies, sys.stdout = sys.stdout, sys.stderr  # what the function prints is no reply
    for line in sys.stdin:
        asked = json.loads(line)
        result = call(asked, asked.get("extra", {}))
        print(json.dumps({"id": asked["id"]} | reply_to(result, options.components)), file=replies, flush=True)


main()
