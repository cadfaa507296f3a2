"""What a row of the objective table needs beside a run file: sections, settings, other models and, of some rows, another task. For scripts/train_recipes and
scripts/same_recipes."""
import collections
import json
import pathlib
import shutil
import subprocess
import sys

HALF_REPLAYED = ["replay.share=0.5"]
JUDGE = ["judge.model=judge", "judge.prompt={prompt}{response}=", "judge.extract=regex:[01]", "judge.scale=[0, 1]", "judge.max_new_tokens=2"]
JUDGE_NOTE = "by a judge: the warm start trained further on answers of its own and the verifier's verdicts on them"
SINGLE = ["train.rollouts_per_prompt=1", "scheduler.min_rollouts=1", "train.prompts_per_step=64", "train.steps=128"]  # as many rollouts in all
CRITIC = ["critic.lr=2e-2", "critic.warmup_steps=0"]  # a value head has 32 steps to learn
# What a row needs beside the run file. Columns decide most of it; see needs().
SETTINGS = {
    "topr": (["objective.knobs.baseline=0.1", *HALF_REPLAYED],
             "half of the groups replayed; `baseline` 0.1: with a quarter of the answers right, 0.5 mostly pushes away from what was sampled"),
    "remax": (["train.mini_batches=1"], "`mini_batches` 1: neither ratio nor clip corrects for the second update on the same rollouts"),
    "rec-offpolicy-reinforce": (HALF_REPLAYED, "half of the groups replayed"),
    "copg": (HALF_REPLAYED, "half of the groups replayed"),
    "remix-squeeze": ([*HALF_REPLAYED, "replay.old_policy=current"], "half of the groups replayed"),
    "skywork-r1v2-ssb": ([*HALF_REPLAYED, "replay.choose=advantage"], "groups of equal rewards joined by as many replayed ones with an advantage"),
    "dots-rr": ([*HALF_REPLAYED, "replay.old_policy=current", "train.prompts_per_step=16"], "half of the groups replayed instead of sampled, so half the rollouts"),
    "chord": (["experts.share=1"], "a worked solution in every group"),
    "dypo": (["experts.share=1"], "a worked solution in every group"),
    "otr": (["experts.share=1"], "a worked solution in every group"),
    "diversity-or-precision": (["experts.share=1"], "a worked solution in every group"),
    "rlgf": (["guide.model=teacher", "guide.share=0.5", "guide.max_tokens=4"],
             "half of the groups begin with up to 4 tokens of a guide, the warm start trained further on examples"),
    "spo-single-stream": (["scheduler.policy=spo", *SINGLE], "one rollout a prompt, drawn by the policy `spo`: the tracker is its only baseline"),
    "mssr": (SINGLE, "one rollout a prompt: the tracker is its only baseline"),
    "v0-5": (["scheduler.policy=v0_5", "scheduler.knobs.prior_required=false", "objective.knobs.prior_value=prior"],
             "budgets of the policy `v0_5`; this task has no value model, so that the tracked success stands in for its prediction"),
    "a-lol": (["objective.knobs.baseline=prior"], "this task has no value model: the tracked success stands in for its prediction"),
    "wgrpo": (["scheduler.policy=wgrpo"], "pairs of the policy `wgrpo`"),
    "pcl": (["scheduler.policy=pcl"], "prompts of the policy `pcl`"),
    "pods": (["scheduler.policy=pods"], "half of the rollouts, chosen by the policy `pods`"),
    "rstar2-agent": (["scheduler.policy=rstar2_agent"], "half of the rollouts, chosen by the policy `rstar2_agent`"),
    "dler": (["scheduler.policy=dler"], "refilled by the policy `dler`"),
    "t1-inference-scaling": (["reference.decay=0.98"], "the anchor follows the policy: `reference.decay` 0.98"),
    "cgpo-mixture-of-judges": (["task.format_weight=0.5", "objective.knobs.reference_reward=1.5", "train.mini_batches=1"],
                               "half a point for an answer in good form, which the constraint takes from wrong ones; `mini_batches` 1 as for `remax`"),
    "thinkless-degrpo": (["objective.knobs.short_token=16"], "answers that begin with the digit 0 stand for the short mode"),
    "lhrm-hgpo": (["objective.knobs.think_token=17"], "answers that begin with the digit 1 stand for thinking"),
    "spae-step-potential": (["probes.delimiter=\"5\"", "probes.opener=\">\""], "a reasoning step ends with the digit 5, and a probe asks for the answer by the sign that ends a question"),
    "igpo": (["probes.opener=\">\""], "the reference answer is asked for by the sign that ends a question"),
    "a2tgpo": (["probes.opener=\">\""], "the reference answer is asked for by the sign that ends a question"),
    "geometryzero-gcpo": (["objective.knobs.behaviour_token=16"], "answers that contain the digit 0 stand for those that show the behaviour"),
    "vapo": (["objective.knobs.length_alpha=1"], "`length_alpha` 1: at 0.05, meant for thousands of tokens, lambda is 0 for these answers"),
    "reinforce": (["train.mini_batches=1"], "`mini_batches` 1: neither ratio nor clip corrects for the second update on the same rollouts"),
    "spell": ([*JUDGE, "judge.component=votes", "judge.votes=8", "judge.temperature=0.7", "judge.top_p=0.95"], f"eight votes {JUDGE_NOTE}"),
    "fapo": ([*JUDGE, "judge.component=sound", "judge.asked=correct"], f"what is sound, {JUDGE_NOTE}"),
    "router-r1": ([*JUDGE, "judge.component=cost"], f"in place of what help costs, {JUDGE_NOTE}"),
    "arpo": (["environment.forks=top_entropy"], "answers of one turn, forked at their tokens of highest entropy"),
    "aepo": (["environment.forks=top_entropy"], "answers of one turn, forked at their tokens of highest entropy"),
    "branchgrpo": (["environment.forks=top_entropy"], "half of the rollouts forked at the tokens of highest entropy"),
    "toolrl": ([*JUDGE, "judge.component=match"], f"in place of how far a call matches what is, {JUDGE_NOTE}"),
    "spark-coevolve": (["self_judging.share=0.25", "self_judging.pointwise=", "self_judging.pairwise=", "self_judging.reflection={prompt}{response};"],
                       "a quarter of the prompts reflect on a wrong answer; this warm start knows no verdicts"),
    "rm-ensemble-wco-uwo": (["objective.knobs.omit_components=none"], "the verifier's two components stand for the scorers"),
    "adhint": (["scheduler.policy=adhint", "hints.as=beginning", "hints.learns=true"], "a quarter of the rollouts begin with a part of the worked solution"),
    "critique-grpo": (["second_pass.kind=refinement", "second_pass.of=every", "second_pass.trained_on=parent", "second_pass.refinement={prompt}{response};"], "one answer of each group written again after its verdict"),
    "int-intervention-training": (["second_pass.kind=error", "second_pass.error={prompt}{response};"], "failed answers up to a line that the policy put right itself"),
    "rltf": (["second_pass.kind=refinement", "second_pass.of=every", "second_pass.keep=0", "second_pass.trained_on=parent", "second_pass.refinement={prompt}{response};", "train.mini_batches=1"],
             "every answer written again after its verdict; `mini_batches` 1 as for `remax`"),
    "datamind": (["experts.share=1"], "a worked solution in every group"),
    "seppo": (["second_pass.kind=counterpart", "reference.refresh_every=8"], "answers of the policy of up to eight steps ago as counterparts"),
    "rmt": (["objective.knobs.budget_start=10"], "`budget_start` 10, the longest answer: with 800 every extra token is rewarded throughout"),
}
# Rows whose method is of another task: what its warm start and its runs have beside the run file, what the warm start alone has, and a word about it.
Task = collections.namedtuple("Task", "name settings start note")
CORPUS = "sums.txt"  # made by scripts/worked_examples
TASKS = {
    "rl-struct": Task("json",
                      ["task.name=json", "task.min_level=1", "task.max_level=2", "task.tail_exponent=0", "task.train_prompts=8192", "model.max_position_embeddings=48",
                       "sampling.max_new_tokens=24", "train.lr=3e-4", "train.mini_batches=1", "train.steps=200"],
                      ["sft.steps=400", "sft.lr=3e-3"], "sums as JSON to a schema, from a warm start of their own, six times as many rollouts"),
    "ace-rl": Task("instructions",
                   ["task.name=instructions", "task.min_level=1", "task.max_level=2", "task.train_prompts=2048", "model.max_position_embeddings=256",
                    "sampling.max_new_tokens=80", "train.lr=1e-3", "train.mini_batches=2", "train.steps=128"],
                   ["sft.steps=150", "sft.batch_size=64"], "texts that follow one or two instructions, from a warm start of their own, four times as many rollouts"),
    "prompt-augmentation-grpo": Task("forms",
                                     ['task.forms=["hashes","boxed","answer_tag","final_line"]', "task.format_weight=1", "task.train_prompts=2048",
                                      "model.max_position_embeddings=112", "sampling.max_new_tokens=40", "train.steps=64"],
                                     ["sft.steps=150", "sft.batch_size=64"], "sorting in four forms, from a warm start of their own, twice as many rollouts"),
    "rlpt": Task("corpus",
                 ["task.name=corpus", f"task.file={CORPUS}", "task.min_level=1", "task.max_level=2", "task.train_prompts=2048", "model.max_position_embeddings=64",
                  "sampling.max_new_tokens=24", "train.mini_batches=1", "train.steps=200"],
                 ["sft.steps=200", "sft.batch_size=64"], "the next sentence of a text of sums, from a warm start of its own, six times as many rollouts"),
}
# How long what runs start from is trained beside the common warm start. `task_steps`: None is what TASKS say.
Sizes = collections.namedtuple("Sizes", "teacher_steps judged_prompts judge_steps task_steps")
LONG = Sizes(60, 2048, 600, None)
JUDGED_SEED, JUDGE_LR = 99, 2e-3


def needs(row, description):
    """Settings of a row beside the run file, and a word about them. `description`: what `rollcall recipes` says of it."""
    settings, note = SETTINGS.get(row, ([], ""))
    if row in TASKS:
        settings, note = [*TASKS[row].settings, *settings], "; ".join(text for text in (TASKS[row].note, note) if text)
    if "teacher_" in description:
        settings, note = [*settings, "teacher.model=teacher"], note or "the teacher is the warm start trained further on examples"
    if "trains a value head" in description:
        settings = [*settings, *CRITIC]
    return settings, note


def start_of(row):
    """The folder of the warm start that the row's runs begin from."""
    return f"warm_start_{TASKS[row].name}" if row in TASKS else "warm_start"


STARTS = ["warm_start", "further", "teacher", "answers", "judging", "judge", *(start_of(row) for row in TASKS)]


def make_starts(ask, folder, run_file, rows, sizes=LONG):
    """Makes in `folder` what runs of these rows, name -> their settings, begin from, of STARTS, unless it is there: the common warm start; a teacher, which is the warm
    start trained a little further; a judge, which learns the verifier's verdicts on answers of the warm start; warm starts of other tasks. `ask(*words)` runs the
    program there and returns its output."""
    def lacks(name, mark):
        if (folder / name / mark).exists():
            return False
        shutil.rmtree(folder / name, ignore_errors=True)  # what was killed half way
        return True

    def sft(name, *settings, words=()):
        if lacks(name, "result.json"):
            ask("sft", run_file, *words, *(f"--set={s}" for s in [f"run.dir={name}", *settings]))

    def export(run, name):
        if lacks(name, "model.safetensors"):
            ask("export", run, name)

    def named(model):
        return any(f"={model}" in setting for settings in rows.values() for setting in settings)

    sft("warm_start")
    if named("teacher"):
        sft("further", f"sft.steps={sizes.teacher_steps}", words=("--init-from", "warm_start"))
        export("further", "teacher")
    if named("judge"):
        if lacks("answers", "eval.json"):
            ask("eval", "warm_start", "--out", "answers", "--set", f"run.seed={JUDGED_SEED}", "--set", f"task.heldout_prompts={sizes.judged_prompts}")
        answers = [json.loads(line) for line in ask("archive", "export", "answers").splitlines()]
        judged = [{"prompt": f"{a['prompt']}{a['completion']}=", "answer": str(int(a["correct"]))} for a in answers]
        (folder / "judged.jsonl").write_text("".join(json.dumps(line) + "\n" for line in judged))
        sft("judging", "sft.file=judged.jsonl", f"sft.steps={sizes.judge_steps}", f"sft.lr={JUDGE_LR}", words=("--init-from", "warm_start"))
        export("judging", "judge")
    for row in rows:
        if row not in TASKS:
            continue
        if f"task.file={CORPUS}" in TASKS[row].settings:
            made = subprocess.run([sys.executable, pathlib.Path(__file__).with_name("worked_examples"), "sums"], capture_output=True, text=True, check=True)
            (folder / CORPUS).write_text(made.stdout)
        sft(start_of(row), *TASKS[row].settings, *TASKS[row].start, *([f"sft.steps={sizes.task_steps}"] if sizes.task_steps else []))
