// Everything a run file can say, with its defaults. One struct a section; bind() is the table of
// keys, meanings and ranges.
#pragma once

#include "base/config.hpp"
#include "base/faults.hpp"
#include "core/plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall {

struct RunSection {
  std::string dir = "runs/run";
  std::int64_t seed = 1;
  std::string layout = "auto";  ///< auto | single | colocated | disaggregated
  std::int64_t threads = 0;     ///< worker threads of a rank; 0: comm::fair_cores
  std::string numerics = "fp32_fixed_order";
  bool allow_numerics_change = false;  ///< whether a resume may have other numerics, or be on
                                       ///< another kind of device
  std::string log_level = "info";
  double deadline_s = 1800;  ///< longest wait for a message before the job ends with a name of who
                             ///< waited for what; that of Gloo in torch.distributed too
  double watch_s = 60;  ///< without progress until the log and `rollcall status` say who is silent,
                        ///< and where in the code; 0: never
  std::string comm = "auto";  ///< auto | mpi | nccl: what carries sums and weights between ranks
                              ///< that compute on devices
  double wall_time_s = 0;  ///< stop with a checkpoint after this many seconds; 0: take the end from
                           ///< Slurm, or none
  std::string memory_limit;  ///< of a rank, "6G"; empty: what its node offers, shared out to the
                             ///< ranks there
  std::string init_from;     ///< RUN or RUN@STEP: start from these weights
};

struct TaskSection {
  std::string name = "sorting";        ///< a row of task/tasks.cpp
  std::int64_t train_prompts = 16384;  ///< most of them; 0: all that task.file has, and the default
                                       ///< where it is given
  std::int64_t validation_prompts = 128;  ///< -1: 128 of a file, or a tenth of its rows; none where
                                          ///< eval.every is 0
  std::int64_t heldout_prompts = 512;     ///< likewise
  std::int64_t min_level = 2;             ///< built-in tasks: smallest length or digit count
  std::int64_t max_level = 12;
  double tail_exponent = 1.0;  ///< P(level) proportional to level^-exponent: the heavy tail of
                               ///< difficulty
  std::vector<std::string> operators{"+", "-", "*", "/"};  ///< arithmetic
  std::vector<std::int64_t> digits;  ///< arithmetic: the digit count of either operand is drawn
                                     ///< from this list; empty: by level
  std::vector<std::string> wording{"plain"};  ///< built-in tasks: how the question is put; of
                                              ///< several one is drawn a prompt
  std::vector<std::string> forms;  ///< rows of text/answer/answer_form.cpp, of which a drawn
                                   ///< question takes one; empty: all are asked alike
  std::string extract;          ///< a row of text/answer/extract.cpp, or regex:PATTERN; empty: the
                                ///< verifier's own
  std::string file;             ///< jsonl: training file
  std::string heldout_file;     ///< jsonl: held-out file; empty: split `file` by content hash
  std::string split = "exact";  ///< jsonl: how many rows of `file` are held out: exact | by_row
                                ///< (task/jsonl.cpp)
  std::string question_key = "question";
  std::string answer_key = "answer";
  std::string answer_marker = "####";
  std::string domain_key;  ///< jsonl: category of a question, for policies that choose among
                           ///< domains; empty: none
  std::string prior_key;   ///< jsonl: success that a value model expects, 0 to 1, for policies that
                           ///< start from it; empty: none
  bool drop_overlong = false;    ///< leave out prompts that leave no room for an answer, instead of
                                 ///< refusing the run
  double format_weight = 0.0;    ///< weight of the format component in the reward
  bool shuffle_rewards = false;  ///< control experiment: rewards permuted over the step's rollouts
};

/// What judges answers in place of the task's own verifier, and what becomes of an answer that
/// nobody could judge.
struct RewardSection {
  std::string verifier;              ///< row of reward/verifiers.cpp that judges; empty: the task's
  std::vector<std::string> command;  ///< program and arguments that judge, one JSON line in and one
                                     ///< out; empty: the task's verifier
  std::vector<std::string> components;  ///< names of the components that it reports beside
                                        ///< "correct"
  std::int64_t processes = 4;           ///< of them side by side on each scoring rank
  double timeout_s = 30;  ///< longest time for one verdict, the start of the process included
  std::string undecided = "drop";  ///< drop | wrong
};

/// A second language model that scores: one more component of the reward
/// (run/judge/judge_model.hpp).
struct JudgeSection {
  std::string model;                ///< folder, RUN or RUN@STEP; empty: no model judges
  std::string kind = "judge";       ///< judge (it writes a verdict) | reward_model (a sequence
                                    ///< classifier with one label)
  std::string component = "judge";  ///< name of its component
  std::string asked = "all";        ///< all | correct: of which answers it is asked
  std::int64_t ranks = 0;  ///< ranks of its own, the last of the job; 0: the scoring ranks judge
  std::string prompt;      ///< what it is asked, with {prompt}, {response} and {answer}; empty: the
                           ///< question or the conversation of judge_model.hpp
  std::string system;      ///< system message of a judge's chat template
  std::string assistant_prefix;     ///< beginning of what a judge writes
  std::string extract = "yes_no";   ///< a row of reward/judge_verdict.cpp
  std::vector<double> scale{0, 1};  ///< lowest and highest verdict, which become 0 and 1
  std::int64_t votes = 1;           ///< verdicts drawn of each answer; the component is their mean
  SamplingParams sampling{.temperature = 0.0, .max_new_tokens = 64, .stop = {}};
};

/// How a prompt becomes tokens: text/chat/prompt_format.hpp.
struct TextSection {
  std::string tokenizer = "auto";  ///< auto | model | character | byte; auto: the model folder's
                                   ///< tokenizer.json where there is one, else character
  std::string chat_template = "auto";  ///< key `template`: auto | model | none | path of a .jinja
                                       ///< file; auto: the model's own where it has one
  std::string system;  ///< system message; empty: none is given (a template may then put in one of
                       ///< its own)
  std::string user = "{prompt}";  ///< what the policy is asked, with the task's prompt in place of
                                  ///< {prompt}
  std::string assistant_prefix;   ///< the answer's beginning, given with the prompt: not trained on
                                  ///< and not shown to the verifier
  /// of the template, as JSON: a string is in quotes
  std::vector<std::pair<std::string, std::string>> variables;
};

/// Keys of a Hugging Face config.json of the Llama / Qwen2 / Qwen3 family; vocab_size comes from
/// the tokenizer.
struct ModelSection {
  std::string path;  ///< folder with config.json and model.safetensors; empty: initialise from the
                     ///< keys below
  std::int64_t hidden_size = 128;
  std::int64_t intermediate_size = 352;
  std::int64_t num_hidden_layers = 3;
  std::int64_t num_attention_heads = 4;
  std::int64_t num_key_value_heads = 2;
  std::int64_t head_dim = 32;
  std::int64_t max_position_embeddings = 512;
  double rope_theta = 10000.0;
  double rms_norm_eps = 1e-6;
  double initializer_range = 0.02;
  bool tie_word_embeddings = false;
  bool qk_norm = true;          ///< Qwen3
  bool attention_bias = false;  ///< Qwen2 (q, k, v)
};

struct OptimizerSection {
  double lr = 1e-4;
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8;
  double weight_decay = 0.0;   ///< decoupled (Loshchilov and Hutter 2019); not applied to norms,
                               ///< biases and embeddings
  double max_grad_norm = 1.0;  ///< clip by global norm; 0: off
  std::int64_t warmup_steps = 20;
  double min_lr_ratio = 0.1;  ///< cosine decay from lr to lr * min_lr_ratio over the phase's steps
};

struct SftSection {
  std::string file;  ///< JSON lines of conversations or of prompts and answers; empty: the task's
                     ///< worked solutions
  std::string messages_key = "messages";
  std::string prompt_key;        ///< empty: prompt or question
  std::string answer_key;        ///< empty: answer or completion
  double thought_dropout = 0.0;  ///< share of the examples whose thought is emptied
  std::int64_t steps = 50;
  std::int64_t batch_size = 256;  ///< examples a step
  OptimizerSection optimizer{.lr = 1e-3, .warmup_steps = 10};
};

struct TrainSection {
  std::int64_t steps = 200;
  std::int64_t rollouts = 0;  ///< end with the step that reaches so many drawn rollouts; 0: after
                              ///< `steps` alone
  std::int64_t prompts_per_step = 64;
  std::int64_t rollouts_per_prompt = 8;  ///< mean; the step's budget is prompts_per_step *
                                         ///< rollouts_per_prompt, spent exactly
  std::int64_t epochs = 1;               ///< passes over a step's rollouts
  std::int64_t mini_batches = 1;  ///< optimizer steps a pass; groups are dealt round robin, never
                                  ///< cut
  std::int64_t micro_batch_tokens = 0;  ///< tokens of a packed micro-batch (micro-batch): whole
                                        ///< sequences, so one long one may exceed it; 0: by model
                                        ///< and memory limit
  OptimizerSection optimizer{};
  std::string on_nonfinite = "skip";  ///< skip | rollback | stop when a gradient is not finite
  double loss_spike_factor = 0.0;  ///< treat a gradient norm above factor * its running mean like a
                                   ///< non-finite one; 0: off
  std::int64_t max_bad_steps = 3;  ///< consecutive bad steps after which the run ends
  std::string from_archive;  ///< run folder or HDF5 file: its training steps are trained on, and
                             ///< nothing is sampled for training. Empty: off
};

/// The weights that training steps change: those that moved between two checkpoints. The warm start
/// changes all.
struct GradientMaskSection {
  std::string before, after;  ///< RUN, RUN@STEP or model folders; empty: all weights train
  double tolerance = 1e-5;    ///< a weight that moved by no more than this has not moved
};

struct SchedulerSection {
  std::string policy = "uniform_sqrt";                ///< a row of scheduling/schedulers.cpp
  std::string sampler, allocator, rounds, selection;  ///< pieces that replace the row's; empty: the
                                                      ///< row's own
  std::int64_t min_rollouts = 2;                      ///< per prompt
  std::int64_t max_rollouts = 32;
  std::string hears = "reward";  ///< reward | verifier: which of a rollout's figures its policy
                                 ///< learns from
  std::vector<std::pair<std::string, std::string>> knobs;
};

/// How fast a prompt's tracked success forgets (scheduling/prompts/success_tracker.hpp), for
/// scheduler and objective alike. The numbers of SPO's script, arXiv:2509.13232.
struct SuccessSection {
  double memory_min = 0.875, memory_max = 0.96;  ///< least and largest share of the evidence that a
                                                 ///< new result leaves
  double drift_half = 0.06;  ///< mean |log-prob now - when sampled| over the prompt's previous
                             ///< rollout that halves the evidence
};

struct ObjectiveSection {
  std::string recipe = "grpo";  ///< a row of objective/recipes.cpp
  /// overrides: reward, advantage, ratio, surrogate, weight, aggregate, regularizer
  std::vector<std::pair<std::string, std::string>> pieces;
  std::vector<std::pair<std::string, std::string>> knobs;
};

/// The policy that KL terms and some objectives compare with. Only computed where the objective
/// asks for it.
struct ReferenceSection {
  std::string model;   ///< model folder; empty: the policy as training starts
  double decay = 1.0;  ///< moving average: reference = decay * reference + (1 - decay) * policy
                       ///< after every step; 1: frozen
  std::int64_t refresh_every = 0;  ///< the reference becomes the policy every so many training
                                   ///< steps; 0: never
};

/// The model that distillation follows. Only read where the objective asks for it.
struct TeacherSection {
  std::string model;  ///< model folder with the policy's tokenizer
};

/// A model that begins answers, for the policy to go on from.
struct GuideSection {
  std::string model;            ///< model folder with the policy's tokenizer
  double share = 0.0;           ///< of a step's groups that begin with its tokens; 0: off
  std::int64_t max_tokens = 8;  ///< longest beginning; lengths are uniform in 1..max_tokens
};

/// What the policy is asked behind each reasoning step of its rollouts (run/generation/probes.hpp).
/// Only asked where the objective asks for it.
struct ProbeSection {
  std::string delimiter = "\n\n";                     ///< text that ends a reasoning step
  std::string opener = "**Final Answer**\n\\boxed{";  ///< beginning of a final answer, put behind
                                                      ///< the step
  std::int64_t draws = 5;                             ///< continuations of each step and opener
  std::int64_t max_tokens = 10;                       ///< of a continuation
  double temperature = 0.6;
};

/// The value head's optimizer, where the objective has a critic.
struct CriticSection {
  OptimizerSection optimizer{.lr = 1e-3};
};

/// Groups of earlier steps that are trained on again. Nothing is sampled anew: tokens, log-probs
/// and rewards are those of shards and archive.
struct ReplaySection {
  double share = 0.0;               ///< of the groups a step trains on; they come on top of
                                    ///< train.prompts_per_step. 0: off
  std::int64_t max_staleness = 16;  ///< policy versions (optimizer steps) between sampling and the
                                    ///< step
  std::string choose = "uniform";   ///< uniform | newest | advantage (only in place of fresh groups
                                    ///< of equal rewards)
  bool distinct_prompts = true;  ///< of several groups of one prompt only the newest may come back
  std::string old_policy = "sampler";  ///< sampler | current: whose log-probs are the old ones of
                                       ///< replayed tokens
};

/// Worked solutions of the task as rollouts of the step, for objectives that tell an expert's from
/// their own.
struct ExpertSection {
  double share = 0.0;  ///< of a step's groups that get one; 0: off
};

/// Judge tasks for the policy itself, made of the answers of the step before
/// (run/context/self_judging.hpp).
struct SelfJudgingSection {
  double share = 0.0;  ///< of a step's prompts, at most; 0: off
  // What is asked of one answer, to be replied to with yes or no; of a right and a wrong one, with
  // A or B; and of a wrong one, with a better one. An empty
  // text: tasks of this kind are not made.
  std::string pointwise =
      "Question:\n{prompt}\n\nAnswer:\n{response}\n\nIs the answer right? Reply with yes or no.";
  std::string pairwise =
      "Question:\n{prompt}\n\nAnswer A:\n{first}\n\nAnswer B:\n{second}\n\nWhich answer is right? Reply with A or B.";
  std::string reflection =
      "Question:\n{prompt}\n\nAn earlier answer, which may be wrong:\n{response}\n\nReflect on it, then answer the question.";
  bool shuffle_labels = false;  ///< control experiment: every verdict's label is drawn instead of
                                ///< the verifier's
};

struct EvalSection {
  std::int64_t samples = 16;  ///< rollouts per held-out prompt
  std::int64_t pass_k = 8;
  std::int64_t every = 0;  ///< validation every so many steps; 0: never
  std::int64_t validation_samples = 8;
  std::int64_t bootstrap = 1000;  ///< resamples behind the 95 % intervals
  bool before = true;             ///< evaluate after the warm start
  bool after = true;
};

struct CheckpointSection {
  std::int64_t every = 20;  ///< steps
  std::int64_t keep_last = 2;
  std::int64_t keep_every = 0;  ///< steps whose checkpoints are kept for good; 0: none
  std::string keep_best = "validation/pass_at_1";  ///< metric; "": none; a leading "-": the
                                                   ///< smallest is the best
};

/// How code of responses is run, where the verifier runs code (src/sandbox). The limits are of one
/// test.
struct SandboxSection {
  std::int64_t cpu_s = 5;
  double wall_s = 20;
  std::string memory = "512M", output = "1M", files = "32M";
  std::int64_t processes = 16;
  std::int64_t workers = 2;
  bool allow_landlock = false;
};

struct ArchiveSection {
  std::int64_t pack_every = 40;  ///< steps per archive file; shards are removed after a verified
                                 ///< pack
};

struct RunConfig {
  RunSection run;
  TaskSection task;
  RewardSection reward;
  JudgeSection judge;
  TextSection text;
  ModelSection model;
  SftSection sft;
  SamplingParams sampling;
  TrainSection train;
  GradientMaskSection gradient_mask;
  SchedulerSection scheduler;
  SuccessSection success;
  ObjectiveSection objective;
  ReferenceSection reference;
  TeacherSection teacher;
  GuideSection guide;
  ProbeSection probes;
  CriticSection critic;
  ReplaySection replay;
  ExpertSection experts;
  SelfJudgingSection self_judging;
  EvalSection eval;
  CheckpointSection checkpoint;
  ArchiveSection archive;
  SandboxSection sandbox;

  // Copies of some 300 members are compiled once, in run_config_copies.cpp.
  RunConfig();
  RunConfig(const RunConfig& other);
  RunConfig(RunConfig&& other) noexcept;
  RunConfig& operator=(const RunConfig& other);
  RunConfig& operator=(RunConfig&& other) noexcept;
  ~RunConfig();
};

/// The table of keys. The schema points into `config`, which must outlive it.
ConfigSchema bind(RunConfig& config);

/// a run file's settings, not yet checked
RunConfig read_run_config(const std::filesystem::path& file);
/// A run file with the --set assignments over it: where each setting was given, and all that is
/// wrong with them so far. What is wrong has its default.
struct GivenSettings {
  RunConfig config;
  Faults faults;
};

/// Reads a run file (may be empty: all defaults) and the assignments over it, and checks what a
/// single key cannot. Throws InputError where the file cannot be opened.
GivenSettings gather_settings(const std::filesystem::path& file,
                              const std::vector<std::string>& assignments);
/// The settings where nothing is wrong with them. Throws InputError, and one ConfigError for all
/// that
/// is wrong.
RunConfig load_run_config(const std::filesystem::path& file,
                          const std::vector<std::string>& assignments);

/// Checks across keys: level bounds, feasible budgets, head sizes.
void check(const RunConfig& config, Faults& faults);

/// Whether training steps change only some weights. A warm start and the value head always train
/// whole.
inline bool masks_gradient(const RunConfig& config) {
  return !config.gradient_mask.after.empty() && config.train.steps > 0;
}

}  // namespace rollcall
