"""Model folders whose special tokens stand in different files, for the comparison with transformers' AutoTokenizer: cases by hand, and random ones by seed."""

import json
import random

VOCABULARY = ["a", "b", "e", "s", "x", "<", ">", "/", "|", "[", "]", "Ġ", "ab", "<e>", "<s>", "<x>", "[P]"]


def token(content, **flags):
    """As files of transformers spell it; without flags they have their defaults."""
    return {"content": content, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True, **flags}


def plain(content, **flags):
    return {key: value for key, value in token(content, **flags).items() if key != "special"}


def typed(content, **flags):
    return {"__type": "AddedToken", **token(content, **flags)}


def tokenizer(added=(), vocabulary=None, normalizer=None, prefix=False, padding=None):
    """tokenizer.json: GPT-2's cuts over a few letters, with entries that look like special tokens."""
    entries = {text: i for i, text in enumerate(VOCABULARY)} if vocabulary is None else vocabulary
    first = len(entries)
    known = [(one if isinstance(one, dict) else token(one)) for one in added]
    listed = []
    for one in known:
        at = entries.get(one["content"], first)
        first += one["content"] not in entries
        listed.append({"id": at, **one})
    return {"version": "1.0", "truncation": None, "padding": padding, "added_tokens": listed, "normalizer": normalizer,
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": True}, "post_processor": None,
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
            "model": {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None, "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
                      "ignore_merges": False, "vocab": entries, "merges": [["a", "b"]]}}


def folder(json_file=None, config=None, **others):
    files = {"config.json": {"model_type": "phi3"}, "tokenizer.json": json_file or tokenizer()}  # of a type for which AutoTokenizer reads tokenizer.json as it is
    if config is not None:
        files["tokenizer_config.json"] = config
    for name, content in others.items():
        files[name + ".json"] = content
    return files


END, QWEN_CUTS = "<|endoftext|>", r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
# What classes of transformers give where no file does, in vocabularies that do not list it as added.
OF_CLASSES = ["<unk>", "</s>", END, "<|padding|>", "<pad>", "<bos>", "<eos>", "<mask>", "<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>", "<UNK>", "<SEP>", "<PAD>", "<CLS>", "<MASK_TOKEN>", "[CLS]", "[SEP]",
              "[UNK]", "[PAD]", "[MASK]", "<FILL_ME>"]
CLASS_TEXTS = ["a<|endoftext|>b", "<s>a</s>b<unk>", "<|endoftext|>" + "x".join(OF_CLASSES) + "x<s>", "<s><n><e>a</s> <pad>"]


def of_class(model_type, config=None, shape="bytes", prefix=False, added=(), padding=None, **others):
    """A folder of a model type that transformers knows; `shape`: the parts of tokenizer.json that its class builds."""
    letters = sorted({letter for text in CLASS_TEXTS for letter in text if letter != " "} - set(VOCABULARY))  # a class may have its own answer to unknown ones
    file = tokenizer(added, {text: i for i, text in enumerate(VOCABULARY + letters + OF_CLASSES + ["\u2581", "\u2581a", "\u2581<PRE>", "\u2581<EOT>"])}, prefix=prefix, padding=padding)
    if shape == "qwen":
        file["normalizer"] = {"type": "NFC"}
        file["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": QWEN_CUTS}, "behavior": "Isolated", "invert": False},
                                                                       {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": False}]}
    if shape == "marks":
        file["pre_tokenizer"] = {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False}
        file["decoder"] = {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]}
        file["model"].update(byte_fallback=True, fuse_unk=True, merges=[["a", "b"], ["\u2581", "a"]])
    if model_type is None:
        return {**folder(file, config, **others), "config.json": {}}
    return {**folder(file, config, **others), "config.json": {"model_type": model_type}}


LOWER = {"type": "Lowercase"}
PADDING = {"strategy": "BatchLongest", "direction": "Right", "pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "[P]"}


def templates(config=None, **files):
    """Chat templates that name themselves."""
    main = {"chat_template.jinja": files.pop("main")} if "main" in files else {}
    return {**folder(config={"chat_template": config} if config is not None else {}), **main, **{f"additional_chat_templates/{name}.jinja": text for name, text in files.items()}}


def class_cases():
    """Folders that leave their special tokens or the prefix space to the class."""
    plain_llama = {"tokenizer_class": "LlamaTokenizerFast"}
    return {
        "gpt2 without a file beside": of_class("gpt2"),
        "gpt2 puts no space": of_class("gpt2", prefix=True),
        "gpt2 with a null": of_class("gpt2", {"eos_token": None, "unk_token": "<x>"}, padding=PADDING),
        "neox by its class": of_class("llama", {"tokenizer_class": "GPTNeoXTokenizerFast", "eos_token": "<e>"}, shape="bytes"),
        "qwen2 without a file beside": of_class("qwen2", shape="qwen"),
        "qwen2 names another class": of_class("qwen2", {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<e>"}, shape="qwen"),
        "qwen2 keeps no flags": of_class("qwen2", {"tokenizer_class": "Qwen2Tokenizer", "eos_token": typed("<e>", lstrip=True), "extra_special_tokens": [typed("<n>", rstrip=True)]}, shape="qwen"),
        "qwen3 without a file beside": of_class("qwen3", shape="qwen", added=["<e>"]),
        "qwen3 with a prefix space": of_class("qwen3", {"add_prefix_space": True}, shape="qwen"),
        "qwen3 names another class": of_class("qwen3", {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<e>"}, shape="qwen"),
        "llama without a file beside": of_class("llama"),
        "llama by its class": of_class("llama", plain_llama, shape="marks"),
        "llama by its class over bytes": of_class("llama", plain_llama),
        "llama's class for another type": of_class("mistral", plain_llama, shape="marks"),
        "smollm3 without a file beside": of_class("smollm3"),
        "a class in config.json": {**of_class("llama"), "config.json": {"model_type": "llama", "tokenizer_class": "GPT2Tokenizer"}},
        "a class in special_tokens_map.json's company": of_class("gpt2", special_tokens_map={"eos_token": None, "add_prefix_space": True}),
    }


def cases():
    named = [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}, {"name": "rag", "template": "r"}]
    decoder = {"13": token("<e>", lstrip=True), "20": token("<n>"), "14": token("<s>", special=False)}
    return {
        "an entry named as eos_token": folder(config={"eos_token": "<e>"}),
        "flags of a named token": folder(config={"eos_token": typed("<e>", lstrip=True, rstrip=True), "sep_token": typed("<s>", normalized=True, special=False)}),
        "all seven names": folder(config={f"{name}_token": text for name, text in zip(["bos", "eos", "unk", "sep", "pad", "cls", "mask"], ["<s>", "<e>", "<x>", "[P]", "ab", "<c>", "<m>"])}),
        "names of the model's own": folder(config={"boi_token": "<x>", "image_token": typed("[P]", rstrip=True), "add_bos_token": True, "extra_special_tokens": {"audio_token": "<e>", "k": "<n>"}}),
        "no vocabulary entry": folder(config={"pad_token": "<p>", "bos_token": "<b>", "own_token": "<o>", "extra_special_tokens": ["<z>", "<y>"]}),
        "added_tokens_decoder": folder(config={"eos_token": "<e>", "added_tokens_decoder": decoder}),
        "added_tokens_decoder over tokenizer.json": folder(tokenizer([token("<e>", special=False), token("<s>", lstrip=True)]), config={"added_tokens_decoder": decoder}),
        "added_tokens_decoder makes older files mute": folder(config={"added_tokens_decoder": {}, "eos_token": "ab"}, special_tokens_map={"eos_token": "<e>"}, added_tokens={"<s>": 14}),
        "its ids only order": folder(config={"added_tokens_decoder": {"90": token("<n>"), "3": token("<m>"), "5": token("ab")}}),
        "added_tokens.json": folder(added_tokens={"<e>": 13, "<n>": 18, "<m>": 17}),
        "added_tokens.json, named elsewhere": folder(config={"eos_token": "<e>", "extra_special_tokens": ["<n>"]}, added_tokens={"<e>": 13, "<n>": 17, "<s>": 14}),
        "special_tokens_map.json": folder(config={"eos_token": "ab", "pad_token": "<x>"},
                                          special_tokens_map={"eos_token": plain("<e>", rstrip=True), "pad_token": None, "additional_special_tokens": ["<s>", "<n>"], "own_token": "[P]"}),
        "lists of two files": folder(config={"extra_special_tokens": ["ab"]}, special_tokens_map={"extra_special_tokens": ["<e>", plain("<s>", lstrip=True), "ab"], "additional_special_tokens": ["<x>"]}),
        "the older list": folder(config={"additional_special_tokens": ["<e>", typed("<s>", lstrip=True)], "extra_special_tokens": {}}),
        "the older list beside the newer": folder(config={"additional_special_tokens": ["<e>"], "extra_special_tokens": ["<s>"]}),
        "tokenizer.json's own named": folder(tokenizer([token("<e>", special=False), "<s>"]), config={"eos_token": "<e>", "extra_special_tokens": ["<s>", "<x>"]}),
        "normalized": folder(tokenizer([token("<E>", normalized=True)], normalizer=LOWER), config={"eos_token": typed("<X>", normalized=True), "bos_token": "<S>"}),
        "single words": folder(config={"added_tokens_decoder": {"12": token("ab", single_word=True, special=False), "13": token("<e>", rstrip=True)}}),
        "split_special_tokens": folder(tokenizer(["<e>", token("ab", special=False)]), config={"split_special_tokens": True, "eos_token": "<s>"}),
        "padding of tokenizer.json": folder(tokenizer(padding=PADDING), config={"eos_token": "<e>"}),
        "add_prefix_space of GPT-2's class": {**folder(config={"tokenizer_class": "GPT2TokenizerFast", "add_prefix_space": True, "unk_token": "<x>", "bos_token": "<s>", "eos_token": "<e>"}),
                                              "config.json": {"model_type": "gpt2"}},
        **class_cases(),
        "a token stated three times": folder(config={"bos_token": typed("<n>", lstrip=True), "eos_token": typed("<n>", rstrip=True), "unk_token": typed("<n>", lstrip=True)}),
        "settings of special_tokens_map.json": folder(tokenizer(["<e>"]), special_tokens_map={"eos_token": "<e>", "split_special_tokens": True}),
        "a template": templates("one"),
        "templates in a list": templates(named),
        "templates in a list, the last of a name": templates(named + [{"name": "default", "template": "e"}]),
        "templates in an object": templates({"tool_use": "t", "default": "d"}),
        "a list without tool_use": templates(named[:1] + named[2:]),
        "a list without default": templates(named[1:]),
        "neither of the two": templates(named[2:]),
        "a file before the list": templates(named, main="file"),
        "more files": templates("config", main="file", tool_use="t", rag="r"),
        "more files alone": templates("config", tool_use="t"),
        "a file called default": templates(main="file", default="d"),
        "ids above the vocabulary": folder(tokenizer(["ab"], vocabulary={**{text: i for i, text in enumerate(VOCABULARY) if text != "ab"}, "ab": 40}), config={"eos_token": "<n>"}),
    }


TEXTS = ["a<|endoftext|>b", "a<s>b</s>", "a<e>", " a <e> b <s>x", "<S><s><X> <x>  <E>ab", "xab ab abs <n> <m>", "[P][P]<p><b> <o>", "<z><y>|<e><e> ab<c><m>", "", " "]


class Random:
    """Folders with anything in any of the files, the same for the same seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def flip(self, share=0.5):
        return self.random.random() < share

    def content(self):
        return self.random.choice(["<e>", "<s>", "<x>", "[P]", "ab", "<n>", "<m>", "<E>", "a", "<e> ", "é"])

    def flags(self):
        return {name: self.flip(0.3) for name in ("single_word", "lstrip", "rstrip", "normalized", "special")}

    def value(self, kinds):
        kind = self.random.choice(kinds)
        if kind == "text":
            return self.content()
        flags = self.flags() if self.flip(0.8) else {}
        if kind == "map":
            flags.pop("special", None)
        return {**({"__type": "AddedToken"} if kind == "typed" else {}), "content": self.content(), **flags}

    def names(self, kinds):
        known = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token", "own_token", "boi_token"]
        chosen = self.random.sample(known, self.random.randrange(5))
        return {name: (None if self.flip(0.1) and name not in ("own_token", "boi_token") else self.value(kinds)) for name in chosen}

    def lists(self, kinds, older):
        found = {}
        if self.flip(0.3):
            found["additional_special_tokens"] = [self.value(older) for _ in range(self.random.randrange(3))]
        if self.flip(0.3):
            count = self.random.randrange(3)
            found["extra_special_tokens"] = {f"k{i}_token" if self.flip() else f"k{i}": self.value(["text", "typed"]) for i in range(count)} if self.flip(0.4) else [self.value(kinds) for _ in range(count)]
        return found

    def folder(self):
        contents = []
        for _ in range(self.random.randrange(4)):
            contents += [text for text in [self.content()] if text not in contents]
        added = [token(text, **self.flags()) for text in contents]
        files = folder(tokenizer(added, normalizer=LOWER if self.flip(0.3) else None, padding=PADDING if self.flip(0.2) else None))
        if self.flip(0.85):
            config = {**self.names(["text", "text", "typed"]), **self.lists(["text", "typed"], ["text", "typed"])}
            if self.flip(0.4):
                config["added_tokens_decoder"] = {str(self.random.randrange(30)): {"content": self.content(), **(self.flags() if self.flip(0.8) else {})} for _ in range(self.random.randrange(5))}
            if self.flip(0.1):
                config["split_special_tokens"] = True
            files["tokenizer_config.json"] = config
        if self.flip(0.4):
            files["special_tokens_map.json"] = {**self.names(["text", "map"]), **self.lists(["text", "map"], ["text"])}
        if self.flip(0.3):
            files["added_tokens.json"] = {self.content(): self.random.randrange(30) for _ in range(self.random.randrange(4))}
        return files

    def texts(self):
        pieces = ["<e>", "<s>", "<x>", "[P]", "ab", "<n>", "<m>", "<E>", "a", " ", "  ", "b", "x", "\n", "é", "<S>"]
        return ["".join(self.random.choice(pieces) for _ in range(self.random.randrange(1, 9))) for _ in range(6)]


def write(files, path):
    path.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text(content if isinstance(content, str) else json.dumps(content, ensure_ascii=False), encoding="utf-8")
