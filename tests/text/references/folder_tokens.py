"""What transformers' AutoTokenizer makes of model folders whose special tokens stand in different files (folder_cases.py).

    PYTHON folder_tokens.py --write                      writes ../fixtures/folders.json, which text/folder_tokens_test.cpp reads
    PYTHON folder_tokens.py PROGRAM [--random N] [--seed S]   compares with PROGRAM (folder_tokens of the build) on the cases and on N random folders
    PYTHON folder_tokens.py PROGRAM --classes                 compares on every model type that transformers knows, with and without a class in a file

PYTHON has `transformers`. Equal are ids of texts, the texts of ids without special tokens, the variables of templates, and the
templates for conversations without and with tools. Ends with the counts; exit code 1 if any differ."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TRANSFORMERS_VERBOSITY"] = "critical"
import transformers  # noqa: E402  (the variables are read at import)

import folder_cases  # noqa: E402

OWN_TYPES = ["llama", "qwen2", "qwen3", "smollm3", "of-nobody"]
CLASSES = ["GPT2Tokenizer", "CodeGenTokenizer", "GPTNeoXTokenizer", "Qwen2Tokenizer", "Qwen3_5Tokenizer", "LlamaTokenizer", "CodeLlamaTokenizer", "GemmaTokenizer", "CLIPTokenizer", "CohereTokenizer",
           "RobertaTokenizer", "BlenderbotTokenizer", "DebertaTokenizer", "WhisperTokenizer", "PreTrainedTokenizerFast", "OfNobodyTokenizer"]
FIXTURE = pathlib.Path(__file__).parent.parent / "fixtures/folders.json"


def theirs(path, texts):
    """{"ids", "templates", "decoded", "variables"}, or {"error"}."""
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(path)
        ids = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
        every = list(range(len(tokenizer)))
        templates = [chosen(tokenizer, None), chosen(tokenizer, [])] if tokenizer.chat_template else []
        return {"ids": ids, "templates": templates, "decoded": [tokenizer.decode([i], skip_special_tokens=True, clean_up_tokenization_spaces=False) for i in every], "variables": dict(tokenizer.special_tokens_map)}
    except Exception as error:  # the library may refuse a folder in any way
        return {"error": f"{type(error).__name__}: {error}"}


def chosen(tokenizer, tools):
    """The template for a conversation without tools (None) or with them; None where it has none."""
    try:
        return tokenizer.get_chat_template(tools=tools)
    except ValueError:
        return None


def write():
    found = []
    for name, files in folder_cases.cases().items():
        with tempfile.TemporaryDirectory() as path:
            folder_cases.write(files, pathlib.Path(path))
            found.append({"name": name, "files": files, **theirs(path, folder_cases.TEXTS)})
    wrong = [case for case in found if "error" in case]
    if wrong:
        sys.exit(f"transformers refuses {wrong}")
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in found)
    head = json.dumps({"made_by": f"tests/text/references/folder_tokens.py, transformers {transformers.__version__}", "texts": folder_cases.TEXTS}, ensure_ascii=False)
    FIXTURE.write_text(head[:-1] + ',\n"folders": [\n' + lines + "\n]}\n", encoding="utf-8")


def types_and_classes():
    """Folders for the table of src/text/tokenizer/tokenizer_class.cpp: every type whose class it has or that has none."""
    from transformers.models.auto import tokenization_auto as auto

    for model_type in OWN_TYPES + sorted(set(auto.TOKENIZER_MAPPING_NAMES) & set(auto.CONFIG_MAPPING_NAMES) | auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS):
        registered = auto.TOKENIZER_MAPPING_NAMES.get(model_type, "TokenizersBackend")
        if registered is None:  # sentencepiece is not installed
            continue
        known = registered.removesuffix("Fast") in CLASSES + ["TokenizersBackend", "MistralCommonBackend"]
        for named in [None] + (CLASSES if model_type in OWN_TYPES else ["GPT2TokenizerFast", "PreTrainedTokenizerFast"]):
            if known or named == "GPT2TokenizerFast":
                yield f"{model_type}, {named}", folder_cases.of_class(model_type, {"tokenizer_class": named} if named else None)


def folders(arguments):
    if arguments.classes:
        for name, files in types_and_classes():
            yield name, files, [text for text in folder_cases.OF_CLASSES if text != "<FILL_ME>"]  # which CodeLlama fills
        return
    for name, files in folder_cases.cases().items():
        yield name, files, folder_cases.TEXTS
    for i in range(arguments.random):
        made = folder_cases.Random(arguments.seed + i)
        yield f"seed {arguments.seed + i}", made.folder(), made.texts()


def compare(arguments):
    program = subprocess.Popen([arguments.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    counts = {"same": 0, "refused by both": 0, "refused by transformers": 0, "refused by Rollcall": 0, "different": 0}
    for name, files, texts in folders(arguments):
        with tempfile.TemporaryDirectory() as path:
            folder_cases.write(files, pathlib.Path(path))
            wanted = theirs(path, texts)
            program.stdin.write(json.dumps({"folder": path, "texts": texts, "tokens": len(wanted.get("decoded", []))}) + "\n")
            program.stdin.flush()
            ours = json.loads(program.stdout.readline())
        if "error" in ours or "error" in wanted:
            found = "refused by both" if "error" in ours and "error" in wanted else "refused by Rollcall" if "error" in ours else "refused by transformers"
        else:
            if arguments.classes:  # a class may cut what lies between special tokens in its own way
                ours, wanted = ({"variables": one["variables"], "whole": [len(ids) == 1 for ids in one["ids"]]} for one in (ours, wanted))
            found = "same" if ours == wanted else "different"
        counts[found] += 1
        if (found == "different" and counts[found] <= arguments.show) or (found == "refused by Rollcall" and arguments.show_refused):
            print(f"{name}: {found}\n  files {json.dumps(files)}\n  texts {texts}\n  theirs {wanted}\n  ours   {ours}")
    print(", ".join(f"{count} {what}" for what, count in counts.items()) + f" (transformers {transformers.__version__})")
    sys.exit(1 if counts["different"] or not counts["same"] else 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--random", type=int, default=0)
    parser.add_argument("--classes", action="store_true")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--show", type=int, default=3)
    parser.add_argument("--show-refused", action="store_true")
    arguments = parser.parse_args()
    write() if arguments.write else compare(arguments)


main()
