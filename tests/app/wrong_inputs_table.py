"""The wrong inputs and what must be said about them; wrong_inputs_test.py runs the rows.

A row: name, command line, exit code, a fragment of the message. {tiny} is the run file, {w} the work folder, {run} a finished run. `run.dir` is {w}/new
unless the row sets it. Options: ranks, env, before (names of preparations), quick (within 2 s; default yes), done (exit code 0 with a warning)."""

TRAIN = "train {tiny} --set run.dir={w}/new "
RESUME = "train {tiny} --resume --set run.dir={w}/"
JSONL = TRAIN + "--set task.name=jsonl --set task.file={w}/"

FILES = {
    "open_table.toml": '[run\ndir = "x"\n',
    "unknown_key.toml": '[run]\nfolder = "x"\n',
    "twice.toml": "[train]\nsteps = 1\nsteps = 2\n",
    "wrong_type.toml": '[train]\nsteps = "many"\n',
    "broken.jsonl": '{"question": "1+1", "answer": "#### 2"}\n{"question": \n',
    "no_key.jsonl": '{"q": "1+1", "answer": "2"}\n',
    "empty.jsonl": "",
    "a_file": "not a folder\n",
}

ROWS = [
    # flags
    ("unknown flag", "train --nonsense", 2, "did you mean"),
    ("unknown subcommand", "trian {tiny}", 2, "did you mean train"),
    ("run file is missing", "train {w}/none.toml", 2, "cannot open"),
    ("--set without =", TRAIN + "--set run.seed", 2, "has no '='"),
    ("--set of an unknown key", TRAIN + "--set train.stepz=3", 2, "did you mean train.steps"),
    ("--set of another type", TRAIN + "--set train.steps=many", 2, "must be an integer"),
    ("--set out of range", TRAIN + "--set train.steps=-1", 2, "use a value from 0"),
    ("--set of an unknown choice", TRAIN + "--set run.layout=both", 2, "valid are auto, single"),
    ("plan on no rank", "plan {tiny} --ranks 0", 2, "not in range"),
    ("submit to an unknown site", "submit {tiny} --site nowhere --dry-run", 2, "there is no site"),
    ("submit on no node", "submit {tiny} --nodes 0 --dry-run", 2, "not in range"),
    # run files
    ("TOML syntax", "train {w}/open_table.toml", 2, "must be TOML"),
    ("unknown key in the file", "train {w}/unknown_key.toml", 2, "unknown_key.toml:2"),
    ("key given twice", "train {w}/twice.toml", 2, "cannot redefine"),
    ("type in the file", "train {w}/wrong_type.toml", 2, "must be an integer"),
    # settings that do not fit each other
    ("levels crossed", TRAIN + "--set task.min_level=3 --set task.max_level=1", 2, "no difficulty level"),
    ("budget out of reach", TRAIN + "--set scheduler.max_rollouts=2", 2, "could not be spent exactly"),
    ("odd head", TRAIN + "--set model.head_dim=15", 2, "rotary embedding turns pairs"),
    ("pass@k without samples", TRAIN + "--set eval.pass_k=99", 2, "at least k samples"),
    ("prompts longer than the model", TRAIN + "--set model.max_position_embeddings=8", 2, "positions"),
    # rollouts that the step did not sample
    ("replay of everything", TRAIN + "--set replay.share=1", 2, "use a value from 0 to 0.95"),
    ("replay without an age", TRAIN + "--set replay.max_staleness=0", 2, "use a value from 1"),
    ("replay by an unknown law", TRAIN + "--set replay.choose=oldest", 2, "valid are uniform, newest, advantage"),
    ("replay beside greedy answers", TRAIN + "--set objective.recipe=remax --set replay.share=0.5", 2, "a policy that is gone"),
    ("a recipe for experts without experts", TRAIN + "--set objective.recipe=chord", 2, "experts.share is 0"),
    ("a guide without a model", TRAIN + "--set guide.share=0.5", 2, "guide.model is empty"),
    ("a guide that says everything", TRAIN + "--set guide.share=0.5 --set guide.model=x --set guide.max_tokens=4096", 2, "nothing to say after the longest beginning"),
    ("a guide that is not there", TRAIN + "--set guide.share=0.5 --set guide.max_tokens=2 --set guide.model=/nowhere", 2, "/nowhere"),
    ("experts that nobody tells apart", TRAIN + "--set experts.share=0.5", 2, "does not tell an expert's rollouts from its own"),
    # names in tables
    ("unknown task", TRAIN + "--set task.name=sortin", 2, "did you mean sorting"),
    ("unknown tokenizer", TRAIN + "--set text.tokenizer=bpe", 2, "valid are auto, model, character, byte"),
    ("unknown recipe", TRAIN + "--set objective.recipe=gprpo", 2, "did you mean grpo"),
    ("unknown piece", TRAIN + "--set objective.pieces.advantage=none", 2, "is not a piece"),
    ("unknown family of pieces", TRAIN + "--set objective.pieces.no=none", 2, "family of pieces"),
    ("unknown objective knob", TRAIN + "--set objective.knobs.clipp=0.1", 2, "has a knob"),
    ("unknown scheduler policy", TRAIN + "--set scheduler.policy=unifrm", 2, "did you mean uniform"),
    ("unknown scheduler knob", TRAIN + "--set scheduler.policy=uniform_sqrt --set scheduler.knobs.nope=3", 2, "scheduler.knobs.nope is not a key"),
    ("scheduler knob out of range", TRAIN + "--set scheduler.policy=uniform_sqrt --set scheduler.knobs.prior_success=3", 2, "scheduler.knobs.prior_success is 3"),
    ("a policy of domains without domains", TRAIN + "--set scheduler.policy=apriel_reasoner", 2, "the policy apriel_reasoner needs a domain of every prompt"),
    ("a bandit over domains without domains", TRAIN + "--set scheduler.policy=sec --set scheduler.knobs.arms=domain", 2, "task.domain_key"),
    ("a value model's policy without its values", TRAIN + "--set scheduler.policy=v0", 2, "the policy v0 needs a prior of every prompt"),
    ("a policy that no stage feeds", TRAIN + "--set scheduler.policy=arrol", 2, "the policy arrol needs the column predicted"),
    ("unknown kernels", TRAIN, 2, "ROLLCALL_KERNELS", {"env": {"ROLLCALL_KERNELS": "nonsense"}}),
    # input files
    ("jsonl without a file", TRAIN + "--set task.name=jsonl", 2, "task.file is empty"),
    ("jsonl file is missing", JSONL + "none.jsonl", 2, "cannot open"),
    ("jsonl line is no JSON", JSONL + "broken.jsonl", 2, "broken.jsonl:2"),
    ("jsonl line without key", JSONL + "no_key.jsonl", 2, 'no key "question"'),
    ("jsonl file is empty", JSONL + "empty.jsonl", 2, "holds no question"),
    ("model folder without config.json", TRAIN + "--set model.path={w}", 2, "config.json"),
    ("config.json is no JSON", TRAIN + "--set model.path={w}/model", 2, "not a JSON object", {"before": ["model_config"]}),
    ("weights are garbage", TRAIN + "--set model.path={w}/model", 2, "not a valid safetensors", {"before": ["model_garbage"]}),
    ("weights are cut off", TRAIN + "--set model.path={w}/model", 2, "not a valid safetensors", {"before": ["model_cut"]}),
    ("weights of another shape", TRAIN + "--set model.path={w}/model", 2, "has shape", {"before": ["model_shape"]}),
    ("weights that are not finite", TRAIN + "--set model.path={w}/model --set sft.steps=0 --set train.on_nonfinite=stop", 3, "not finite",
     {"before": ["model_nan"]}),
    ("--init-from a step that was not kept", TRAIN + "--init-from {run}@77", 2, "has no checkpoint train_000077"),
    # run folders
    ("run folder below a file", "train {tiny} --set run.dir={w}/a_file/run", 2, "Not a directory"),
    ("run folder is a file", "train {tiny} --set run.dir={w}/a_file", 2, "run.dir"),
    ("submit into a folder below a file", "submit {tiny} --set run.dir={w}/a_file/run", 2, "Not a directory"),
    ("read-only file system", "train {tiny} --set run.dir={w}/read_only/run", 2, "Read-only", {"before": ["read_only"]}),
    ("full file system", "train {tiny} --set run.dir={w}/full/run", 3, "No space left", {"before": ["full"], "quick": False}),
    ("folder holds a run", "train {tiny} --set run.dir={run}", 2, "add --resume"),
    ("a stop that cannot be removed", RESUME + "stop_with_files", 3, "cannot remove", {"before": ["stop_with_files"]}),
    ("another job holds the folder", RESUME + "held --set train.steps=100000", 2, "process", {"before": ["held"]}),
    ("a setting changed on resume", "train {tiny} --resume --set run.dir={run} --set run.seed=9", 2, "was started with 1"),
    ("fewer steps than are done", "train {tiny} --resume --set run.dir={run} --set train.steps=5", 2, "has done 6"),
    ("more steps than were asked for", "train {tiny} --resume --set run.dir={w}/longer --set train.steps=7", 0, "goes from 6 to 7",
     {"before": ["longer"], "quick": False}),
    ("all checkpoints are damaged", RESUME + "damaged", 3, "can be read", {"before": ["damage_all"]}),
    ("newest checkpoint is damaged", RESUME + "damaged", 0, "the manifest says", {"before": ["damage_newest"], "quick": False}),
    ("eval of no run", "eval {w}", 2, "no checkpoint"),
    ("export of no run", "export {w} {w}/exported", 2, "no checkpoint"),
    ("export over a model", "export {run} {run}/checkpoints/done_000006", 2, "already holds a model"),
    ("generate from no run", "generate {w} 21", 2, "no checkpoint"),
    ("status of no run", "status {w}", 2, "not a run folder"),
    ("prompt too long", "generate {run} " + "12" * 30, 2, "positions"),
    # ranks: one message, whatever their number
    ("single on three ranks", TRAIN + "--set run.layout=single", 2, "exactly 1", {"ranks": 3, "quick": False}),
    ("disaggregated on two ranks", TRAIN + "--set run.layout=disaggregated", 2, "4 or more", {"ranks": 2, "quick": False}),
    ("wrong type on three ranks", TRAIN + "--set run.seed=oops", 2, "must be an integer", {"ranks": 3, "quick": False}),
    ("weights that are not finite on three ranks", TRAIN + "--set model.path={w}/model --set sft.steps=0", 3, "not finite",
     {"ranks": 3, "quick": False, "before": ["model_nan"]}),
    ("unknown kernels on three ranks", TRAIN, 2, "ROLLCALL_KERNELS", {"ranks": 3, "quick": False, "env": {"ROLLCALL_KERNELS": "nonsense"}}),
]
