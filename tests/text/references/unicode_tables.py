"""Writes src/text/json_tokenizer/unicode_tables.hpp: where the Unicode data inside Hugging Face's tokenizers differ from those of the libraries used here.

    PYTHON unicode_tables.py > src/text/json_tokenizer/unicode_tables.hpp      PYTHON: a 3.11 that has `tokenizers` (its unicodedata is of Unicode 14, as PCRE2 10.42 is)

The library is asked about every code point: categories through its regular expressions, the others through what its pre-tokenizers and normalizers do."""
import ctypes
import unicodedata

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

CHARACTERS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co".split()


def removed_by(splitter):
    kept = set()
    for i in range(0, len(CHARACTERS), 8192):
        for piece, _ in splitter.pre_tokenize_str("".join(map(chr, CHARACTERS[i:i + 8192]))):
            kept.update(map(ord, piece))
    return set(CHARACTERS) - kept


def ranges(characters):
    found = []
    for c in sorted(characters):
        if found and found[-1][1] == c - 1:
            found[-1][1] = c
        else:
            found.append([c, c])
    return found


def later_categories(category):
    """Rows (first, last, category) of what changed after Unicode 14."""
    rows = []
    for c in CHARACTERS:
        if category[c] == unicodedata.category(chr(c)):
            continue
        if rows and rows[-1][1] == c - 1 and rows[-1][2] == category[c]:
            rows[-1][1] = c
        else:
            rows.append([c, c, category[c]])
    return rows


def unknown_to_normal_forms():
    """Code points that utf8proc decomposes and the library leaves alone."""
    library = ctypes.CDLL("libutf8proc.so.2")
    library.utf8proc_decompose_char.argtypes = [ctypes.c_int32, ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int, ctypes.c_void_p]
    library.utf8proc_decompose_char.restype = ctypes.c_ssize_t
    space, last = (ctypes.c_int32 * 32)(), ctypes.c_int(0)
    unknown = set()
    for form, options in ((normalizers.NFD(), 1 << 4), (normalizers.NFKD(), (1 << 4) | (1 << 2))):  # UTF8PROC_DECOMPOSE, UTF8PROC_COMPAT
        for c in CHARACTERS:
            count = library.utf8proc_decompose_char(c, space, 32, options, ctypes.byref(last))
            ours, theirs = "".join(map(chr, space[:count])), form.normalize_str(chr(c))
            if ours == theirs:
                continue
            assert theirs == chr(c), f"U+{c:04X} becomes {theirs!r} there and {ours!r} here"
            unknown.add(c)
    return unknown


def table(name, comment, rows):
    cells = [f"{{0x{row[0]:X}, 0x{row[1]:X}" + (f", Category::{row[2].lower()}}}" if len(row) > 2 else "}") for row in rows]
    lines, line = [], "   "
    for cell in cells:
        if len(line) + len(cell) > 156:
            lines.append(line)
            line = "   "
        line += f" {cell},"
    kind = "CategoryRange" if len(rows[0]) > 2 else "CodeRange"
    print(f"/// {comment}\ninline constexpr {kind} {name}[] = {{\n" + "\n".join([*lines, line]) + "\n};\n")


def main():
    assert unicodedata.unidata_version == "14.0.0", unicodedata.unidata_version
    category = dict.fromkeys(CHARACTERS, "Cn")
    for name in CATEGORIES:
        for c in removed_by(pre_tokenizers.Split(Regex(rf"\p{{{name}}}"), "removed")):
            category[c] = name
    marks = {c for c in CHARACTERS if category[c][0] == "M"}
    punctuation = {c for c in CHARACTERS if category[c][0] == "P"}
    strip = normalizers.StripAccents()
    accents = {c for c in CHARACTERS if strip.normalize_str(chr(c)) == ""}
    punctuated = {c for c in removed_by(pre_tokenizers.Punctuation("removed")) if c > 127}
    print(f"// Where the Unicode data of Hugging Face's tokenizers differ from utf8proc's and PCRE2's. Written by tests/text/references/unicode_tables.py "
          f"(tokenizers {tokenizers.__version__}).\n#pragma once\n\n#include \"text/json_tokenizer/steps/unicode.hpp\"\n\nnamespace rollcall::text::json_tokenizer {{\n")
    print("struct CodeRange {\n  char32_t first, last;\n};\nstruct CategoryRange {\n  char32_t first, last;\n  Category category;\n};\n")
    table("kChangedSince14", "Categories that came after Unicode 14, which PCRE2 10.42 has, up to Unicode 16, which the library has. utf8proc 2.8 has Unicode 15.", later_categories(category))
    table("kNoPunctuationThen", "Punctuation that is not punctuation in the older Unicode version of the pre-tokenizers Punctuation and BertPreTokenizer.", ranges({c for c in punctuation if c > 127} - punctuated))
    table("kPunctuationThen", "Characters that are punctuation only in that older version.", ranges(punctuated - punctuation))
    table("kNoMarkThen", "Combining marks that came after Unicode 9, which is the version of the library's normal forms. The normal forms do not move them.", ranges(marks - accents))
    table("kMarkThen", "Characters that are combining marks only in Unicode 9.", ranges(accents - marks))
    table("kNotDecomposedThen", "Characters that later normal forms decompose, but those of Unicode 9 do not.", ranges(unknown_to_normal_forms()))
    print("}  // namespace rollcall::text::json_tokenizer")


main()
