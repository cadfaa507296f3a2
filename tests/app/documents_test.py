"""Every command that a document quotes has the flags that it is quoted with."""
import concurrent.futures
import re
import shlex

from harness import check, main

SKIPPED = {"CHANGELOG.md"}
COMMAND = re.compile(r"(?<![/\w.-])rollcall ([a-z]+)((?: [^`\n|#;]*)?)")


def quoted(harness):
    """{subcommand: {flag: document}}"""
    commands = {}
    for path in sorted(harness.source.rglob("*.md")):
        name = path.relative_to(harness.source)
        if name.parts[0] in ("build", "tests", "runs") or name.parts[0].startswith(".") or name.name in SKIPPED:
            continue
        text = path.read_text()
        spans = re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.S)) + re.findall(r"```(?:sh)?\n(.*?)```", text, flags=re.S)
        for span in spans:
            for words in COMMAND.findall(span):
                subcommand, rest = words[0], words[1]
                first = rest.split()[:1]
                if subcommand in ("archive", "weights") and first and re.fullmatch("[a-z]+", first[0]):
                    subcommand += " " + first[0]
                flags = commands.setdefault(subcommand, {})
                for flag in re.findall(r"(?<![\w-])--[a-z][a-z-]*", rest):
                    flags.setdefault(flag, name)
    return commands


def flags_are_those_of_the_program(harness):
    commands = quoted(harness)
    check(len(commands) > 12, f"only {sorted(commands)} are quoted")

    def help_of(subcommand):
        return subcommand, harness.run(*shlex.split(subcommand), "--help")

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for subcommand, (code, out, err, _) in pool.map(help_of, commands):
            check(code == 0, f"rollcall {subcommand} --help: exit code {code}\n{out}\n{err}")
            known = set(re.findall(r"--[a-z][a-z-]*", out))
            for flag, document in commands[subcommand].items():
                check(flag in known, f"{document} quotes rollcall {subcommand} {flag}, which has {sorted(known)}")


main(flags_are_those_of_the_program)
