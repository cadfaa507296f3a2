"""Compares `rollcall tokenize` with Hugging Face's tokenizers: ids without and with special tokens, and texts of ids, over real and synthetic tokenizers.

    PYTHON tokenizer_parity.py BINARY [--characters N] [--strings N] [--seed S] [--only NAME] [--synthetic-share F] TOKENIZER.json ...

PYTHON has `tokenizers`. The long form is --characters 100000000 --strings 1000000. Ends with the counts, or with the first difference of each tokenizer and exit code 1."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["TOKENIZERS_PARALLELISM"] = "true"
import tokenizers  # noqa: E402  (the variable is read at import)

import mixed_text  # noqa: E402
import tokenizer_styles  # noqa: E402


class Driver:
    """rollcall tokenize as a filter over many lines."""

    def __init__(self, binary, path):
        self.command = [binary, "tokenize", str(path)]

    def ask(self, values, *flags):
        lines = "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values)
        done = subprocess.run([*self.command, *flags], input=lines.encode(), capture_output=True)
        if done.returncode != 0:
            raise SystemExit(f"{self.command} {flags}: {done.stderr.decode()}")
        return [json.loads(line) for line in done.stdout.decode().split("\n")[:-1]]


def compare(name, what, given, ours, theirs):
    if len(ours) != len(theirs):
        print(f"{name}: {len(ours)} answers to {len(theirs)} {what}")
        return 1
    wrong = [i for i in range(len(theirs)) if ours[i] != theirs[i]]
    if wrong:
        i = min(wrong, key=lambda at: len(given[at]))
        print(f"{name}: {what}: {len(wrong)} of {len(theirs)} differ; the shortest\n  given  {given[i]!r:.600}\n  ours   {ours[i]!r:.600}\n  theirs {theirs[i]!r:.600}")
    return len(wrong)


def readable(name, theirs, texts):
    """The texts on which the library does not panic: it does on some that are left empty in the middle of its own steps."""
    try:
        theirs.encode_batch(texts)
        return texts
    except BaseException:
        kept = []
    for text in texts:
        try:
            theirs.encode(text)
            kept.append(text)
        except BaseException:
            continue
    print(f"{name}: the library panics on {len(texts) - len(kept)} of {len(texts)} texts")
    return kept


def check(name, binary, path, texts, draw):
    """Differences between the two over some texts."""
    theirs, driver = tokenizers.Tokenizer.from_file(str(path)), Driver(binary, path)
    theirs.no_truncation(), theirs.no_padding()
    texts = readable(name, theirs, texts)
    ids = [encoding.ids for encoding in theirs.encode_batch(texts, add_special_tokens=False)]
    around = [encoding.ids for encoding in theirs.encode_batch(texts, add_special_tokens=True)]
    bad = compare(name, "texts", texts, driver.ask(texts), ids)
    bad += compare(name, "texts with special tokens", texts, driver.ask(texts, "--special"), around)
    size = theirs.get_vocab_size()
    cut = [found[: draw.randint(0, len(found))] for found in around] + [[draw.randrange(size + 5) for _ in range(draw.randint(0, 9))] for _ in range(200)]
    if theirs.decoder is not None and type(theirs.decoder).__name__ in ("BPEDecoder", "Strip"):
        cut = [found for found in cut if found and all(theirs.id_to_token(i) for i in found)]  # the library panics on empty lists and on short texts
    for flags, skip in (([], True), (["--special"], False)):
        try:
            expected = theirs.decode_batch(cut, skip_special_tokens=skip)
        except BaseException as e:  # a panic of the library
            print(f"{name}: the library cannot decode: {str(e)[:80]}")
            continue
        bad += compare(name, f"lists of ids to decode {flags}", cut, driver.ask(cut, "--decode", *flags), expected)
    return bad


def batches(characters, strings, seed):
    """Texts of some hundred characters, in batches that fit in memory, then short adversarial ones."""
    draw = mixed_text.stream(seed)
    while characters > 0:
        batch = []
        while characters > 0 and len(batch) < 10_000:
            batch.append(mixed_text.text(draw, draw.choice([20, 100, 400, 1000])))
            characters -= len(batch[-1])
        yield batch
    for done in range(0, strings, 50_000):
        yield [mixed_text.adversarial(draw) for _ in range(min(50_000, strings - done))]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("real", nargs="*")
    parser.add_argument("--characters", type=int, default=1_000_000)
    parser.add_argument("--strings", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("--synthetic-share", type=float, default=0.02, help="of the texts, for each synthetic tokenizer")
    options = parser.parse_intermixed_args()
    print(f"tokenizers {tokenizers.__version__}, seed {options.seed}")
    bad, counted, compared = 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for name, text in tokenizer_styles.all_styles().items():
            paths[name] = pathlib.Path(folder) / f"{name}.json"
            paths[name].write_text(text)
        work = [(path, path, 1.0) for path in options.real] + [(name, path, options.synthetic_share) for name, path in paths.items()]
        for name, path, share in work:
            if options.only and options.only not in str(name):
                continue
            draw, wrong = mixed_text.stream(options.seed + 1), 0
            for batch in batches(int(options.characters * share), int(options.strings * share), options.seed):
                wrong += check(name, options.binary, path, ["", *batch], draw)
                counted += sum(map(len, batch))
                compared += len(batch)
                if wrong:
                    break
            bad += wrong > 0
            print(f"{'DIFFERS' if wrong else 'same'}  {name}", flush=True)
    print(f"{compared} texts, {counted} characters, {len(work)} tokenizers, {bad} of them differ")
    sys.exit(bad > 0)


main()
