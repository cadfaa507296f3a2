"""Mistakes put into a library on purpose, all in one build of a test program, behind a switch in the environment: what scripts/break_* share."""
import collections
import concurrent.futures
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SWITCH = "ROLLCALL_BREAK"  # environment variable with the name of the mistake to make
AT_ONCE = 2  # builds and runs side by side; as tests these scripts have two processors


def spelled(expression):
    """A pattern of the expression however clang-format breaks it into lines."""
    tokens = re.findall(r"\w+|\s+|[^\w\s]", expression)
    return re.compile(r"\s*".join(r"\s" if token.isspace() else re.escape(token) for token in tokens))


def broken_sources(layer, mistakes):
    """mistakes: name -> edits (file below src/layer, expression, the wrong one). Returns the files that hold them, each expression behind its switch: path -> text."""
    places = collections.defaultdict(list)
    for name, edits in mistakes.items():
        for path, right, wrong in edits:
            places[path].append((name, right, wrong))
    texts = {}
    for path, edits in places.items():
        text = (ROOT / "src" / layer / path).read_text()
        spans = []
        for name, right, wrong in edits:
            found = list(spelled(right).finditer(text))
            if len(found) != 1:
                sys.exit(f"{pathlib.Path(sys.argv[0]).name}: src/{layer}/{path} holds {right!r} {len(found)} times (mistake {name}); bring the script up to date")
            spans.append((*found[0].span(), name, right, wrong))
        pieces, end = [], len(text)
        for begin, behind, name, right, wrong in sorted(spans, reverse=True):
            pieces[:0] = [f'(broken("{name}") ? either({wrong}) : either({right}))', text[behind:end]]
            end = begin
        texts[path] = text[:end] + "".join(pieces)
    return texts


SWITCH_HEADER = f"""#pragma once
#include <cstdlib>
#include <string_view>
inline bool broken(std::string_view mistake) {{
  const char* chosen = std::getenv("{SWITCH}");
  return chosen != nullptr && mistake == chosen;
}}
"""


class Build:
    """Copies of the broken files in a folder, compiled as the build tree compiles the right ones."""

    def __init__(self, layer, folder, build, sources, either):
        """either: C++ that makes both branches of a switch one type."""
        self.layer, self.folder, self.build = layer, folder, build
        for path, text in sources.items():
            copy = folder / layer / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            head, _, rest = text.partition("#include")
            copy.write_text(head + '#include "broken.hpp"\n#include' + rest)
        (folder / "broken.hpp").write_text(SWITCH_HEADER + either)

    def command(self, target):
        done = subprocess.run(["ninja", "-C", self.build, "-t", "commands", "-s", target], capture_output=True, text=True, check=True)
        return done.stdout.strip().splitlines()[-1]

    def compile(self, source):
        copy, output = self.folder / self.layer / source, self.folder / (source.replace("/", "_") + ".o")
        words = shlex.split(self.command(f"src/{self.layer}/CMakeFiles/rollcall_{self.layer}.dir/{source}.o"))
        launcher = next((i for i, word in enumerate(words) if word.endswith("ccache")), -1)  # with what is set for it
        words = [word for word in words[launcher + 1:words.index("-o")] if not word.startswith(("-M", "-O")) and not word.endswith((".d", ".o"))]
        text = copy if copy.exists() else ROOT / "src" / self.layer / source
        subprocess.run([words[0], f"-I{self.folder}", *words[1:], "-O0", "-w", "-o", output, "-c", text], cwd=self.build, check=True)
        return output

    def link(self, test, sources):
        """The test program with these sources in place of the library's."""
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            objects = list(pool.map(self.compile, sources))
        program = self.folder / test
        # In front of the tests' own objects: of an inline function that both have, the linker takes the first.
        command = re.sub(r" (?=\S+\.o\b)", f" {' '.join(map(str, objects))} ", self.command(f"bin/{test}"), count=1).replace(f"-o bin/{test}", f"-o {program}")
        subprocess.run(command, shell=True, cwd=self.build, check=True)
        return program
