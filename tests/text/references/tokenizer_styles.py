"""Small tokenizers in every style that tokenizer.json knows for BPE, trained on the spot with Hugging Face's library: {name: tokenizer.json as text}."""
import itertools
import json

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CORPUS = ["the quick brown fox jumps over the lazy dog 1234567890 times", "hello world, don't panic: it's only 42 tokens!", "int main() { return 0; }\n\tfor (;;) {}\n",
          "Straße naïve café ﬁ Ⅳ ½", "你好世界 こんにちは 안녕하세요", "привет мир ещё раз", "مرحبا بالعالم", "नमस्ते दुनिया", "🙂🙃👩‍👩‍👧 emoji", "  leading and   inner   spaces\r\n\r\n",
          "HTTPServer camelCase snake_case SCREAMING", "The THE the tHe They're THEY'RE we'll WE'LL"] * 4

GPT4 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = GPT4.replace(r"\p{N}{1,3}", r"\p{N}")
QWEN_MARKS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
O200K = "|".join([r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
                  r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?", r"\p{N}{1,3}",
                  r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
GPT4_POSSESSIVE = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
DEEPSEEK_V3 = [r"\p{N}{1,3}", "[一-龥\u3040-ゟ゠-ヿ]+",
               r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"]
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]


def byte_level(pre=None, normalizer=None, size=420, special=("<|endoftext|>",), post=None, decoder=None, alphabet=True, **model):
    """A byte-level tokenizer; `pre`: pre-tokenizers in front of the change of alphabet."""
    tokenizer = Tokenizer(models.BPE(**model))
    tokenizer.pre_tokenizer = pre or pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoder or decoders.ByteLevel()
    if post:
        tokenizer.post_processor = post
    train(tokenizer, size, special, pre_tokenizers.ByteLevel.alphabet() if alphabet else [])
    if normalizer:
        tokenizer.normalizer = normalizer
    return tokenizer


def train(tokenizer, size, special, alphabet=()):
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=size, special_tokens=list(special), show_progress=False, initial_alphabet=list(alphabet)))


def sequence(*patterns):
    splits = [pre_tokenizers.Split(Regex(p), "isolated") for p in patterns]
    return pre_tokenizers.Sequence([*splits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def with_bytes(tokenizer):
    """The 256 byte tokens that byte fallback wants, in front of the vocabulary, and byte_fallback set."""
    rules = json.loads(tokenizer.to_str())
    vocab = rules["model"]["vocab"]
    names = ["<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256))]
    rest = [token for token in sorted(vocab, key=vocab.get) if token not in names]
    rules["model"]["vocab"] = {token: i for i, token in enumerate([*names, *rest])}
    for token in rules["added_tokens"]:
        token["id"] = rules["model"]["vocab"][token["content"]]
    rules["model"]["byte_fallback"] = True
    return Tokenizer.from_str(json.dumps(rules))


def metaspace(normalizer=None, pre=None, decoder=None, fallback=True, fuse=True, size=420, post=None):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=fuse))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()  # for the training
    train(tokenizer, size, ["<unk>", "<s>", "</s>"])
    rules = json.loads(tokenizer.to_str())
    rules["pre_tokenizer"] = None
    tokenizer = Tokenizer.from_str(json.dumps(rules))
    if fallback:
        tokenizer = with_bytes(tokenizer)
    if normalizer:
        tokenizer.normalizer = normalizer
    if pre:
        tokenizer.pre_tokenizer = pre
    if decoder:
        tokenizer.decoder = decoder
    tokenizer.post_processor = post or processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)])
    return tokenizer


def llama2_decoder():
    return decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])


def named():
    """(name, tokenizer): the families, then each part by itself."""
    template = processors.TemplateProcessing(single="<|endoftext|> $A <|endoftext|>", pair="$A $B", special_tokens=[("<|endoftext|>", 0)])
    yield "gpt2", byte_level()
    yield "gpt2_prefix_space", byte_level(pre=pre_tokenizers.ByteLevel(add_prefix_space=True), post=processors.ByteLevel(trim_offsets=True))
    yield "gpt2_small_alphabet", byte_level(alphabet=False, size=150)
    yield "gpt2_unknown", byte_level(alphabet=False, size=150, unk_token="<unk>", special=("<unk>",))
    yield "gpt2_unknown_fused", byte_level(alphabet=False, size=150, unk_token="<unk>", fuse_unk=True, special=("<unk>",))
    yield "roberta", byte_level(post=processors.RobertaProcessing(("</s>", 1), ("<s>", 0)), special=("<s>", "</s>"))
    yield "bert_processing", byte_level(post=processors.BertProcessing(("</s>", 1), ("<s>", 0)), special=("<s>", "</s>"))
    yield "smollm", byte_level(pre=pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]))
    yield "digits_together", byte_level(pre=pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.ByteLevel(add_prefix_space=False)]))
    yield "qwen2", byte_level(pre=sequence(QWEN2), normalizer=normalizers.NFC())
    yield "qwen_marks", byte_level(pre=sequence(QWEN_MARKS), normalizer=normalizers.NFC())
    yield "llama3", byte_level(pre=sequence(GPT4), ignore_merges=True, post=processors.Sequence([processors.ByteLevel(trim_offsets=False), template]))
    yield "gpt4", byte_level(pre=sequence(GPT4))
    yield "gpt4_possessive", byte_level(pre=sequence(GPT4_POSSESSIVE))
    yield "o200k", byte_level(pre=sequence(O200K))
    yield "deepseek", byte_level(pre=sequence(*DEEPSEEK_V3))
    yield "deepseek_coder", byte_level(pre=pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(r"[\r\n]"), "isolated"), pre_tokenizers.Split(Regex(r"\s?\p{L}+"), "isolated"),
                                                                    pre_tokenizers.Split(Regex(r"\s?\p{P}+"), "isolated"), pre_tokenizers.Split(Regex("[一-龥ࠀ-一가-퟿]+"), "isolated"),
                                                                    pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    yield "falcon", byte_level(pre=pre_tokenizers.Sequence([pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False),
                                                            pre_tokenizers.Digits(individual_digits=False), pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")]))
    yield "llama2", metaspace(normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), decoder=llama2_decoder())
    yield "mistral", metaspace(pre=pre_tokenizers.Metaspace(prepend_scheme="first", split=False), decoder=llama2_decoder())
    yield "gemma", metaspace(normalizers.Replace(" ", "▁"), pre=pre_tokenizers.Split(" ", "merged_with_previous"),
                             decoder=decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]))
    yield "fused_unknown", metaspace(pre=pre_tokenizers.Metaspace(), decoder=decoders.Metaspace(), fallback=False)
    yield "single_unknown", metaspace(pre=pre_tokenizers.Metaspace(), decoder=decoders.Metaspace(), fallback=False, fuse=False)
    for scheme, split in itertools.product(["first", "never", "always"], [True, False]):
        pre = pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split)
        yield f"metaspace_{scheme}_{split}", metaspace(pre=pre, decoder=decoders.Metaspace(prepend_scheme=scheme))
        yield f"strip_metaspace_{scheme}_{split}", metaspace(normalizers.Strip(), pre=pre, decoder=decoders.Metaspace(prepend_scheme=scheme))
    yield from parts()
    yield from added_tokens()


def parts():
    for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Strip", "StripAccents", "Nmt"):
        yield f"normalizer_{name}", byte_level(normalizer=getattr(normalizers, name)())
    yield "normalizer_left", byte_level(normalizer=normalizers.Strip(left=True, right=False))
    yield "normalizer_byte_level", byte_level(normalizer=normalizers.ByteLevel(), pre=pre_tokenizers.Split(Regex("Ġ?[^Ġ]+"), "isolated"))
    yield "normalizer_sequence", byte_level(normalizer=normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Replace(Regex(r"\s+"), " ")]))
    yield "normalizer_replace_removes", byte_level(normalizer=normalizers.Sequence([normalizers.Replace(Regex("[ei]+"), "-"), normalizers.Replace("o", "")]))
    for behavior, invert in itertools.product(BEHAVIORS, [False, True]):
        for name, pattern in (("comma", ","), ("space", " "), ("vowels", Regex("[aeiou]+")), ("empty", Regex("x*"))):
            pre = pre_tokenizers.Sequence([pre_tokenizers.Split(pattern, behavior, invert), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
            yield f"split_{name}_{behavior}_{invert}", byte_level(pre=pre)
    for behavior in BEHAVIORS:
        yield f"punctuation_{behavior}", byte_level(pre=pre_tokenizers.Sequence([pre_tokenizers.Punctuation(behavior), pre_tokenizers.ByteLevel(add_prefix_space=True)]))
    for name in ("Whitespace", "WhitespaceSplit", "BertPreTokenizer"):
        one = getattr(pre_tokenizers, name)()
        yield f"pre_{name}", byte_level(pre=pre_tokenizers.Sequence([one, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
        yield f"plain_{name}", words(pre=one)
    yield "pre_FixedLength", byte_level(pre=pre_tokenizers.Sequence([pre_tokenizers.FixedLength(4), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    yield "bytes_then_digits", byte_level(pre=pre_tokenizers.Sequence([pre_tokenizers.ByteLevel(add_prefix_space=False), pre_tokenizers.Digits(individual_digits=True)]))
    yield "word_ends", words(end_of_word_suffix="</w>", decoder=decoders.BPEDecoder("</w>"))
    yield "word_inner", words(continuing_subword_prefix="##", decoder=None)
    for i, pattern in enumerate([r"\w+|[^\w\s]+", r"\b", r"^.|.$", r"(?m:x.)|\d{2}+|[[:punct:]]{,2}a", r"\h+|\p{Han}+|\p{^L}", r"[^\S\n]+|\P{L}", r"(?i)[a-f]{2,3}?|\u0041|\x42", r"(?<=a)b|(?<!a)c|d(?=e)|f(?!g)|(?>h+)"]):
        yield f"expression_{i}", byte_level(pre=pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    for i, decoder in enumerate([decoders.Fuse(), decoders.Strip("e", 1, 2), decoders.Replace(Regex("[aeiou]"), "*"), decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()]), decoders.BPEDecoder("e")]):
        yield f"decoder_{i}", byte_level(decoder=decoder)


def words(pre=None, decoder=None, **model):
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", **model))
    tokenizer.pre_tokenizer = pre or pre_tokenizers.Whitespace()
    if decoder:
        tokenizer.decoder = decoder
    settings = {key: value for key, value in model.items() if key in ("end_of_word_suffix", "continuing_subword_prefix")}
    tokenizer.train_from_iterator(CORPUS, trainers.BpeTrainer(vocab_size=300, special_tokens=["<unk>"], show_progress=False, **settings))
    return tokenizer


ADDED = ["<tok>", "<tok>x", "ADD", "Ärger", " lead", "trail ", "日本", "a"]


def added_tokens():
    """Every combination of the flags, over a byte-level and a metaspace tokenizer with and without a normalizer that changes the tokens."""
    for flags in itertools.product([False, True], repeat=5):
        single_word, lstrip, rstrip, normalized, special = flags
        for name, tokenizer in (("bytes", byte_level(size=300)), ("lower", byte_level(size=300, normalizer=normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase()]))),
                                ("llama2", metaspace(normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]), decoder=llama2_decoder(), size=300))):
            contents = ADDED if not special else ADDED[:4]
            tokens = [AddedToken(c, single_word=single_word, lstrip=lstrip, rstrip=rstrip, normalized=normalized, special=special) for c in contents]
            (tokenizer.add_special_tokens if special else tokenizer.add_tokens)(tokens)
            yield f"added_{name}_" + "".join("01"[flag] for flag in flags), tokenizer


def all_styles():
    return {name: tokenizer.to_str() for name, tokenizer in named()}
