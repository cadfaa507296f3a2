"""What the comparisons with transformers share: models that Rollcall exports, each judged, and a fixture of what transformers said."""
import argparse
import json
import pathlib
import subprocess
import tempfile

import torch
import transformers


def compare(description, exporter, judge):
    """Exit status: 0 when judge(folder) -> (whether all agrees, the folder's part of the fixture) agrees with every folder that EXPORTER writes."""
    transformers.utils.logging.disable_progress_bar()
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--write", type=pathlib.Path, metavar="FIXTURE")
    parser.add_argument(exporter, type=pathlib.Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([getattr(arguments, exporter), work], check=True)
        judged = {folder.name: judge(folder) for folder in sorted(pathlib.Path(work).iterdir())}
    if arguments.write:
        versions = {"transformers": transformers.__version__, "torch": torch.__version__.split("+")[0]}
        lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(part, separators=(',', ':'))}" for name, (_, part) in judged.items())
        arguments.write.write_text(json.dumps(versions)[:-1] + ', "models": {\n' + lines + "\n}}\n")
    return 0 if all(ok for ok, _ in judged.values()) else 1
