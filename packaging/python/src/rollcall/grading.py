"""Judges answers with Rollcall's verifiers: one process of the program answers line by line."""

from __future__ import annotations

import atexit
import json
import os
import queue
import subprocess
import tempfile
import threading
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from .errors import InputError, ProgramError
from .program import failure, find_program
from .run import Path

Verdict = Dict[str, Any]
Answer = Union[str, int, float, Sequence[str], Mapping[str, Any]]


def serving_command(program: str, verifier: str, options: Sequence[str]) -> List[str]:
    """The command that reads lines of `score FILE` on standard input and answers each on
    standard output, in order."""
    return [program, "score", "--serve", "--verifier", verifier, *options]


class Grader:
    """A process that judges with one verifier; a context manager, safe to use from several
    threads.

    verifier: a row of `rollcall score --help`. extract, marker: how the answer is found in a
    response, as task.extract and task.answer_marker. timeout_s: longest wait for one verdict;
    every verifier has limits of its own, so this ends only a process that is stuck."""

    def __init__(
        self,
        verifier: str = "math",
        *,
        extract: Optional[str] = None,
        marker: Optional[str] = None,
        threads: int = 1,
        timeout_s: float = 300.0,
        program: Optional[Path] = None,
    ) -> None:
        self.verifier, self._timeout_s, self._program = verifier, timeout_s, program
        self._options = ["--threads", str(threads)]
        self._options += ["--extract", extract] if extract is not None else []
        self._options += ["--marker", marker] if marker is not None else []
        self._process: Optional["subprocess.Popen[str]"] = None
        self._errors: Any = None
        self._answers: "queue.Queue[Optional[str]]" = queue.Queue()
        self._lock, self._owner = threading.Lock(), os.getpid()

    def __enter__(self) -> "Grader":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def score(
        self,
        responses: Sequence[str],
        answers: Sequence[Answer],
        *,
        prompts: Optional[Sequence[str]] = None,
    ) -> List[Verdict]:
        """[{"verdict": "correct" | "wrong" | "undecided", "score", "reason", "extracted"}], one
        for each response, in order.

        answers: the references; a list of texts accepts each of them. For the verifier code they
        are its tests, as {"type": "assert", "code": "assert f(1) == 2"}. Raises InputError for
        lists of different lengths, ProgramError with the program's message for a reference that
        the verifier cannot use."""
        others = {"answers": answers, **({"prompts": prompts} if prompts is not None else {})}
        for name, values in others.items():
            if isinstance(values, str):
                raise InputError(
                    f"{name} is one text",
                    "each response needs its own",
                    f"give a list of as many {name} as responses",
                )
            if len(values) != len(responses):
                raise InputError(
                    f"there are {len(responses)} responses and {len(values)} {name}",
                    "each response needs its own",
                    "give lists of one length",
                )
        lines = []
        for number, response in enumerate(responses):
            if not isinstance(response, str):
                raise InputError(
                    f"response {number} is {type(response).__name__}, not a text",
                    "verifiers read texts",
                    "take the text of the message",
                )
            answer = answers[number]
            line: Dict[str, Any] = {
                "response": response,
                "answer": list(answer) if isinstance(answer, tuple) else answer,
            }
            if prompts is not None:
                line["prompt"] = prompts[number]
            lines.append(json.dumps(line, ensure_ascii=True))
        with self._lock:
            return self._judge(lines)

    def _start(self) -> "subprocess.Popen[str]":
        command = serving_command(find_program(self._program), self.verifier, self._options)
        self._errors = tempfile.TemporaryFile("w+", errors="replace")
        self._answers, self._owner = queue.Queue(), os.getpid()
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
            encoding="utf-8",
            start_new_session=True,
        )
        threading.Thread(target=_read, args=(process, self._answers), daemon=True).start()
        return process

    def _judge(self, lines: Sequence[str]) -> List[Verdict]:
        if self._owner != os.getpid():
            self._process = None  # the process belongs to the one that this one was forked from
        if self._process is None or self._process.poll() is not None:
            self._process = self._start()
        try:
            verdicts = self._exchange(self._process, lines)
        except BaseException:  # a Ctrl-C too: the next call would take the rest of these answers
            self._end(kill=True)
            raise
        for number, verdict in enumerate(verdicts):
            if "error" in verdict:
                raise ProgramError(
                    f"the verifier {self.verifier}, at response {number}: {verdict['error']}"
                )
        return verdicts

    def _exchange(self, process: "subprocess.Popen[str]", lines: Sequence[str]) -> List[Verdict]:
        """The process's answer to each line."""
        answers = self._answers
        writer = threading.Thread(target=_write, args=(process, lines), daemon=True)
        writer.start()
        verdicts: List[Verdict] = []
        while len(verdicts) < len(lines):
            try:
                line = answers.get(timeout=self._timeout_s)
            except queue.Empty:
                raise ProgramError(
                    f"the verifier {self.verifier} gave no verdict on response {len(verdicts)}"
                    f" within {self._timeout_s:g} s",
                    "its process seemed stuck and was ended",
                    "raise timeout_s, or report that response",
                ) from None
            if line is None:
                code = process.wait()
                self._errors.seek(0)
                raise failure(
                    f"rollcall score --verifier {self.verifier}, at response {len(verdicts)},",
                    code,
                    self._errors.read(),
                )
            verdicts.append(json.loads(line))
        writer.join()
        return verdicts

    def _end(self, kill: bool = False) -> None:
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        try:
            if process.stdin and not kill:
                process.stdin.close()  # the end of its input is the end of its work
        except OSError:
            pass
        try:
            process.wait(0 if kill else 10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def close(self) -> None:
        """Ends the process."""
        with self._lock:
            self._end()


def _read(process: "subprocess.Popen[str]", answers: "queue.Queue[Optional[str]]") -> None:
    assert process.stdout is not None
    for line in process.stdout:
        answers.put(line)
    answers.put(None)


def _write(process: "subprocess.Popen[str]", lines: Sequence[str]) -> None:
    assert process.stdin is not None
    try:
        for line in lines:
            process.stdin.write(line + "\n")
        process.stdin.flush()
    except (OSError, ValueError):
        pass  # it has ended, which the reader says


_graders: Dict[Tuple[Any, ...], Grader] = {}
_making = threading.Lock()


def score(
    responses: Sequence[str],
    answers: Sequence[Answer],
    verifier: str = "math",
    *,
    prompts: Optional[Sequence[str]] = None,
    extract: Optional[str] = None,
    marker: Optional[str] = None,
    program: Optional[Path] = None,
) -> List[Verdict]:
    """Judges responses by their reference answers: Grader.score() of a process that is kept for
    the next call and ends with this one."""
    key = (verifier, extract, marker, program)
    with _making:
        if key not in _graders:
            _graders[key] = Grader(verifier, extract=extract, marker=marker, program=program)
    return _graders[key].score(responses, answers, prompts=prompts)


@atexit.register
def _close_all() -> None:
    for grader in _graders.values():
        grader.close()
