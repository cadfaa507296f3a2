"""A run of build 0.2.0, before keys and classes were renamed, resumes, branches and trains from its archive under the new names.

fixtures/run_0.2.0.tar.xz is the folder of a run of four steps that the build of 2026-11-30 made: tiny.toml with the
settings below, `train.leaf_tokens=64` among them. The hashes are those that the same build ended with."""
import re
import tarfile

from harness import check, main, result, sets

WENT_ON = "731dd9c56c0aaea9fb8ee9ec1c1ad6cce9f2d522e7ad3e9ce8ed9150c7f7d32d"  # to step 6
OFFLINE = "5315680285afde6546ea4afc403425535c68ff268b4d60d5526e6fa8f908fe10"  # four steps from its archive
SETTINGS = sets(model__hidden_size=16, model__intermediate_size=16, model__head_dim=8, sft__steps=30, train__prompts_per_step=8,
                train__rollouts_per_prompt=4, eval__before="false", eval__samples=2, eval__pass_k=1, checkpoint__every=2,
                checkpoint__keep_last=1, train__min_lr_ratio=1, archive__pack_every=2, train__leaf_tokens=64)
REPLAY = sets(replay__share=0.5, replay__max_staleness=8)


def old_run(harness, name):
    folder = harness.work / name
    folder.mkdir()
    with tarfile.open(harness.source / "tests/app/fixtures/run_0.2.0.tar.xz") as archive:
        archive.extractall(folder)
    return folder / "run_0.2.0"


def it_resumes_from_its_own_record(harness):
    folder = old_run(harness, "resumed")
    told = harness.succeed("train", "--resume", folder / "config.toml", *sets(train__steps=6))
    check(result(folder)["policy_sha256"] == WENT_ON, f"another policy: {result(folder)['policy_sha256']}\n{told}")


def its_run_file_resumes_it_with_a_warning(harness):
    """The run file names the key as it was; `--set` likewise."""
    folder = old_run(harness, "run_file")
    code, out, err, _ = harness.run("train", "--resume", harness.tiny, *SETTINGS, *REPLAY, *sets(run__dir=folder, train__steps=6))
    check(code == 0 and result(folder)["policy_sha256"] == WENT_ON, f"exit code {code}\n{out}\n{err}")
    check(re.search(r"--set train.leaf_tokens=64: train.leaf_tokens is called train.micro_batch_tokens now", out + err), f"no warning\n{out}\n{err}")
    check("leaf_tokens" not in (folder / "config.toml").read_text(), "the record keeps the old name")


def it_is_branched_off(harness):
    folder = old_run(harness, "parent")
    target = harness.work / "branch"
    harness.succeed("train", "--from", str(folder), *sets(run__dir=target, train__steps=6))
    check(result(target)["policy_sha256"] == WENT_ON, f"another policy: {result(target)['policy_sha256']}")


def its_archive_is_trained_on_and_read(harness):
    folder = old_run(harness, "archived")
    target = harness.work / "offline"
    harness.succeed("train", harness.tiny, *SETTINGS, *sets(run__dir=target, train__steps=4, train__from_archive=folder, replay__share=0))
    check(result(target)["policy_sha256"] == OFFLINE, f"another policy: {result(target)['policy_sha256']}")
    harness.succeed("archive", "verify", folder)


def another_micro_batch_is_told_under_its_new_name(harness):
    folder = old_run(harness, "changed")
    code, out, err, _ = harness.run("train", "--resume", folder / "config.toml", *sets(train__steps=6, train__micro_batch_tokens=128))
    check(code == 2 and "train.micro_batch_tokens" in out + err, f"exit code {code}\n{out}\n{err}")


def an_old_command_still_works(harness):
    code, out, err, _ = harness.run("policies", "uniform")
    check(code == 0 and "uniform" in out and "rollcall policies is called rollcall schedulers now" in out + err, f"exit code {code}\n{out}\n{err}")


main(it_resumes_from_its_own_record, its_run_file_resumes_it_with_a_warning, it_is_branched_off, its_archive_is_trained_on_and_read,
     another_micro_batch_is_told_under_its_new_name, an_old_command_still_works)
