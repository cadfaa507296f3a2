#!/usr/bin/env python3
"""The smallest environment: the policy must say the numbers from 1 on, one a turn, up to 3.

environment.command = ["jobs/environments/counter.py"]
"""
import json
import sys

for line in sys.stdin:
    asked = json.loads(line)
    said = 0 if asked["op"] == "reset" else asked["state"] + 1
    answer = {"id": asked["id"], "state": said, "text": f"I heard {said} numbers. Say the next one."}
    if asked["op"] == "step":
        right = asked["action"].strip() == str(said)
        answer.update(turn=asked["turn"], reward=float(right) / 3, done=not right or said == 3, correct=right and said == 3)
    print(json.dumps(answer), flush=True)
