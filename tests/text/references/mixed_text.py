"""Texts that are hard on a tokenizer: scripts of the world, code, emoji, marks, numbers, white space, contractions, invalid UTF-8 as it is replaced, added tokens."""
import random

SCRIPTS = [(0x20, 0x7E), (0x20, 0x7E), (0xA0, 0x24F), (0x250, 0x2FF), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x52F), (0x530, 0x58F), (0x590, 0x5FF), (0x600, 0x6FF), (0x700, 0x7BF),
           (0x900, 0x97F), (0x980, 0x9FF), (0xB80, 0xBFF), (0xE00, 0xE7F), (0xE80, 0xEFF), (0xF00, 0xFFF), (0x1000, 0x109F), (0x10A0, 0x10FF), (0x1100, 0x11FF), (0x1200, 0x137F),
           (0x13A0, 0x13FF), (0x1780, 0x17FF), (0x1800, 0x18AF), (0x1E00, 0x1FFF), (0x2000, 0x206F), (0x2070, 0x20FF), (0x2100, 0x218F), (0x2190, 0x23FF), (0x2460, 0x24FF), (0x2500, 0x27BF),
           (0x2C00, 0x2C7F), (0x3000, 0x303F), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0x4E00, 0x9FFF), (0xA640, 0xA69F), (0xA700, 0xA7FF), (0xAC00, 0xD7A3), (0xF900, 0xFAFF), (0xFB00, 0xFB4F),
           (0xFE00, 0xFE0F), (0xFF00, 0xFFEF), (0x10000, 0x100FF), (0x10400, 0x1044F), (0x10D40, 0x10D8F), (0x11000, 0x1107F), (0x11930, 0x1194F), (0x1D400, 0x1D7FF), (0x1E900, 0x1E95F),
           (0x1F100, 0x1F1FF), (0x1F300, 0x1F6FF), (0x1F900, 0x1FAFF), (0x20000, 0x2A6DF), (0x2EBF0, 0x2EE5D), (0x31350, 0x323AF), (0xE0100, 0xE01EF)]
SPACES = [" ", " ", " ", " ", "  ", "\n", "\n\n", "\r\n", "\t", "\u00a0", "\u2003", "\u3000", "\u0085", "\u200b", "\u180e", "\x0b", "\x0c", "\x1c", "\u2028"]
WORDS = ("the of and to in is that it was for on are as with his they be at one have this from or had by hot word but what some we can out other were all there when up use your how said an each she "
         "which do their time if will way about many then them write would like so these her long make thing see him two has look more day could go come did number sound no most people my over know "
         "water than call first who may down side been now find any new work part take get place made live where after back little only round man year came show every good me give our under name very "
         "international representation characteristically unbelievable antidisestablishmentarianism HTTPServer camelCaseWord snake_case_word SCREAMING_SNAKE McDonald iPhone").split()
CODE = ["for (int i = 0; i < n; ++i) {\n    sum += a[i] * b[i];\n}\n", "def f(x, *args, **kwargs):\n\treturn {k: v for k, v in x.items()}\n", "SELECT * FROM t WHERE id != 'x' -- c\n", "<div class=\"a-b\">&nbsp;</div>\n",
        "#include <vector>\n\n\n", "x->y::z<T&&>(0xFF, 1e-9f);\n", "if [[ -n \"$A\" ]]; then echo ${B:-c}; fi\n", "\\frac{\\alpha}{\\beta}^{2}_{i,j}", "{\"k\": [1, 2.5, null, true]}", "a/b/c.d//e\n/"]
CONTRACTIONS = ["'s", "'t", "'re", "'ve", "'m", "'ll", "'d", "'S", "'T", "'RE", "'Ve", "'LL", "'\u017f", "'l", "'r", "'", "''", "\u2019s"]
EMOJI = ["🙂", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪🇫🇷", "👍🏽", "☺️", "1️⃣", "👨🏿‍🚀", "🫠", "\u200d", "\ufe0f"]
TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<s>", "</s>", "<unk>", "<tok>", "<tok>x", "ADD", "add", "Ärger", "A\u0308rger", " lead", "trail ", "日本", "<|im_", "<0x0A>", "<0xE2>", "▁", "▁▁", "Ġ", "Ċ", "##"]


def character(draw):
    low, high = draw.choice(SCRIPTS)
    return chr(draw.randint(low, high))


def run_of_script(draw):
    low, high = draw.choice(SCRIPTS)
    return "".join(chr(draw.randint(low, high)) for _ in range(draw.randint(1, 12)))


def any_character(draw):
    while True:
        c = draw.randrange(0x110000)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def broken_bytes(draw):
    """Bytes cut or changed at random, as errors="replace" reads them."""
    data = bytearray((run_of_script(draw) + draw.choice(EMOJI)).encode())
    for _ in range(draw.randint(1, 3)):
        data[draw.randrange(len(data))] = draw.randrange(256)
    return bytes(data[: draw.randint(1, len(data))]).decode("utf-8", errors="replace")


def number(draw):
    return draw.choice([str(draw.randrange(10 ** draw.randint(1, 20))), f"{draw.randrange(10**6):,}", f"{draw.random():.5f}", "²³½", "Ⅻ", "٣٤٥", "१२३", "1", "12", "1234"])


def marked(draw):
    return draw.choice("aeionuyAEO가각\u0915 ") + "".join(chr(draw.randint(0x300, 0x36F)) for _ in range(draw.randint(1, 6)))


PIECES = [(30, lambda d: d.choice(WORDS)), (6, lambda d: d.choice(WORDS).capitalize()), (3, lambda d: d.choice(WORDS).upper()), (14, run_of_script), (5, character), (2, any_character), (5, lambda d: d.choice(CODE)),
          (6, lambda d: d.choice(CONTRACTIONS)), (4, lambda d: d.choice(EMOJI)), (4, lambda d: d.choice(TOKENS)), (8, number), (3, marked), (3, broken_bytes), (6, lambda d: d.choice(".,;:!?-()[]{}\"'`~@#$%^&*_=+|\\/<>")),
          (4, lambda d: "".join(d.choice(SPACES) for _ in range(d.randint(1, 6))))]


def text(draw, characters):
    """About as many characters of mixed text."""
    weights, kinds = zip(*PIECES)
    parts, length = [], 0
    while length < characters:
        part = draw.choices(kinds, weights)[0](draw)
        if draw.random() < 0.7:
            part += draw.choice(SPACES)
        parts.append(part)
        length += len(part)
    return "".join(parts)


def adversarial(draw):
    """A short string of few different pieces, repeated: runs, nested repetitions, near-tokens."""
    atoms = [draw.choice([character, any_character, number, marked, broken_bytes, lambda d: d.choice(SPACES), lambda d: d.choice(CONTRACTIONS), lambda d: d.choice(TOKENS), lambda d: d.choice("aAeE 1\n\r'.")])(draw)
             for _ in range(draw.randint(1, 4))]
    return "".join(draw.choice(atoms) * draw.choice([1, 1, 1, 2, 3, 7]) for _ in range(draw.randint(1, 12)))


def stream(seed):
    return random.Random(seed)
