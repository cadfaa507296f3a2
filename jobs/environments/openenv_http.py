#!/usr/bin/env python3
"""Plays an environment of an OpenEnv server (https://github.com/meta-pytorch/OpenEnv).

environment.command = ["jobs/environments/openenv_http.py", "http://127.0.0.1:8000", "message", "echoed_message"]
URL, then the field of the action that the policy's text becomes (without it, or with "", the text must be
a JSON object), then the field of the observation that the policy is shown (without it: all, as JSON).
A server of openenv-core 0.3 makes a new environment for each POST of /step, and keeps one for as long as a
WebSocket is open. So each conversation is a WebSocket, and stays in its process until it is closed. Let
the server take as many as there are conversations (max_concurrent_envs). An action that the server
refuses is told to the policy and pays nothing. The server does not say whether a task is solved.
"""
import base64
import json
import os
import socket
import sys
import urllib.parse

URL = urllib.parse.urlsplit(sys.argv[1])
ACTION, SHOWN = (sys.argv[2:] + ["", ""])[:2]
TIMEOUT_S = 20  # below environment.timeout_s


class Game:
    """One session of the server: a WebSocket (RFC 6455) that sends and receives JSON."""

    def __init__(self):
        self.socket = socket.create_connection((URL.hostname, URL.port or 80), TIMEOUT_S)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET {URL.path.rstrip('/')}/ws HTTP/1.1\r\nHost: {URL.netloc}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                             f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n").encode())
        self.stream = self.socket.makefile("rb")
        status = self.stream.readline().decode(errors="replace").strip()
        while self.stream.readline().strip():
            pass
        if " 101 " not in status + " ":
            raise ConnectionError(f"the server does not speak WebSocket: {status}")

    def send(self, payload, opcode=1):
        size, mask = len(payload), os.urandom(4)
        head = bytes([128 | opcode]) + (bytes([128 | size]) if size < 126 else bytes([254]) + size.to_bytes(2, "big") if size < 65536
                                        else bytes([255]) + size.to_bytes(8, "big"))
        self.socket.sendall(head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload)))

    def read(self, count):
        """Exactly so many bytes."""
        got = self.stream.read(count)
        if len(got) < count:
            raise ConnectionError("the server has closed the session")
        return got

    def receive(self):
        """The next message, whose frames are put together; a ping is answered on the way."""
        message = b""
        while True:
            first, size = self.read(2)
            size = int.from_bytes(self.read(2 if size == 126 else 8), "big") if size > 125 else size
            payload, opcode = self.read(size), first & 15
            if opcode == 8:
                raise ConnectionError("the server has closed the session")
            if opcode == 9:
                self.send(payload, 10)
            if opcode < 3:
                message += payload
                if first & 128:
                    return json.loads(message)

    def ask(self, kind, data):
        self.send(json.dumps({"type": kind, "data": data}).encode())
        return self.receive()


def answer_of(told, beginning=""):
    """What the server says, as an answer to Rollcall."""
    seen = told["data"]["observation"]
    text = str(seen[SHOWN]) if SHOWN else json.dumps(seen)
    done, reward = told["data"]["done"], told["data"].get("reward") or 0
    if not isinstance(done, bool) or not isinstance(reward, (int, float)):
        raise ValueError(f"the server says done {done!r:.40} and reward {reward!r:.40}, which are no flag and number of JSON")
    return {"text": beginning + text, "reward": float(reward), "done": done}


def step(game, said):
    try:
        action = {ACTION: said} if ACTION else json.loads(said)
    except ValueError:
        return {"text": "That is no JSON object.", "reason": "no action"}
    told = game.ask("step", action)
    if told["type"] == "error":
        return {"text": f"That is no action: {told['data'].get('message', '')}", "reason": "no action"}
    return answer_of(told)


games = {}
for line in sys.stdin:
    asked = json.loads(line)
    name = asked["id"]
    try:
        if asked["op"] == "close":
            if name in games:
                games.pop(name).socket.close()
            continue
        if asked["op"] == "reset":
            games[name] = Game()
            told = games[name].ask("reset", {"seed": asked["seed"], "episode_id": name})
            if told["type"] == "error":
                raise ConnectionError(told["data"].get("message", "reset failed"))
            answer = answer_of(told, asked["prompt"] + "\n" if asked["prompt"] else "")
            if answer.pop("done"):
                raise ValueError("the episode is over before its first action")
            answer.pop("reward")
        else:
            answer = step(games[name], asked["action"])
    except (OSError, ValueError, KeyError) as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    print(json.dumps({"id": name, "turn": asked.get("turn"), "state": None, **answer}), flush=True)
