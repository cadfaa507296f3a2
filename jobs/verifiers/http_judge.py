#!/usr/bin/env python3
"""A verifier that asks a server: POST of the sample as JSON to URL, which answers {"score": ..., "correct": ..., "reason": ...}. A failed request is repeated twice; then
there is no verdict, and the run goes on without it. reward.command = ["jobs/verifiers/http_judge.py", "http://127.0.0.1:8000/judge"]"""
import json
import sys
import time
import urllib.error
import urllib.request

URL, TIMEOUT_S, TRIES = sys.argv[1], 10, 3  # keep TRIES * TIMEOUT_S below reward.timeout_s


def ask(sample):
    request = urllib.request.Request(URL, json.dumps(sample).encode(), {"Content-Type": "application/json"})
    for attempt in range(TRIES):
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                verdict = json.load(answer)
            return {"score": verdict["score"], "correct": verdict["correct"], "reason": verdict.get("reason", "")}
        except (OSError, ValueError, KeyError) as error:  # refused, timed out, HTTP 500, not JSON, half an answer
            print(f"{sample['id']}: attempt {attempt + 1} of {TRIES}: {error!r}", file=sys.stderr, flush=True)
            time.sleep(0.1 * 2**attempt)
    return {"undecided": True, "reason": "the judge gave no answer"}


for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"id": asked["id"], **ask(asked)}), flush=True)
