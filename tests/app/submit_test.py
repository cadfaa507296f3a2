"""Batch scripts of every site file: each value has its directive, flags stand over the file, and nothing of the template is left."""
import json
import re
import subprocess

from harness import check, main, sets

DIRECTIVES = {"account": "account", "partition": "partition", "qos": "qos", "constraint": "constraint", "tasks_per_node": "ntasks-per-node",
              "cpus_per_task": "cpus-per-task", "gpus_per_node": "gpus-per-node", "memory": "mem", "time": "time", "signal_s": "signal"}
DEFAULTS = {"signal_s": 120}  # of what a site file may leave out


def site_values(path):
    """A site file is lines of key = string, number or list, which JSON reads as well."""
    return {key: json.loads(value) for key, value in re.findall(r'^(\w+) *= *("[^"]*"|\d+|\[[^]]*\])', path.read_text(), re.MULTILINE)}


def directives(script):
    return dict(re.fullmatch(r"--([a-z-]+)(?:=(.*))?", line.removeprefix("#SBATCH ")).groups() for line in script.splitlines() if line.startswith("#SBATCH "))


def every_site_has_a_script(harness):
    sites = sorted((harness.source / "jobs/sites").glob("*.toml"))
    check(len(sites) >= 3, f"sites: {sites}")
    for site in sites:
        values = DEFAULTS | site_values(site)
        gpus = {"gpus_per_node": 3} if values["template"] == "gpu" else {}
        for flags in ({"account": "someone"}, {"account": "someone", "qos": "debug", "partition": "other"} | gpus):
            words = [word for key, value in flags.items() for word in (f"--{key.replace('_', '-')}", value)]
            script = harness.succeed("submit", harness.tiny, "--site", site.stem, "--nodes", 2, *words, "--dry-run", *sets(run__dir=harness.work / "run"))
            wanted = values | {"signal_s": f"B:USR1@{values['signal_s']}"} | flags
            expected = {option: str(wanted[key]) for key, option in DIRECTIVES.items() if wanted.get(key, "") not in ("", 0)}
            expected |= {"job-name": "rollcall-run", "nodes": "2", "output": f'"{harness.work}/run/slurm-%j.log"', "open-mode": "append", "requeue": None}
            name = f"{site.stem} with {flags}"
            check(directives(script) == expected, f"{name}: directives {directives(script)}, not {expected}")
            check(script.startswith("#!/bin/bash\n") and not re.search("@[A-Z_]+@", script), f"{name}: something of the template is left\n{script}")
            check(all(f"\n{line}\n" in script for line in values["setup"]), f"{name}: a line of the setup is missing\n{script}")
            check(subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0, f"{name}: bash cannot read it\n{script}")
    check(not (harness.work / "run").exists(), "--dry-run made the run folder")


def gpus_need_a_template_that_books_them(harness):
    code, _, err, _ = harness.run("submit", harness.tiny, "--gpus-per-node", 2, "--dry-run")
    check(code == 2 and "template cpu books none" in err, f"exit code {code}: {err}")


def an_array_has_its_line(harness):
    script = harness.succeed("submit", harness.tiny, "--seeds", "1-3", "--at-once", 2, "--dry-run", *sets(run__dir=harness.work / "run"))
    check(directives(script).get("array") == "0-2%2" and all(f"/run/seed_{seed}\"" in script for seed in (1, 2, 3)), script)
    check(subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0, f"bash cannot read it\n{script}")


main(every_site_has_a_script, gpus_need_a_template_that_books_them, an_array_has_its_line)
