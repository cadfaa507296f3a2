#!/usr/bin/env python3
"""Calls a reward function written for TRL, verl, verifiers, prime-rl or NeMo-RL: reward.command = ["jobs/verifiers/compute_score.py", "my_rewards.py:NAME"]

The names of its parameters say which trainer it was written for; it gets what it would get there:
columns of the row as the file has them, and where the row has no such column the reference answer.
Where that is a list and the row has no column of the name, the function is asked about each answer,
and the highest score counts. A coroutine is awaited. Token ids are not known here.

  TRL                  completions, prompts, columns of the row, log_extra, log_metric, trainer_state.global_step
  verl                 data_source, solution_str, ground_truth, extra_info
  verl in batches      data_sources, solution_strs, ground_truths, extra_infos
  verifiers, prime-rl  completion, prompt, answer, info, task, state, parser (it keeps the whole text)
  NeMo-RL              ground_truth, response

It returns a number, a dict with "score", or a pair of score and correctness; for TRL and in batches
a list of one of these. None is no verdict. The score is the reward. The answer is correct where the
dict's "acc" or the pair says so (true or false, 1 or 0), or without them where the score is above 0.5. The dict's "pred" is
the answer that maj@k counts. An exception or an unusable result leaves the answer without a verdict."""
import argparse
import asyncio
import importlib.util
import inspect
import json
import math
import os
import pathlib
import sys
import traceback
from types import SimpleNamespace


class Unusable(Exception):
    """What the function returned, or what it asks for, cannot be used."""


def load(place):
    path, _, name = place.partition(":")
    name = name or "compute_score"
    if not pathlib.Path(path).is_file():
        sys.exit(f"compute_score.py: there is no file {path} in {pathlib.Path.cwd()}")
    spec = importlib.util.spec_from_file_location(pathlib.Path(path).stem, path)
    if spec is None:
        sys.exit(f"compute_score.py: {path} is no Python file: its name must end in .py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(pathlib.Path(path).resolve().parent))
    spec.loader.exec_module(module)
    function = getattr(module, name, None)
    if not callable(function):
        known = [key for key, value in vars(module).items() if inspect.isfunction(value) and value.__module__ == module.__name__]
        sys.exit(f"compute_score.py: {path} has no function {name}; it has {', '.join(known) or 'none'}: name one as {path}:NAME")
    return function


def ignore(*_, **__):
    pass


PARSER = SimpleNamespace(parse=lambda text: text, parse_answer=lambda completion: completion if isinstance(completion, str) else completion[-1]["content"])

# What a function of each trainer gets: `asked` is the line, `row` its "extra", `reference` one accepted answer.
def ground_truth(row, reference):
    model = row.get("reward_model")
    own = model.get("ground_truth") if isinstance(model, dict) else None
    return own if own is not None else row.get("ground_truth", reference)


def own_prompt(asked, row):
    own = row.get("prompt", row.get("messages"))
    return own if isinstance(own, (str, list)) else asked.get("prompt", "").removesuffix("\n")


def said(role, text):
    return [{"role": role, "content": text}]


def for_verl(asked, row, reference, options):
    return {"data_source": options.data_source or row.get("data_source", ""), "solution_str": asked["response"],
            "ground_truth": ground_truth(row, reference), "extra_info": row.get("extra_info", row)}


def for_verl_batches(*of_sample):
    return {name + "s": [value] for name, value in for_verl(*of_sample).items()}


def for_trl(asked, row, reference, options):
    prompt, response = own_prompt(asked, row), asked["response"]
    if options.chat or isinstance(prompt, list):
        prompt, response = prompt if isinstance(prompt, list) else said("user", prompt), said("assistant", response)
    columns = dict.fromkeys(("answer", "ground_truth", "solution"), reference) | row | {"prompts": prompt, "completions": response}
    step = asked["id"].split("/")[1:2]
    return {name: [value] for name, value in columns.items() if name not in ("prompt", "completion")} | {
        "log_extra": ignore, "log_metric": ignore, "trainer_state": SimpleNamespace(global_step=int(step[0]) if step and step[0].isdigit() else 0)}


def for_verifiers(asked, row, reference, options):
    prompt, info = own_prompt(asked, row), row.get("info", {})
    try:
        info = json.loads(info) if isinstance(info, str) else info
    except ValueError:
        pass
    values = {"prompt": prompt if isinstance(prompt, list) else said("user", prompt), "completion": said("assistant", asked["response"]),
              "answer": row.get("answer", reference), "info": info, "task": row.get("task", "")}
    return values | {"state": dict(values), "parser": PARSER}


def for_nemo_rl(asked, row, reference, options):
    return {"ground_truth": ground_truth(row, reference), "response": asked["response"]}


# trainer, parameters of which one tells that the function is its, what the function gets, whether it returns a list
SIGNATURES = (("TRL", ("completions",), for_trl, True),
              ("verl in batches", ("solution_strs",), for_verl_batches, True),
              ("verl", ("solution_str",), for_verl, False),
              ("verifiers and prime-rl", ("completion", "state"), for_verifiers, False),
              ("NeMo-RL", ("response",), for_nemo_rl, False))


class Function:
    """A reward function with what is known of its trainer."""

    def __init__(self, place, options):
        self.call, self.options, self.loop = load(place), options, asyncio.new_event_loop()
        self.folder = pathlib.Path(place.partition(":")[0]).resolve().parent
        try:
            parameters = inspect.signature(self.call).parameters.values()
        except ValueError:
            parameters = ()
        self.takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
        self.names = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        self.needed = [p.name for p in parameters if p.name in self.names and p.default is p.empty and p.name not in options.reward_kwargs]
        found = [row for row in SIGNATURES if any(name in self.names for name in row[1])]
        if not found or "completion_ids" in self.needed:
            why = "token ids are not known here" if "completion_ids" in self.names else "what to pass to it is not known"
            known = "; ".join(f"{trainer} ({' or '.join(names)})" for trainer, names, *_ in SIGNATURES)
            sys.exit(f"compute_score.py: {place} has the parameters {', '.join(self.names) or 'none by name'} ({why}); "
                     f"known are functions of {known}: its --help shows all parameters")
        self.trainer, _, self.values, self.returns_list = found[0]

    def arguments(self, asked, reference):
        values = self.values(asked, asked.get("extra", {}), reference, self.options) | self.options.reward_kwargs
        if lacking := [name for name in self.needed if name not in values]:
            raise Unusable(f"the function needs {', '.join(lacking)}; for {self.trainer} there is {', '.join(values)}; --reward-kwargs gives others")
        return {name: value for name, value in values.items() if self.takes_all or name in self.names}

    def verdicts(self, asked):
        accepted = asked["answer"] if isinstance(asked["answer"], list) else [asked["answer"]]
        calls = []
        for reference in accepted:
            call = self.arguments(asked, reference)
            if call not in calls:
                calls.append(call)
        for call in calls:
            result = self.call(**call)
            yield self.reply(self.loop.run_until_complete(result) if inspect.isawaitable(result) else result)

    def reply(self, result):
        if self.returns_list:
            result = only_one(result)
        parts, correct = result if isinstance(result, dict) else {"score": result}, None
        if isinstance(result, tuple) and len(result) == 2:
            parts, correct = {"score": result[0]}, result[1]
        if "score" not in parts:
            raise Unusable(f"the function returned a dict without \"score\"; it has {', '.join(map(str, parts))}")
        if parts["score"] is None:
            return {"undecided": True, "reason": "the function returned None"}
        score, correct = number(parts["score"]), parts.get("acc", correct)
        reply = {"score": score, "correct": score > 0.5 if correct is None else truth(correct)}
        if isinstance(parts.get("pred"), (str, int, float)):
            reply["extracted"] = str(parts["pred"])
        if lacking := [name for name in self.options.components if name not in parts]:
            raise Unusable(f"the function returned no {', '.join(lacking)}, which reward.components names")
        return reply | ({"components": {name: number(parts[name]) for name in self.options.components}} if self.options.components else {})

    def judge(self, asked):
        """The best verdict by the accepted answers; where the function fails, a reply that says how."""
        try:
            return max(self.verdicts(asked), key=lambda reply: reply.get("score", -math.inf))
        except Unusable as error:
            reason = str(error)
        except (Exception, SystemExit) as error:  # of the function: the next answer may be judged
            os.write(2, traceback.format_exc().encode())  # in one piece: other processes write there too
            places = [place for place in traceback.extract_tb(error.__traceback__) if place.filename != __file__ and place.filename[0] != "<"]
            places = [place for place in places if pathlib.Path(place.filename).resolve().parent == self.folder] or places
            at = f" ({pathlib.Path(places[-1].filename).name}:{places[-1].lineno})" if places else ""
            reason = " ".join(f"{type(error).__name__}: {error}{at}".split())
        return {"undecided": True, "ended": True, "failed": True, "reason": reason}


def only_one(rewards):
    try:
        rewards = None if isinstance(rewards, (str, dict)) else list(rewards)
    except TypeError:
        rewards = None
    if rewards is None:
        raise Unusable("the function returned no list; it is asked about a list of 1 completion")
    if len(rewards) != 1:
        raise Unusable(f"the function returned {len(rewards)} rewards for 1 completion")
    return rewards[0]


def number(value):
    try:
        found = float("text" if isinstance(value, (str, bytes)) else value)
    except (TypeError, ValueError):
        raise Unusable(f"the function returned {value!r:.80}, which is no number") from None
    if not math.isfinite(found):
        raise Unusable(f"the function returned {'NaN' if math.isnan(found) else 'an infinite number'}")
    return found


def truth(value):
    """A flag that the function returned: a bool, 0 or 1, also of NumPy or PyTorch. A text such as "no" is none."""
    try:
        plain = value.item() if hasattr(value, "item") else value
    except (TypeError, ValueError, RuntimeError):  # it has several elements
        plain = None
    if isinstance(plain, (bool, int, float)) and plain in (0, 1):
        return bool(plain)
    raise Unusable(f"the function says of correctness ('acc', or the second of a pair) {value!r:.80}, which is neither true nor false, nor 1 or 0")


def json_object(text):
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError
    return value


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("function", help="FILE.py or FILE.py:NAME; without a name, compute_score")
    parser.add_argument("--data-source", default="", help="verl's data_source; default: the row's")
    parser.add_argument("--chat", action="store_true", help="a function of TRL gets messages; default: where the row's prompt is a list of them")
    parser.add_argument("--reward-kwargs", type=json_object, default={}, help="further arguments of the function, as a JSON object")
    parser.add_argument("components", nargs="*", help="numbers of the dict to report, as reward.components names them")
    options = parser.parse_intermixed_args()
    # The function and its children may read and write as they like: 0 and 1 are no longer Rollcall's.
    requests, replies = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0), os.dup2(2, 1)
    function = Function(options.function, options)
    for line in requests:
        asked = json.loads(line)
        print(json.dumps({"id": asked["id"]} | function.judge(asked)), file=replies, flush=True)


main()
