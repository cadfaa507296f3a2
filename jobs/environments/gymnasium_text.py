#!/usr/bin/env python3
"""Plays an environment of Gymnasium (https://gymnasium.farama.org) whose observations read as text.

environment.command = ["jobs/environments/gymnasium_text.py", "FrozenLake-v1", "{\\"map_name\\": \\"4x4\\"}"]
The second argument holds the keyword arguments of gymnasium.make as JSON. The policy's last line is the
action: the text itself for a Text space, else JSON ("3", "[0, 1]"). A line that is no action of the
space is told so, pays nothing and moves nothing. The environment keeps its state, so each conversation
stays in its process until it is closed. A conversation is correct if it terminates with a positive reward.
"""
import json
import sys

import gymnasium


def shown(value):
    """An observation as text: a text as it is, everything else as JSON."""
    plain = value.tolist() if hasattr(value, "tolist") else value
    return plain if isinstance(plain, str) else json.dumps(plain, default=lambda inner: inner.tolist())


def action_of(space, line):
    """The action that a line names; None where it names none of the space."""
    try:
        if isinstance(space, gymnasium.spaces.Text):
            return line if space.contains(line) else None
        given = json.loads(line)
        action = space.from_jsonable([given])[0] if hasattr(space, "from_jsonable") else given
        return action if space.contains(action) else None
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        return None


def step(game, said):
    """The answer to an action."""
    action = action_of(game.action_space, (said.strip().splitlines() or [""])[-1].strip())
    if action is None:
        return {"text": f"That is no action. The actions are {game.action_space}.", "reason": "no action"}
    seen, reward, terminated, truncated, _ = game.step(action)
    answer = {"text": shown(seen), "reward": float(reward), "done": bool(terminated or truncated)}
    return {**answer, "correct": bool(terminated and reward > 0)} if answer["done"] else answer


games = {}
for line in sys.stdin:
    asked = json.loads(line)
    name = asked["id"]
    if asked["op"] == "close":
        if name in games:
            games.pop(name).close()
        continue
    if asked["op"] == "reset":
        games[name] = gymnasium.make(sys.argv[1], **json.loads((sys.argv[2:] or ["{}"])[0]))
        seen, _ = games[name].reset(seed=asked["seed"] % 2**31)
        answer = {"text": f"{asked['prompt']}\n{shown(seen)}".strip()}
    else:
        answer = step(games[name], asked["action"])
    print(json.dumps({"id": name, "turn": asked.get("turn"), "state": None, **answer}), flush=True)
