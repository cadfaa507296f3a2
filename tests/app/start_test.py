"""How rollcall starts: what evaluates no objective never loads LibTorch, and a program whose shared library is gone or another build's says so."""
import json
import pathlib
import shutil
import subprocess

from harness import check, main

LIBRARY = "librollcall_objective.so"


def loads(harness, *arguments, **options):
    """Shared objects that the dynamic linker opened for a command that must succeed."""
    log = harness.work / "linker"
    for old in harness.work.glob("linker.*"):
        old.unlink()
    harness.succeed(*arguments, env={"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(log)}, **options)
    lines = "".join(path.read_text(errors="replace") for path in harness.work.glob("linker.*"))
    check("libstdc++" in lines, f"the linker tells nothing of {arguments}")
    return {name for name in ("libtorch_cpu.so", LIBRARY) if f"file={name}" in lines or f"/{name} " in lines or f"/{name}\n" in lines}


def most_commands_start_without_libtorch(harness):
    run = harness.work / "run"
    harness.train(run)
    model = harness.source / "tests/text/fixtures/gpt2"
    for arguments, given in ((("--version",), None), (("status", run), None), (("archive", "ls", run), None), (("archive", "verify", run), None),
                             (("tokenize", model), '"a b"\n'), (("generate", run, "1+1="), None)):
        check(not (found := loads(harness, *arguments, input=given)), f"{arguments[0]} loads {found}")
    for arguments in (("recipes", "grpo"), ("--version", "--verbose")):
        check(loads(harness, *arguments) == {"libtorch_cpu.so", LIBRARY}, f"{arguments}: nothing is loaded, so that this test cannot see it")


def a_program_without_its_library_says_so(harness):
    place = harness.work / "elsewhere"
    (place / "bin").mkdir(parents=True)
    copy = place / "bin/rollcall"
    shutil.copy(harness.binary, copy)

    def run(*arguments):
        done = subprocess.run([copy, *map(str, arguments)], capture_output=True, text=True, cwd=harness.work, timeout=60)
        return done.returncode, done.stdout + done.stderr

    folder = harness.work / "never"
    train = ("train", harness.tiny, "--set", f"run.dir={folder}")
    check(run("--version")[0] == 0, "a copy of the program does not even tell its version")
    code, said = run(*train)
    check(code == 2 and f"{LIBRARY} is missing" in said and "objectives" in said and "cmake --install" in said, f"exit code {code}: {said}")
    check(not folder.exists(), "a run that cannot train left its folder")
    done = subprocess.run([*harness.launcher, "3", str(copy), *map(str, train)], capture_output=True, text=True, cwd=harness.work, timeout=60)
    said = done.stdout + done.stderr
    check(done.returncode == 2 and said.count(f"{LIBRARY} is missing") == 1 and "MPI_ABORT" not in said, f"three ranks, exit code {done.returncode}: {said}")
    check(not folder.exists(), "a run that cannot train left its folder")
    code, said = run("doctor")
    check(code != 0 and f"{LIBRARY} is missing" in said, f"doctor, exit code {code}: {said}")

    library = place / "lib/rollcall" / LIBRARY
    library.parent.mkdir(parents=True)
    stub = harness.work / "stub.c"
    stub.write_text('const char* rollcall_objective_build(void) { return "rollcall 0.0.1"; }\nconst void* rollcall_objective(void) { return 0; }\n')
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, stub], check=True)
    code, said = run(*train)
    check(code == 2 and "is of another build (rollcall 0.0.1)" in said, f"exit code {code}: {said}")
    library.write_bytes(b"\x7fELF")
    code, said = run(*train)
    check(code == 2 and "cannot load" in said and str(library) in said, f"exit code {code}: {said}")
    check(not folder.exists(), "a run that cannot train left its folder")


def closed_streams_never_become_files(harness):
    """A shell's >&- leaves the numbers 0 to 2 free, and a file that is opened next would get what is printed."""
    for closed in ("<&- >&- 2>&-", ">&-", "2>&-"):
        folder = harness.work / f"closed{len(closed)}"
        done = subprocess.run(["bash", "-c", f'exec "$@" {closed}', "bash", *harness.command(["train", harness.tiny, "--set", f"run.dir={folder}"])], capture_output=True, text=True,
                              cwd=harness.work, timeout=120)
        check(done.returncode == 0, f"{closed}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        for line in (folder / "metrics.jsonl").read_text().splitlines():
            json.loads(line)


main(closed_streams_never_become_files, most_commands_start_without_libtorch, a_program_without_its_library_says_so)
