// (long: one row a key) The table of run-file keys.
#include "core/run_config.hpp"

#include "base/errors/error.hpp"
#include "base/errors/log.hpp"
#include "base/files/file.hpp"
#include "core/other_trainers.hpp"
#include "core/settings_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rollcall {
namespace {

constexpr const char* kVariables =
    "variables of the chat template, each of the type it is written in: enable_thinking = false, "
    "version = \"1.10\"";
/// In an older config.toml, the comment above variables that are all written in quotes.
constexpr const char* kOlderVariables =
    "variables of the chat template, for example enable_thinking = false";
constexpr const char *kHears = "scheduler.hears", *kSplit = "task.split",
                     *kOnBadLine = "task.on_bad_line";
constexpr const char *kRowsTask = "file", *kOldRowsTask = "jsonl";  // accepted until version 0.4
constexpr const char* kOwnLine = "# Every setting of this run, defaults included.";
constexpr double kBig = 1e15;  // integers up to here are exact in a double
constexpr Range kCount{0, kBig}, kPositive{1, kBig}, kShare{0, 1};

void bind_optimizer(ConfigSchema& s, const std::string& section, OptimizerSection& o) {
  s.bind(section + ".lr", &o.lr, "peak learning rate of AdamW", {0, 10});
  s.bind(section + ".beta1", &o.beta1, "AdamW decay of the first moment", {0, 0.9999999});
  s.bind(section + ".beta2", &o.beta2, "AdamW decay of the second moment", {0, 0.9999999});
  s.bind(section + ".eps", &o.eps, "AdamW denominator floor", {0, 1});
  s.bind(section + ".weight_decay", &o.weight_decay,
         "decoupled weight decay; not on norms, biases, embeddings and the head, tied or not",
         {0, 10});
  s.bind(section + ".max_grad_norm", &o.max_grad_norm, "clip gradients to this global norm; 0: off",
         {0, kBig});
  s.bind(section + ".warmup_steps", &o.warmup_steps, "linear warm-up steps", kCount);
  s.bind(
      section + ".lr_schedule", &o.lr_schedule,
      "learning rate after the warm-up: constant, or a linear or cosine decay that ends with the "
      "steps",
      {}, {"constant", "linear", "cosine"});
  s.bind(section + ".min_lr_ratio", &o.min_lr_ratio, "the decay ends at lr times this", kShare);
}

void bind_judge(ConfigSchema& s, JudgeSection& j) {
  s.bind("judge.model", &j.model,
         "folder of a language model that scores answers beside the verifier; empty: none");
  s.bind("judge.kind", &j.kind,
         "what it is: judge writes a verdict, reward_model is a sequence classifier with one label",
         {}, {"judge", "reward_model"});
  s.bind("judge.component", &j.component, "name of its component of the reward");
  s.bind("judge.asked", &j.asked,
         "which answers it is asked about: all, or those that the verifier calls correct; it gives "
         "others 0",
         {}, {"all", "correct"});
  s.bind("judge.ranks", &j.ranks,
         "ranks of its own, the last of the job; 0: the scoring ranks judge", kCount);
  s.bind(
      "judge.prompt", &j.prompt,
      "what it is asked, with {prompt}, {response} and {answer}, and {other} where it compares the "
      "answers of a prompt in pairs; empty: whether the answer agrees with the reference");
  s.bind("judge.system", &j.system, "judge: system message; empty: none is given");
  s.bind("judge.assistant_prefix", &j.assistant_prefix,
         "judge: beginning of what it writes, given with the question");
  s.bind("judge.extract", &j.extract,
         "judge: how its verdict is found: yes_no, yes_no_only, words:GOOD|BAD, first_integer, "
         "integer_only, score_tag, error_index, last_number, boxed, answer_tag, regex:PATTERN");
  s.bind("judge.scale", &j.scale, "judge: lowest and highest verdict, which become 0 and 1");
  s.bind(
      "judge.votes", &j.votes,
      "judge: verdicts drawn of each answer; the component is the mean of those that can be read",
      {1, 1024});
  s.bind("judge.temperature", &j.sampling.temperature, "judge: sampling temperature; 0: greedy",
         {0, 100});
  s.bind("judge.top_k", &j.sampling.top_k, "judge: keep the k likeliest tokens; 0: off", kCount);
  s.bind("judge.top_p", &j.sampling.top_p, "judge: nucleus mass; 1: off", {1e-6, 1});
  s.bind("judge.max_new_tokens", &j.sampling.max_new_tokens, "judge: longest verdict [tokens]",
         {1, 1048576});
  s.bind("judge.stop", &j.sampling.stop, "judge: texts that end a verdict");
}

void bind_environment(ConfigSchema& s, EnvironmentSection& e) {
  s.bind("environment.name", &e.name,
         "what the policy talks with: a built-in environment, or tools; empty: environment.command "
         "or the task's own, and answers are single turns where there is neither");
  s.bind("environment.command", &e.command,
         "program and arguments that the policy talks with, JSON lines in and out; empty: none");
  s.bind("environment.components", &e.components,
         "components of the reward that the command reports");
  s.bind("environment.kinds", &e.kinds,
         "names of the kinds of actions that the command tells apart; they are numbered from 1");
  s.bind("environment.tools", &e.tools, "environment.name = tools: the tools that may be called");
  s.bind("environment.index", &e.index, "file of lines that the tool search looks through");
  s.bind("environment.role", &e.role,
         "role in the chat of what the environment says; auto: as the environment asks for", {},
         {"auto", "user", "tool"});
  s.bind("environment.processes", &e.processes,
         "processes of the command side by side on each generation rank", {1, 4096});
  s.bind("environment.timeout_s", &e.timeout_s,
         "longest time without an answer of a process that was asked [s]; then it is ended",
         {0.01, 86400});
  s.bind("environment.max_turns", &e.max_turns, "most turns of the policy in a rollout", {1, 4096});
  s.bind("environment.max_tokens", &e.max_tokens,
         "most tokens of a rollout after its prompt, sampled and told together; 0: what the "
         "model's positions leave",
         {0, 1048576});
  s.bind("environment.sandbox", &e.sandbox, "run the command in the sandbox");
  s.bind(
      "environment.forks", &e.forks,
      "where rollouts of a group fork from others (after_reply, top_entropy, runner_up, every_turn); "
      "empty: nowhere");
  s.bind("environment.unforked", &e.unforked,
         "rollouts of a group that are sampled from their beginning; 0: half", kCount);
  s.bind(
      "environment.start_depth", &e.start_depth,
      "where training conversations begin on the way of the environment's expert; own: before its "
      "first action; backward: one action before its end, and one earlier every start_every steps; "
      "success: likewise, after steps with enough right rollouts; random: anywhere",
      {}, {"own", "backward", "success", "random"});
  s.bind("environment.start_every", &e.start_every,
         "start_depth backward: train steps until conversations begin one action earlier",
         kPositive);
  s.bind("environment.start_success", &e.start_success,
         "start_depth success: share of a step's rollouts that must be right for the next one to "
         "begin one action earlier",
         kShare);
  s.bind("environment.turns_every", &e.turns_every,
         "train steps until training conversations have one turn more, from one turn up to "
         "max_turns; 0: max_turns from the first step on",
         kCount);
}

void bind_hints(ConfigSchema& s, HintSection& h) {
  s.bind("hints.source", &h.source,
         "where help for a prompt comes from: the beginning of the task's worked solution, or a "
         "list in the row of task.file (hints.hint_key)",
         {}, {"solution", "row"});
  s.bind("hints.hint_key", &h.hint_key, "row: field of the list, the least help first");
  s.bind("hints.as", &h.as,
         "how help is given: in the question (prompt), or as the beginning of the answer", {},
         {"prompt", "beginning"});
  s.bind("hints.shares", &h.shares,
         "solution: share of its lines that each tier gives, the least first");
  s.bind("hints.text", &h.text, "prompt: the question with its help, with {prompt} and {hint}");
  s.bind("hints.learns", &h.learns, "beginning: train the given tokens as well");
}

void bind_second_pass(ConfigSchema& s, SecondPassSection& p) {
  s.bind("second_pass.kind", &p.kind,
         "how a step follows up on its first answers: it asks for better ones (refinement), asks "
         "where an answer went wrong and continues from the corrected line (error), samples an "
         "earlier policy too (counterpart), or samples more rollouts and trains on the best and "
         "worst of them (pool); empty: not at all",
         {}, {"", "refinement", "error", "counterpart", "pool"});
  s.bind("second_pass.of", &p.of,
         "refinement, error: answers of groups without a success (dead), all wrong ones (failed), "
         "or every one",
         {}, {"dead", "failed", "every"});
  s.bind("second_pass.share", &p.share,
         "refinement, error: largest share of a step's groups that is asked again", kShare);
  s.bind("second_pass.rollouts", &p.rollouts, "refinement, error: rollouts of each new prompt",
         {1, 16384});
  s.bind("second_pass.placement", &p.placement,
         "where the new rollouts train: in a group of their own, or in the group that they were "
         "made of, beside all of its rollouts, in place of them, or in place of one failure each; "
         "where it is not set, error has own_group",
         {}, {"own_group", "joins_parent", "replaces_parent", "replaces_one"});
  s.bind("second_pass.trained_on", &p.trained_on,
         "refinement: the prompt behind which they train, the one that was asked or the first one "
         "(parent)",
         {}, {"asked", "parent"});
  s.bind("second_pass.keep", &p.keep,
         "joins_parent: how many of them train in a group, the best first; 0: all", kCount);
  s.bind("second_pass.feedback", &p.feedback,
         "refinement: what {feedback} says: whether the answer is right, the reference, why it is "
         "wrong, or what the policy finds wrong (second_pass.error)",
         {}, {"verdict", "reference", "reason", "critique"});
  s.bind("second_pass.refinement", &p.refinement,
         "asked for a better answer, with {prompt}, {response}, {feedback} and {reference}");
  s.bind("second_pass.error", &p.error,
         "asked for what is wrong, with {prompt}, {response} and {reference}");
  s.bind("second_pass.buffer", &p.buffer,
         "largest share of a step's prompts that go on from answers of earlier steps; the step's "
         "budget stays what it is. 0: off",
         {0, 0.9});
  s.bind("second_pass.buffer_size", &p.buffer_size, "answers of earlier steps that are kept",
         {1, 65536});
  s.bind("second_pass.numerics", &p.numerics,
         "pool: arithmetic of the larger draw; empty: run.numerics", {},
         {"", "fp32_fixed_order", "bf16_sliced8", "cuda_bf16_sliced8"});
  s.bind("second_pass.factor", &p.factor,
         "pool: rollouts of the larger draw for each one that trains", {1, 1024});
}

void bind_openings(ConfigSchema& s, OpeningSection& o) {
  s.bind("openings.as", &o.as,
         "what openings.texts are: beginnings of the answer (given), or words behind the question",
         {}, {"given", "prompt"});
  s.bind("openings.texts", &o.texts,
         "texts that the rollouts of a group begin with in turn; empty: none");
  s.bind("openings.exit", &o.exit,
         "what is said where a group's first answer is cut, for its other rollouts to go on from; "
         "empty: nothing is cut");
}

}  // namespace

ConfigSchema bind(RunConfig& c) {
  ConfigSchema s;
  hint_at_keys(&hint_for_key);
  s.bind("run.dir", &c.run.dir, "run folder: archive, checkpoints, metrics, report");
  s.bind("run.seed", &c.run.seed, "seed of every random stream", {0, kBig});
  s.bind("run.layout", &c.run.layout, "who hosts which stage", {},
         {"auto", "single", "colocated", "disaggregated"});
  s.bind(
      "run.threads", &c.run.threads,
      "worker threads a rank; 0: the cores that the rank may use, each divided by the ranks that "
      "may use it",
      {0, 1024});
  s.bind("run.numerics", &c.run.numerics,
         "arithmetic of the run, which fixes its bits: fp32; weights, inputs, keys and values "
         "rounded to bf16; or the latter on CUDA devices. Sums and optimizer "
         "state are fp32",
         {}, {"fp32_fixed_order", "bf16_sliced8", "cuda_bf16_sliced8"});
  s.bind("run.allow_numerics_change", &c.run.allow_numerics_change,
         "allow a resume in other numerics or on another kind of CUDA device; the result then has "
         "the bits of neither");
  s.bind("run.log_level", &c.run.log_level, "least severe log line shown", {},
         {"debug", "info", "warn", "error"});
  s.bind("run.deadline_s", &c.run.deadline_s,
         "longest wait of a rank before the job ends [s]: above the longest step", {1, kBig});
  s.bind(
      "run.watch_s", &c.run.watch_s,
      "time without progress until log and status name the silent rank, with its stack [s]; 0: off",
      {0, kBig});
  s.bind(
      "run.comm", &c.run.comm,
      "what carries sums and weights between ranks with devices: auto is NCCL where each has one "
      "of its own, else MPI",
      {}, {"auto", "mpi", "nccl"});
  s.bind("run.wall_time_s", &c.run.wall_time_s,
         "stop with a checkpoint after this time [s]; 0: from Slurm", {0, kBig});
  s.bind("run.memory_limit", &c.run.memory_limit,
         "memory a rank may use, such as 6G; empty: its share of what the node offers");
  s.bind("run.init_from", &c.run.init_from, "start from the weights of RUN or RUN@STEP");

  s.bind("task.name", &c.task.name,
         "task: sorting, arithmetic, countdown, code, tags, json, instructions, multiple_choice, "
         "word_sorting, graph, knights_knaves, units, key_door, rooms, frozen_lake, "
         "bandit, twenty_questions, number_dialogue, shop, forms, corpus, file");
  s.bind("task.train_prompts", &c.task.train_prompts,
         "most training prompts; 0: all of task.file, whose default it is", kCount);
  s.bind(
      "task.validation_prompts", &c.task.validation_prompts,
      "validation prompts; of a file those with the smallest hashes of their content; -1: 128, or "
      "a tenth of its rows, and none where eval.every is 0",
      {-1, kCount.high});
  s.bind("task.heldout_prompts", &c.task.heldout_prompts,
         "most held-out prompts for eval; 0: all of the file's, whose default it is", kCount);
  s.bind("task.min_level", &c.task.min_level,
         "smallest difficulty level (docs/reference/tasks.md says what it counts)", {1, 64});
  s.bind("task.max_level", &c.task.max_level, "largest difficulty level", {1, 64});
  s.bind("task.tail_exponent", &c.task.tail_exponent, "P(level) proportional to level^-exponent",
         {-8, 8});
  s.bind("task.operators", &c.task.operators, "arithmetic: operators to ask for, equally often");
  s.bind("task.digits", &c.task.digits,
         "arithmetic: list that either operand's digit count is drawn from, instead of levels; "
         "empty: levels",
         {1, 8});
  s.bind("task.wording", &c.task.wording,
         "how built-in tasks ask: plain, question, words, or a list to draw from");
  s.bind(
      "task.forms", &c.task.forms,
      "forms of question and answer, of which each drawn question takes one for its whole group: "
      "plain, boxed, answer_tag, think, ... "
      "(docs/reference/answers.md); evaluations take the first; empty: plain");
  s.bind(
      "task.extract", &c.task.extract,
      "how the answer is found: whole, integer, last_number, gsm8k_strict, gsm8k_flexible, boxed, "
      "answer_tag, final_line, marker, math_answer, regex:PATTERN; "
      "empty: the verifier's own");
  s.bind_list("task.file", &c.task.file,
              "file: training file of JSON lines or one JSON array, or a list of them: "
              "[{path, weight, where = {field = value}}]; corpus: text file, an empty line between "
              "documents");
  s.bind("task.heldout_file", &c.task.heldout_file,
         "file: held-out file; empty: split task.file by content");
  s.bind("task.heldout_share", &c.task.heldout_share,
         "file: share of the rows of task.file that is held out where there is no "
         "task.heldout_file",
         {0, 0.9});
  s.bind(
      kSplit, &c.task.split,
      "file: how task.file is split without task.heldout_file: exact holds the share of its rows "
      "out whose contents have the smallest hashes; by_row "
      "decides on each row by its own hash, as earlier builds did",
      {}, {"exact", "by_row"});
  s.bind(kOnBadLine, &c.task.on_bad_line,
         "file: a line that cannot be read ends the start (refuse) or is left out and counted "
         "(drop)",
         {}, {"refuse", "drop"});
  // The old names are accepted until version 0.4.
  s.rename("task.question_key", "task.fields.prompt");
  s.rename("task.answer_key", "task.fields.answer");
  s.rename("task.domain_key", "task.fields.domain");
  s.rename("task.prior_key", "task.fields.prior");
  s.bind("task.answer_marker", &c.task.answer_marker,
         "file: text before the final answer; empty: the whole answer counts; auto, the default "
         "with task.file: #### where all answers hold it, else empty");
  s.bind("task.drop_overlong", &c.task.drop_overlong,
         "leave out prompts that leave no room for an answer, instead of refusing the run");
  s.bind("task.format_weight", &c.task.format_weight,
         "weight of the format component in the reward", {0, 10});
  s.bind(
      "task.shuffle_rewards", &c.task.shuffle_rewards,
      "control: permute verdicts (reward, correct, components, answer) over the step's rollouts, "
      "for scheduler and objective alike");
  auto& f = c.task.fields;
  s.bind("task.fields.prompt", &f.prompt,
         "file: field of the question, a text or a list of messages; a dotted name reaches into "
         "objects; empty: as the rows' layout says (docs/guide/own-data.md)");
  s.bind("task.fields.answer", &f.answer, "file: field of the answer; empty: as above");
  s.bind("task.fields.level", &f.level, "file: field of the difficulty; empty: as above");
  s.bind("task.fields.domain", &f.domain, "file: field of a question's category; empty: as above");
  s.bind("task.fields.prior", &f.prior,
         "file: field of a question's expected success rate, 0 to 1; empty: as above");
  s.bind("task.fields.id", &f.id, "file: field of a row's name; empty: as above");
  s.bind("task.fields.tools", &f.tools,
         "file: field of the tools that the chat template shows; empty: as above");

  s.bind("reward.verifier", &c.reward.verifier,
         "verifier that judges in place of the task's, such as math for questions of task.file "
         "(rollcall score --help lists them)");
  s.bind("reward.command", &c.reward.command,
         "program and arguments that judge answers, JSON lines in and out "
         "(docs/guide/own-reward.md); empty: the task's verifier");
  s.bind("reward.components", &c.reward.components,
         "components that the command reports beside correct");
  s.bind("reward.processes", &c.reward.processes,
         "processes of the command side by side on each scoring rank", {1, 4096});
  s.bind("reward.timeout_s", &c.reward.timeout_s,
         "longest time of the command for one verdict [s]; then its processes are ended",
         {0.01, 86400});
  s.bind("reward.undecided", &c.reward.undecided,
         "answers without a verdict: drop leaves those out that no answer can bring about "
         "(docs/guide/own-reward.md), wrong counts them all as wrong",
         {}, {"drop", "wrong"});

  bind_judge(s, c.judge);

  s.bind("text.tokenizer", &c.text.tokenizer,
         "how text becomes tokens; auto: the model folder's tokenizer.json, or character if it has "
         "none",
         {}, {"auto", "model", "character", "byte"});
  s.bind("text.template", &c.text.chat_template,
         "chat template of prompts: auto (the model's, if any), model, none, or a .jinja file");
  s.bind("text.system", &c.text.system,
         "system message; empty: none is given, and the template may put in its own");
  s.bind("text.user", &c.text.user,
         "what the policy is asked; {prompt} stands for the task's prompt");
  s.bind("text.assistant_prefix", &c.text.assistant_prefix,
         "beginning of every answer, given with the prompt: not trained on, not shown to the "
         "verifier");
  s.bind_table("text.variables", &c.text.variables, kVariables, ConfigSchema::Entries::typed);

  auto& m = c.model;
  s.bind("model.path", &m.path,
         "folder with config.json and model.safetensors, or with an adapter; empty: initialise");
  s.bind("model.hidden_size", &m.hidden_size, "width of the residual stream", {8, 65536});
  s.bind("model.intermediate_size", &m.intermediate_size, "width of the SwiGLU layer", {8, 262144});
  s.bind("model.num_hidden_layers", &m.num_hidden_layers, "transformer blocks", {1, 512});
  s.bind("model.num_attention_heads", &m.num_attention_heads, "query heads", {1, 512});
  s.bind("model.num_key_value_heads", &m.num_key_value_heads,
         "key/value heads (grouped-query attention)", {1, 512});
  s.bind("model.head_dim", &m.head_dim, "width of a head", {2, 1024});
  s.bind("model.max_position_embeddings", &m.max_position_embeddings, "longest sequence [tokens]",
         {8, 1048576});
  s.bind("model.rope_theta", &m.rope_theta, "base of the rotary embedding", {1, 1e9});
  s.bind("model.rms_norm_eps", &m.rms_norm_eps, "RMSNorm floor", {0, 1});
  s.bind("model.initializer_range", &m.initializer_range, "standard deviation of initial weights",
         {0, 1});
  s.bind("model.tie_word_embeddings", &m.tie_word_embeddings, "head shares the embedding matrix");
  s.bind("model.qk_norm", &m.qk_norm, "RMSNorm on queries and keys (Qwen3)");
  s.bind("model.attention_bias", &m.attention_bias, "bias on q, k, v (Qwen2)");

  s.bind(
      "sft.file", &c.sft.file,
      "JSON lines to learn from: conversations, or prompts and answers; empty: the task's worked "
      "solutions");
  s.bind("sft.messages_key", &c.sft.messages_key,
         "sft.file: key of a conversation, a list of role and content");
  s.bind("sft.prompt_key", &c.sft.prompt_key,
         "sft.file: key of a prompt; empty: prompt or question");
  s.bind("sft.answer_key", &c.sft.answer_key,
         "sft.file: key of its answer; empty: answer or completion");
  s.bind("sft.thought_dropout", &c.sft.thought_dropout,
         "share of the examples whose thought, <think>...</think>, is emptied", kShare);
  s.bind(
      "sft.turns", &c.sft.turns,
      "most turns that are learnt of an expert's conversation with a built-in environment; 0: as "
      "many as environment.max_turns",
      kCount);
  s.bind("sft.steps", &c.sft.steps, "supervised steps before training", kCount);
  s.bind("sft.batch_size", &c.sft.batch_size,
         "examples a supervised step; each is taken once a pass, in an order of the pass's own",
         kPositive);
  bind_optimizer(s, "sft", c.sft.optimizer);

  s.bind("sampling.temperature", &c.sampling.temperature, "sampling temperature; 0: greedy",
         {0, 100});
  s.bind("sampling.top_k", &c.sampling.top_k, "keep the k likeliest tokens; 0: off", kCount);
  s.bind("sampling.top_p", &c.sampling.top_p, "nucleus mass; 1: off", {1e-6, 1});
  s.bind(
      "sampling.logprob", &c.sampling.logprob,
      "the softmax whose log-probs are stored and trained: over all tokens (full), or over those "
      "that top_k and top_p leave (kept)",
      {}, {"full", "kept"});
  s.bind("sampling.max_new_tokens", &c.sampling.max_new_tokens, "longest response [tokens]",
         {1, 1048576});
  s.bind("sampling.turn_tokens", &c.sampling.turn_tokens,
         "longest turn of a conversation [tokens]; 0: sampling.max_new_tokens alone limits it",
         {0, 1048576});
  s.bind("sampling.stop", &c.sampling.stop, "texts that end a response");

  s.bind("train.steps", &c.train.steps, "reinforcement learning steps", kCount);
  s.bind("train.rollouts", &c.train.rollouts,
         "end early, with the step that reaches this many drawn rollouts, as do learning rates and "
         "other schedules; 0: only train.steps counts",
         kCount);
  s.bind("train.prompts_per_step", &c.train.prompts_per_step, "prompts a step", kPositive);
  s.bind("train.rollouts_per_prompt", &c.train.rollouts_per_prompt,
         "mean rollouts a prompt; the product is the step's exact budget", kPositive);
  s.bind("train.epochs", &c.train.epochs, "passes over a step's rollouts", {1, 100});
  s.bind("train.mini_batches", &c.train.mini_batches, "optimizer steps a pass", {1, 1024});
  s.rename("train.leaf_tokens", "train.micro_batch_tokens");  // the old name is accepted until
                                                              // version 0.4
  s.bind("train.micro_batch_tokens", &c.train.micro_batch_tokens,
         "most tokens of a packed micro-batch; 0: what model and run.memory_limit allow, at most "
         "1024 (on devices: what the model allows, at most 16384)",
         {0, 1 << 24});
  bind_optimizer(s, "train", c.train.optimizer);
  s.bind("train.on_nonfinite", &c.train.on_nonfinite,
         "what to do about a non-finite gradient or a spike", {}, {"skip", "rollback", "stop"});
  s.bind("train.loss_spike_factor", &c.train.loss_spike_factor,
         "gradient norm above factor x running mean, of steps with a gradient, is a spike; 0: off",
         {0, kBig});
  s.bind("train.max_bad_steps", &c.train.max_bad_steps, "consecutive bad steps that end the run",
         kPositive);
  s.bind(
      "train.from_archive", &c.train.from_archive,
      "run folder or HDF5 file whose training steps take the place of generation; empty: generate");

  s.bind("gradient_mask.before", &c.gradient_mask.before,
         "training steps change only weights that moved between two checkpoints: RUN, RUN@STEP or "
         "the model folder before; empty: all weights train");
  s.bind("gradient_mask.after", &c.gradient_mask.after, "the checkpoint after");
  s.bind("gradient_mask.tolerance", &c.gradient_mask.tolerance,
         "a weight that moved by no more than this has not moved", {0, kBig});

  s.bind("scheduler.policy", &c.scheduler.policy,
         "how prompts and budgets are chosen: a row of the table of policies");
  s.bind("scheduler.sampler", &c.scheduler.sampler,
         "replaces the policy's sampler; empty: keep it");
  s.bind("scheduler.allocator", &c.scheduler.allocator,
         "replaces the policy's allocator; empty: keep it");
  s.bind("scheduler.rounds", &c.scheduler.rounds, "replaces the policy's rounds; empty: keep them");
  s.bind("scheduler.selection", &c.scheduler.selection,
         "replaces the policy's selection; empty: keep it");
  s.bind("scheduler.min_rollouts", &c.scheduler.min_rollouts, "fewest rollouts of a chosen prompt",
         kPositive);
  s.bind("scheduler.max_rollouts", &c.scheduler.max_rollouts, "most rollouts of a chosen prompt",
         kPositive);
  s.bind(kHears, &c.scheduler.hears,
         "which figure of a rollout the policy learns from: the recipe's reward before "
         "normalisation, or the verifier's alone",
         {}, {"reward", "verifier"});
  s.bind_table("scheduler.knobs", &c.scheduler.knobs, "settings of the policy's pieces");
  s.bind("objective.recipe", &c.objective.recipe, "method: a row of the table of recipes");
  s.bind("success.memory_min", &c.success.memory_min,
         "tracked success of a prompt: least share of its evidence that is kept when a new result "
         "arrives",
         {0, 0.999999});
  s.bind("success.memory_max", &c.success.memory_max, "largest share that is kept", {0, 1});
  s.bind("success.drift_half", &c.success.drift_half,
         "drift of the log-probs on the prompt's previous rollout that halves the evidence [nats]",
         {1e-9, 1e9});
  s.bind_table("objective.pieces", &c.objective.pieces, "replace single pieces of the recipe");
  s.bind_table("objective.knobs", &c.objective.knobs, "settings of the recipe's pieces");
  s.bind("reference.model", &c.reference.model,
         "model folder of the reference policy; empty: the policy as training starts");
  s.bind("reference.decay", &c.reference.decay,
         "share that the moving-average reference keeps after a step; 1: frozen", {0, 1});
  s.bind("reference.refresh_every", &c.reference.refresh_every,
         "steps between copies of the policy into the reference; 0: never", kCount);
  s.bind("teacher.model", &c.teacher.model,
         "model folder of the teacher, for objectives that distil");
  s.bind("guide.model", &c.guide.model, "model folder of a guide that begins answers");
  s.bind("guide.share", &c.guide.share,
         "share of a step's groups whose answers begin with the guide's tokens; 0: off", kShare);
  s.bind("guide.max_tokens", &c.guide.max_tokens,
         "longest beginning; lengths are uniform from 1 up", kPositive);

  s.bind("probes.delimiter", &c.probes.delimiter,
         "where the objective asks how far each reasoning step came: text that ends a step");
  s.bind("probes.opener", &c.probes.opener,
         "beginning of a final answer, put behind the step, or behind the turn of a conversation");
  s.bind("probes.draws", &c.probes.draws, "continuations drawn behind it", {1, 1024});
  s.bind("probes.max_tokens", &c.probes.max_tokens, "longest continuation [tokens]", {1, 1048576});
  s.bind("probes.temperature", &c.probes.temperature,
         "sampling temperature of the continuations and of the probabilities read from them; 0 "
         "samples greedily and reads at temperature 1",
         {0, 100});
  bind_optimizer(s, "critic", c.critic.optimizer);

  s.bind("replay.share", &c.replay.share,
         "share of a step's groups that come from earlier steps; 0: off", {0, 0.95});
  s.bind("replay.max_staleness", &c.replay.max_staleness,
         "oldest policy whose groups come back [optimizer steps]", kPositive);
  s.bind("replay.choose", &c.replay.choose, "which of them come back", {},
         {"uniform", "newest", "advantage"});
  s.bind("replay.distinct_prompts", &c.replay.distinct_prompts,
         "of several groups of one prompt only the newest may come back");
  s.bind("replay.old_policy", &c.replay.old_policy,
         "whose log-probs are the old ones of replayed tokens", {}, {"sampler", "current"});
  s.bind("experts.share", &c.experts.share,
         "share of a step's groups with the task's worked solution as one more rollout; 0: off",
         kShare);
  s.bind(
      "self_judging.share", &c.self_judging.share,
      "largest share of a step's prompts that ask the policy to judge answers of the step before; "
      "the step's budget stays what it is. 0: off",
      {0, 0.9});
  s.bind(
      "self_judging.pointwise", &c.self_judging.pointwise,
      "asked of one answer, with {prompt} and {response}; yes or no is the reply. Empty: none of "
      "this kind");
  s.bind("self_judging.pairwise", &c.self_judging.pairwise,
         "asked of a right and a wrong answer, with {prompt}, {first} and {second}; A or B is the "
         "reply. Empty: none of this kind");
  s.bind("self_judging.reflection", &c.self_judging.reflection,
         "asked of a wrong answer, with {prompt} and {response}; a better answer is the reply. "
         "Empty: none of this kind");
  s.bind("self_judging.shuffle_labels", &c.self_judging.shuffle_labels,
         "control experiment: the label of every verdict is drawn at random");

  bind_environment(s, c.environment);
  bind_hints(s, c.hints);
  bind_second_pass(s, c.second_pass);
  bind_openings(s, c.openings);

  s.bind("eval.samples", &c.eval.samples, "rollouts per held-out prompt", kPositive);
  s.bind("eval.pass_k", &c.eval.pass_k,
         "k of pass@k and maj@k; where it is not set, no more than the samples", kPositive);
  s.bind("eval.every", &c.eval.every, "steps between validations; 0: never", kCount);
  s.bind("eval.validation_samples", &c.eval.validation_samples, "rollouts per validation prompt",
         kPositive);
  s.bind("eval.bootstrap", &c.eval.bootstrap, "resamples behind the 95 % intervals", {10, 1e6});
  s.bind("eval.before", &c.eval.before, "evaluate after the warm start");
  s.bind("eval.after", &c.eval.after, "evaluate at the end");
  s.bind("checkpoint.every", &c.checkpoint.every,
         "steps between checkpoints; where ten minutes of work would be lost, a step's end begins "
         "one too",
         kPositive);
  s.bind(
      "checkpoint.keep_last", &c.checkpoint.keep_last,
      "checkpoints to keep, the one of the run's end (done_...) among them, which is of the same "
      "step as the last train_... before it",
      kPositive);
  s.bind("checkpoint.keep_every", &c.checkpoint.keep_every,
         "steps whose checkpoints are kept for good: every multiple; 0: none", kCount);
  s.bind(
      "checkpoint.keep_best", &c.checkpoint.keep_best,
      "metric whose best checkpoint is kept too (of a step that measures it, or of a validation, "
      "which then gets its own checkpoint); -NAME: smallest is best; empty: none");
  s.bind("checkpoint.patience", &c.checkpoint.patience,
         "the training ends after this number of validations in a row without a new best of "
         "checkpoint.keep_best; 0: never",
         kCount);
  s.bind("archive.pack_every", &c.archive.pack_every, "steps packed into one archive file",
         kPositive);

  s.bind("sandbox.cpu_s", &c.sandbox.cpu_s, "verifiers that run code: processor time of a test [s]",
         {1, 86400});
  s.bind(
      "sandbox.wall_s", &c.sandbox.wall_s,
      "wall clock that guards a test [s]; what it ends is wrong, or undecided on a machine short "
      "of processors",
      {0.1, 86400});
  s.bind("sandbox.memory", &c.sandbox.memory,
         "address space of each process of a test, such as 512M");
  s.bind("sandbox.output", &c.sandbox.output, "most output of a test, such as 1M");
  s.bind("sandbox.files", &c.sandbox.files, "most a test may write to its /tmp, such as 32M");
  s.bind("sandbox.processes", &c.sandbox.processes, "processes and threads of a test at a time",
         {1, 4096});
  s.bind("sandbox.workers", &c.sandbox.workers,
         "tests that each scoring rank runs side by side, and answers of the environment that each "
         "generation rank does",
         {1, 1024});
  s.bind("sandbox.allow_landlock", &c.sandbox.allow_landlock,
         "where user namespaces are forbidden: run code behind Landlock and seccomp alone, the "
         "second tier");
  return s;
}

namespace {

/// Older versions wrote all template variables in quotes. Reads the value of one as they did: as a
/// number, a boolean or a list if it can be read as one, otherwise as a string.
std::string as_older_versions(const std::string& quoted) {
  std::string text;
  ConfigSchema::KeyValues typed;
  ConfigSchema unquoted, table;
  unquoted.bind("text", &text, {});
  table.bind_table("table", &typed, {}, ConfigSchema::Entries::typed);
  try {
    unquoted.load_text("text = " + quoted, "a template variable");
    table.set("table.value=" + text);
  } catch (const ConfigError&) {
    return quoted;  // inf and nan stay strings
  }
  return typed.front().second.starts_with('"') ? quoted : typed.front().second;
}

void load_settings(RunConfig& config, ConfigSchema& schema, const std::string& text,
                   const std::string& origin) {
  schema.load_text(text, origin);
  if (text.find(fmt::format("\n# {}\n", kOlderVariables)) == std::string::npos) return;
  for (auto& [name, value] : config.text.variables)
    if (value.starts_with('"')) value = as_older_versions(value);
}

/// Renames the file task if it has its old name, and returns whether it did.
bool rename_task(TaskSection& task) {
  if (task.name != kOldRowsTask) return false;
  task.name = kRowsTask;
  return true;
}

/// Reads the text of a run's own settings. If an earlier build wrote it, newer keys are missing;
/// they get the values that keep the run as it was.
void load_own(RunConfig& config, ConfigSchema& schema, const std::string& text,
              const std::string& origin) {
  load_settings(config, schema, text, origin);
  rename_task(config.task);
  if (!schema.was_set(kHears)) config.scheduler.hears = "verifier";
  if (!schema.was_set(kSplit)) config.task.split = "by_row";
  // Earlier builds wrote the keys of a question file into every run's record.
  if (!schema.was_set(kOnBadLine) && config.task.name != kRowsTask) config.task.fields = {};
}

/// Reports the new name of the task if a setting gives the old one.
void tell_old_task(const ConfigSchema& schema) {
  const auto place = schema.places().find("task.name");
  if (place == schema.places().end()) return;
  log_warning("{}", error_message(fmt::format("{}: the task {} is called {} now",
                                              place->second.text, kOldRowsTask, kRowsTask),
                                  "the old name goes with the next release",
                                  fmt::format("write task.name = \"{}\"", kRowsTask)));
}

/// The folder that a run's own file lies in. A run.dir that names the same folder is returned as it
/// was written, because it is part of the run's identity.
std::string folder_of(const std::filesystem::path& file, const std::string& stated) {
  const auto folder = std::filesystem::absolute(file).lexically_normal().parent_path();
  std::error_code unknown;
  return std::filesystem::equivalent(folder, stated, unknown) && !unknown ? stated
                                                                          : folder.string();
}

void lower_pass_k(RunConfig& c) {
  c.eval.pass_k = std::min(c.eval.pass_k, c.eval.samples);
  if (c.eval.every > 0) c.eval.pass_k = std::min(c.eval.pass_k, c.eval.validation_samples);
}

/// Sets defaults that depend on other settings. The config.toml of a run states every key, so a
/// resume changes nothing.
void choose_defaults(RunConfig& c, const ConfigSchema& schema) {
  if (!c.task.file.empty() && !schema.was_set("task.name")) c.task.name = kRowsTask;
  if (c.task.name == kRowsTask) {
    if (!schema.was_set("task.answer_marker")) c.task.answer_marker = "auto";
    if (!schema.was_set("task.train_prompts")) c.task.train_prompts = 0;
    if (!schema.was_set("task.validation_prompts")) c.task.validation_prompts = -1;
    if (!schema.was_set("task.heldout_prompts")) c.task.heldout_prompts = 0;
  }
  const bool has_weights = !c.model.path.empty() || !c.run.init_from.empty();
  if (has_weights && !schema.was_set("sft.steps")) c.sft.steps = 0;
  if (!schema.was_set("eval.pass_k")) lower_pass_k(c);
  // A continuation of a corrected line begins differently from the group that it was made from.
  if (c.second_pass.kind == "error" && !schema.was_set("second_pass.placement"))
    c.second_pass.placement = "own_group";
}

/// A run's record states eval.pass_k even if nobody chose it, so an assignment of fewer samples
/// lowers it, as at a first start, unless an assignment names it too.
void follow_samples(RunConfig& c, const ConfigSchema& schema) {
  const auto is_assigned = [&](const char* key) {
    const auto place = schema.places().find(key);
    return place != schema.places().end() && place->second.by_assignment;
  };
  if (is_assigned("eval.pass_k")) return;
  if (is_assigned("eval.samples") || is_assigned("eval.validation_samples")) lower_pass_k(c);
}

}  // namespace

std::string settings_text(RunConfig config) {
  return fmt::format("{}\n{}", kOwnLine, bind(config).to_toml());
}

RunConfig read_settings(const std::string& text, const std::string& origin) {
  RunConfig config;
  ConfigSchema schema = bind(config);
  load_own(config, schema, text, origin);
  return config;
}

bool precedes_hears(const std::string& text) {
  RunConfig config;
  ConfigSchema schema = bind(config);
  schema.load_text(text, "the settings of a run");
  return !schema.was_set(kHears);
}

bool is_submitted(const std::filesystem::path& file) {
  const std::string name = file.filename().string();
  return name == "submitted.toml" || (name.starts_with("submitted-") && name.ends_with(".toml"));
}

bool has_record_name(const std::filesystem::path& file) {
  return file.filename() == "config.toml" || is_submitted(file);
}

namespace {

/// Whether checkpoints of a run lie beside the file. The file is then the run's record, even if its
/// first line was removed.
bool lies_in_run(const std::filesystem::path& file) {
  const auto entries = list_folder(std::filesystem::absolute(file).parent_path() / "checkpoints");
  return std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
    return std::filesystem::exists(entry.path() / "manifest.json");
  });
}

}  // namespace

bool belongs_to_folder(const std::filesystem::path& file, const std::string& text) {
  return has_record_name(file) && (text.starts_with(fmt::format("{}\n", kOwnLine)) ||
                                   (!is_submitted(file) && lies_in_run(file)));
}

std::string ignored_run_dir(const std::filesystem::path& file, const RunConfig& config) {
  if (!has_record_name(file)) return {};
  const std::string text = read_file(file);
  if (!belongs_to_folder(file, text)) return {};
  const std::string stated = read_settings(text, file.string()).run.dir,
                    folder = folder_of(file, stated);
  if (folder == stated || config.run.dir != folder) return {};
  return fmt::format(
      "run.dir = \"{}\" of {} is ignored, because the file is a run folder's own record and "
      "belongs to the folder that it lies in; for "
      "another folder add --set run.dir=...",
      stated, file.string());
}

namespace {

/// Refuses a run's record that has lost its content: defaults would take the place of its settings.
void require_not_emptied(const std::filesystem::path& file, const std::string& text) {
  const bool is_blank = text.find_first_not_of(" \t\r\n") == std::string::npos;
  require<InputError>(
      !is_blank || !has_record_name(file) || !(is_submitted(file) || lies_in_run(file)),
      fmt::format("{} is empty", file.string()),
      "it records every setting of the run that lies beside it",
      "restore it from a copy, or give the run file that the run was started with, which writes it "
      "again: rollcall train RUN_FILE --resume --set run.dir=...");
}

/// Refuses rows of questions given as a run file, because every line would be a mistake.
void require_no_rows(const std::string& file, std::string_view text) {
  const auto next = [&](std::size_t from) { return text.find_first_not_of(" \t\r\n", from); };
  const std::size_t first = next(0);
  if (first == std::string_view::npos) return;
  const std::size_t second = next(first + 1);
  const bool is_array =
      text[first] == '[' && second != std::string_view::npos && text[second] == '{';
  if (text[first] != '{' && !is_array) return;
  require_no_faults<ConfigError>(
      {{.message = error_message(
            fmt::format("{} holds JSON, as a file of questions does", file),
            "a run file is TOML, and names such a file in task.file",
            fmt::format("write a run file, or train without one: rollcall train --set task.file={}",
                        file)),
        .keys = {kEverySetting},
        .is_placed = true}});
}

}  // namespace

RunConfig read_run_config(const std::filesystem::path& file) {
  const std::string text = read_file(file);
  require_not_emptied(file, text);
  return read_settings(text, file.string());
}

GivenSettings gather_settings(const std::filesystem::path& file,
                              const std::vector<std::string>& assignments) {
  GivenSettings given;
  RunConfig& config = given.config;
  ConfigSchema schema = bind(config);
  const std::string text = file.empty() ? std::string() : read_file(file);
  if (!file.empty()) require_not_emptied(file, text);
  const bool recorded = !file.empty() && belongs_to_folder(file, text);
  if (!file.empty())
    given.faults.check({}, [&] {
      require_no_rows(file.string(), text);
      recorded ? load_own(config, schema, text, file.string())
               : load_settings(config, schema, text, file.string());
    });
  if (recorded) config.run.dir = folder_of(file, config.run.dir);
  for (const auto& assignment : assignments)
    given.faults.check({}, [&] { schema.set(assignment); });
  if (recorded) follow_samples(config, schema);
  else
    for (const auto& told : schema.old_names()) log_warning("{}", told);
  if (rename_task(config.task)) tell_old_task(schema);
  given.faults.places = schema.places();
  for (auto& [key, place] : given.faults.places) place.recorded = recorded && !place.by_assignment;
  choose_defaults(config, schema);
  check(config, given.faults);
  return given;
}

RunConfig load_run_config(const std::filesystem::path& file,
                          const std::vector<std::string>& assignments) {
  GivenSettings given = gather_settings(file, assignments);
  given.faults.require_none();
  return std::move(given.config);
}

}  // namespace rollcall
