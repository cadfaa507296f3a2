"""What was said in conversations, turn by turn. The files hold tokens, which the program decodes
with the tokenizer of the run."""

from __future__ import annotations

import json
from typing import List, Optional

from .program import ask
from .run import Path, Row, Run


def turn_texts(run: Run, program: Optional[Path] = None) -> List[Row]:
    """A dict for each turn of the chosen rollouts that are conversations, in the order of the
    archive: purpose, step, prompt_id, draw, sample, turn (from 0), role (prompt, policy,
    environment), text, and what the environment made of it.

    A prompt's text is what the policy was shown. text is None where the run's tokenizer cannot be
    read, and for a turn of the policy whose words are in the text of its next one. Raises
    ProgramError."""
    chosen = ["--purpose", run._purpose] if run._purpose is not None else []
    if run._first == run._last:
        chosen += ["--step", str(run._first)]
    found: List[Row] = []
    for line in ask(["archive", "export", str(run.path), *chosen], program).splitlines():
        rollout = json.loads(line)
        if not run._first <= rollout["step"] <= run._last:
            continue
        names = ("purpose", "step", "prompt_id", "draw", "sample")
        own = {name: rollout[name] for name in names}
        for number, turn in enumerate(rollout.get("turns", ())):
            found.append({**own, "turn": number, **turn})
    return found
