"""Writes tests/text/fixtures/: small tokenizers with what Hugging Face's library makes of some texts, for tests that run without it.

    PYTHON tokenizer_fixtures.py FOLDER     PYTHON has `tokenizers`"""
import json
import pathlib
import sys

import tokenizers

import mixed_text
import tokenizer_styles

STYLES = ["gpt2", "gpt2_unknown_fused", "roberta", "smollm", "qwen2", "llama3", "gpt4_possessive", "o200k", "deepseek", "falcon", "llama2", "mistral", "gemma", "strip_metaspace_first_True",
          "normalizer_NFKC", "normalizer_sequence", "word_ends", "word_inner", "expression_1", "split_vowels_merged_with_next_True", "added_bytes_10010", "added_lower_01111", "added_llama2_01110"]


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    draw = mixed_text.stream(7)
    texts = ["", " ", "Hello world", "it's 1234 o'clock, isn't IT'S?", "x" * 70, " \n \n  a"] + [mixed_text.text(draw, 40) for _ in range(14)] + [mixed_text.adversarial(draw)[:60] for _ in range(20)]
    write(folder / "texts.json", texts)
    for name, text in tokenizer_styles.all_styles().items():
        if name not in STYLES:
            continue
        theirs = tokenizers.Tokenizer.from_str(text)
        (folder / name).mkdir(exist_ok=True)
        write(folder / name / "tokenizer.json", json.loads(text))
        ids = [theirs.encode(given, add_special_tokens=False).ids for given in texts]
        around = theirs.encode("Hello world").ids
        lists = [found[: len(found) * (1 + i % 4) // 4] for i, found in enumerate(ids)][:24] + [around, [0, 1, 2, 10, 300, 5]]
        lists = [found for found in lists if found]  # the library cannot decode an empty list with every decoder
        write(folder / name / "cases.json", {"made_by": f"tests/text/references/tokenizer_fixtures.py, tokenizers {tokenizers.__version__}", "ids": ids, "around_hello_world": around,
                                             "lists": lists, "decoded": theirs.decode_batch(lists, skip_special_tokens=True), "decoded_special": theirs.decode_batch(lists, skip_special_tokens=False)})


main()
