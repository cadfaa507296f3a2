#!/usr/bin/env python3
"""A verifier of your own: the last number of the response must be the answer. reward.command = ["jobs/verifiers/grade.py"], reward.components = ["length"]"""
import json
import re
import sys

for line in sys.stdin:
    asked = json.loads(line)
    numbers = re.findall(r"-?\d+(?:\.\d+)?", asked["response"])
    correct = bool(numbers) and float(numbers[-1]) == float(asked["answer"])
    reply = {"id": asked["id"], "score": float(correct), "correct": correct, "components": {"length": len(asked["response"])}}
    print(json.dumps(reply | {"reason": f"last number {numbers[-1]}" if numbers else "no number"}), flush=True)
