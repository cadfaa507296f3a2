// Everything that a run file can set, with the defaults: one struct per section. bind() is the
// table of keys, meanings and ranges.
#pragma once

#include "base/errors/faults.hpp"
#include "base/text/config.hpp"
#include "core/plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace rollcall {

struct RunSection {
  std::string dir = "runs/run";
  std::int64_t seed = 1;
  std::string layout = "auto";  ///< auto | single | colocated | disaggregated
  std::int64_t threads = 0;     ///< worker threads per rank; 0: comm::fair_cores
  std::string numerics = "fp32_fixed_order";
  bool allow_numerics_change = false;  ///< whether a resume may use other numerics, or another kind
                                       ///< of device
  std::string log_level = "info";
  double deadline_s = 1800;  ///< longest wait for a message; then the job ends and names the wait;
                             ///< also the deadline of Gloo in torch.distributed
  double watch_s = 60;  ///< time without progress after which the log and `rollcall status` say
                        ///< which ranks are silent, and where in the code; 0: never
  std::string comm = "auto";  ///< auto | mpi | nccl: transport of sums and weights between ranks
                              ///< that compute on devices
  double wall_time_s = 0;  ///< the run stops with a checkpoint after this many seconds; 0: Slurm's
                           ///< limit, if there is one
  std::string memory_limit;  ///< memory of each rank, such as "6G"; empty: the node's memory
                             ///< divided by the node's ranks
  std::string init_from;     ///< RUN or RUN@STEP whose weights the run starts from
};

struct TaskSection {
  std::string name = "sorting";           ///< a row of task/tasks.cpp
  std::int64_t train_prompts = 16384;     ///< at most this many; 0: all rows of task.file, which is
                                          ///< the default if a file is given
  std::int64_t validation_prompts = 128;  ///< -1: 128 rows of a file, or a tenth of them if that is
                                          ///< less; none if eval.every is 0
  std::int64_t heldout_prompts = 512;     ///< -1: as for validation_prompts
  std::int64_t min_level = 2;             ///< built-in tasks: smallest length or digit count
  std::int64_t max_level = 12;
  double tail_exponent = 1.0;  ///< P(level) is proportional to level^-exponent, which gives
                               ///< difficulty a heavy tail
  std::vector<std::string> operators{"+", "-", "*", "/"};  ///< for the arithmetic task
  std::vector<std::int64_t> digits;  ///< arithmetic: each operand's number of digits is drawn from
                                     ///< this list; empty: from the levels
  std::vector<std::string> wording{"plain"};  ///< built-in tasks: how the question is worded; one
                                              ///< of the list is drawn per prompt
  std::vector<std::string> forms;  ///< rows of text/answer/answer_form.cpp; each drawn question
                                   ///< takes one of them; empty: all questions are asked alike
  std::string extract;          ///< a row of text/answer/extract.cpp, or regex:PATTERN; empty: the
                                ///< verifier's default
  std::string file;             ///< file: training file, or a list of them as JSON
                                ///< (task/rows/file_list.hpp); corpus: a text file
  std::string heldout_file;     ///< file: held-out file; empty: split `file` by content hash
  double heldout_share = 0.1;   ///< file: fraction of the rows of `file` that is held out
  std::string split = "exact";  ///< file: how held-out rows of `file` are chosen: exact | by_row
                                ///< (task/rows/file_task.cpp)
  std::string on_bad_line = "refuse";  ///< file: refuse | drop: what happens to a line that cannot
                                       ///< be read
  /// The names of a row's fields, dotted; empty: as in the row's layout (task/rows/layouts.hpp).
  struct Fields {
    std::string prompt, answer;
    std::string level;   ///< difficulty
    std::string domain;  ///< category, for schedulers that choose among domains
    std::string prior;   ///< success that a value model expects, 0 to 1, for schedulers that start
                         ///< from it
    std::string id;      ///< name of the row
    std::string tools;   ///< list of tools that the chat template shows
  } fields;
  std::string answer_marker = "####";
  bool drop_overlong = false;    ///< whether prompts that leave no room for an answer are left out;
                                 ///< otherwise they end the run
  double format_weight = 0.0;    ///< weight of the format component in the reward
  bool shuffle_rewards = false;  ///< control experiment: rewards are permuted over the step's
                                 ///< rollouts
};

/// The verifier or program that gives the verdicts in place of the task's own verifier, and what
/// happens to an answer without a verdict.
struct RewardSection {
  std::string verifier;              ///< a row of reward/verifiers.cpp; empty: the task's verifier
  std::vector<std::string> command;  ///< program and arguments; it reads and writes one JSON line
                                     ///< per answer; empty: the task's verifier
  std::vector<std::string> components;  ///< names of the components that the program reports
                                        ///< besides "correct"
  std::int64_t processes = 4;  ///< processes of the program that run side by side on each scoring
                               ///< rank
  double timeout_s = 30;  ///< longest time for one verdict [s], including the start of the process
  std::string undecided = "drop";  ///< drop | wrong: what happens to answers without a verdict
};

/// A second language model that adds one component to the reward (run/judge/judge_model.hpp).
struct JudgeSection {
  std::string model;           ///< folder, RUN or RUN@STEP; empty: no judge model
  std::string kind = "judge";  ///< judge (writes a verdict) | reward_model (a sequence classifier
                               ///< with one label)
  std::string component = "judge";  ///< name of the judge's component of the reward
  std::string asked = "all";        ///< all | correct: which answers the judge is asked about
  std::int64_t ranks = 0;  ///< ranks for the judge alone, the last ones of the job; 0: the scoring
                           ///< ranks run it
  std::string prompt;      ///< the question to the judge, with {prompt}, {response} and {answer},
                           ///< and {other} if the answers of a prompt are compared in pairs; empty:
                           ///< the question or the conversation of judge_model.hpp
  std::string system;      ///< system message in the judge's chat template
  std::string assistant_prefix;     ///< beginning of the judge's own text
  std::string extract = "yes_no";   ///< a row of reward/judge_verdict.cpp
  std::vector<double> scale{0, 1};  ///< lowest and highest verdict, which become the rewards 0 and
                                    ///< 1
  std::int64_t votes = 1;           ///< verdicts drawn per answer; the component is their mean
  SamplingParams sampling{.temperature = 0.0, .max_new_tokens = 64, .stop = {}};
};

/// Whether the judge compares the answers of a prompt in pairs.
inline bool compares(const JudgeSection& judge) {
  return judge.prompt.find("{other}") != std::string::npos;
}

/// How a prompt becomes tokens (text/chat/prompt_format.hpp).
struct TextSection {
  std::string tokenizer = "auto";  ///< auto | model | character | byte; auto: the model folder's
                                   ///< tokenizer.json if there is one, otherwise character
  std::string chat_template = "auto";  ///< key `template`: auto | model | none | path of a .jinja
                                       ///< file; auto: the model's own if it has one
  std::string system;  ///< system message; empty: none is given, but a template may add its own
  std::string user = "{prompt}";  ///< the user message, with the task's prompt in place of {prompt}
  std::string assistant_prefix;   ///< beginning of every answer, given with the prompt: not trained
                                  ///< on, not shown to the verifier
  /// Variables of the template: names, and values as JSON, in which a string has quotes.
  std::vector<std::pair<std::string, std::string>> variables;
};

/// Keys of a Hugging Face config.json of the Llama, Qwen2 and Qwen3 families; vocab_size comes from
/// the tokenizer.
struct ModelSection {
  std::string
      path;  ///< folder with config.json and model.safetensors, or with an adapter; empty: a
             ///< new model with the keys below
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
  bool qk_norm = true;          ///< RMSNorm over each head of q and k, as in Qwen3
  bool attention_bias = false;  ///< whether q, k and v have a bias, as in Qwen2
};

struct OptimizerSection {
  double lr = 1e-4;
  double beta1 = 0.9, beta2 = 0.95, eps = 1e-8;
  double weight_decay = 0.0;   ///< decoupled (Loshchilov and Hutter 2019); not applied to norms,
                               ///< biases and embeddings
  double max_grad_norm = 1.0;  ///< limit of the global norm; 0: no clipping
  std::int64_t warmup_steps = 20;
  std::string lr_schedule = "cosine";  ///< constant, linear or cosine: the way from lr to lr *
                                       ///< min_lr_ratio over the steps of the phase
  double min_lr_ratio = 0.1;
};

struct SftSection {
  std::string file;  ///< JSON lines of conversations, or of prompts and answers; empty: the task's
                     ///< worked solutions
  std::string messages_key = "messages";
  std::string prompt_key;        ///< empty: the key is prompt or question
  std::string answer_key;        ///< empty: the key is answer or completion
  double thought_dropout = 0.0;  ///< fraction of the examples whose thought is emptied
  std::int64_t turns = 0;        ///< most actions that are learnt of an expert's conversation; 0:
                                 ///< environment.max_turns
  std::int64_t steps = 50;
  std::int64_t batch_size = 256;  ///< examples per step
  OptimizerSection optimizer{.lr = 1e-3, .warmup_steps = 10};
};

struct TrainSection {
  std::int64_t steps = 200;
  std::int64_t rollouts = 0;  ///< the run ends with the step in which this many rollouts have been
                              ///< drawn; 0: only `steps` counts
  std::int64_t prompts_per_step = 64;
  std::int64_t rollouts_per_prompt = 8;  ///< mean; a step spends exactly prompts_per_step *
                                         ///< rollouts_per_prompt rollouts
  std::int64_t epochs = 1;               ///< passes over a step's rollouts
  std::int64_t mini_batches = 1;  ///< optimizer steps per pass; groups are dealt to them in turn
                                  ///< and never cut
  std::int64_t micro_batch_tokens = 0;  ///< most tokens of a packed micro-batch; a sequence is
                                        ///< never cut, so a longer one makes a larger micro-batch;
                                        ///< 0: derived from the model and the memory limit
  OptimizerSection optimizer{};
  std::string on_nonfinite = "skip";  ///< skip | rollback | stop: what happens when a gradient is
                                      ///< not finite
  double loss_spike_factor = 0.0;  ///< a gradient norm above this factor times its running mean is
                                   ///< treated like one that is not finite; 0: off
  std::int64_t max_bad_steps = 3;  ///< consecutive bad steps after which the run ends
  std::string from_archive;        ///< run folder or HDF5 file whose training steps are trained on
                                   ///< instead of new samples; empty: off
};

/// Trains only the weights that moved between two checkpoints. It applies to training steps; the
/// warm start changes all weights.
struct GradientMaskSection {
  std::string before, after;  ///< RUN, RUN@STEP or model folders; both empty: all weights are
                              ///< trained
  double tolerance = 1e-5;    ///< a weight that changed by no more than this counts as unmoved
};

struct SchedulerSection {
  std::string policy = "uniform_sqrt";                ///< a row of scheduling/schedulers.cpp
  std::string sampler, allocator, rounds, selection;  ///< rows of the tables of pieces, in place of
                                                      ///< the scheduler's own; empty: its own
  std::int64_t min_rollouts = 2;                      ///< least number of rollouts per prompt
  std::int64_t max_rollouts = 32;
  std::string hears = "reward";  ///< reward | verifier: which figure of a rollout the scheduler
                                 ///< learns from
  std::vector<std::pair<std::string, std::string>> knobs;
};

/// How fast a prompt's tracked success fades (scheduling/prompts/success_tracker.hpp), for
/// scheduler and objective alike. The numbers are those of SPO's script, arXiv:2509.13232.
struct SuccessSection {
  double memory_min = 0.875, memory_max = 0.96;  ///< smallest and largest fraction of the evidence
                                                 ///< that is kept when a new result arrives
  double drift_half = 0.06;  ///< drift that halves the evidence: mean |log-prob now - log-prob when
                             ///< sampled| over the tokens of the prompt's previous rollout
};

struct ObjectiveSection {
  std::string recipe = "grpo";  ///< a row of objective/recipes.cpp
  /// Rows in place of the recipe's own, by the kind of piece: reward, advantage, ratio, surrogate,
  /// weight, aggregate, regularizer.
  std::vector<std::pair<std::string, std::string>> pieces;
  std::vector<std::pair<std::string, std::string>> knobs;
};

/// The policy that KL terms and some objectives compare with. It is computed only if the objective
/// asks for it.
struct ReferenceSection {
  std::string model;   ///< model folder; empty: the policy at the start of training
  double decay = 1.0;  ///< moving average: reference = decay * reference + (1 - decay) * policy
                       ///< after every step; 1: never changes
  std::int64_t refresh_every = 0;  ///< training steps after which the reference becomes the policy;
                                   ///< 0: never
};

/// The model that distillation follows. It is read only if the objective asks for it.
struct TeacherSection {
  std::string model;  ///< model folder with the policy's tokenizer
};

/// A model that begins some answers, which the policy continues.
struct GuideSection {
  std::string model;            ///< model folder with the policy's tokenizer
  double share = 0.0;           ///< fraction of a step's groups that the guide begins; 0: off
  std::int64_t max_tokens = 8;  ///< longest beginning; lengths are drawn uniformly from 1 to
                                ///< max_tokens
};

/// What the policy is asked after each reasoning step of its rollouts
/// (run/update/recontext/probes.hpp), if the objective asks for it.
struct ProbeSection {
  std::string delimiter = "\n\n";                     ///< text that ends a reasoning step
  std::string opener = "**Final Answer**\n\\boxed{";  ///< beginning of a final answer, appended to
                                                      ///< the reasoning step
  std::int64_t draws = 5;                             ///< continuations of each reasoning step
  std::int64_t max_tokens = 10;                       ///< most tokens in a continuation
  double temperature = 0.6;
};

/// The value head's optimizer, if the objective has a critic.
struct CriticSection {
  OptimizerSection optimizer{.lr = 1e-3};
};

/// Trains again on groups of earlier steps. Their tokens, log-probs and rewards come from shards
/// and the archive; nothing is sampled again.
struct ReplaySection {
  double share = 0.0;  ///< fraction of a step's groups that are replayed, in addition to
                       ///< train.prompts_per_step; 0: off
  std::int64_t max_staleness = 16;  ///< most policy versions (optimizer steps) between sampling and
                                    ///< the step
  std::string choose = "uniform";   ///< uniform | newest | advantage (which only replaces fresh
                                    ///< groups whose rewards are all equal)
  bool distinct_prompts = true;     ///< if a prompt has several groups, only the newest may be
                                    ///< replayed
  std::string old_policy = "sampler";  ///< sampler | current: which policy's log-probs are the old
                                       ///< ones of replayed tokens
};

/// Worked solutions of the task as rollouts of the step, for objectives that treat an expert's
/// rollouts differently from the policy's.
struct ExpertSection {
  double share = 0.0;  ///< fraction of a step's groups that get a worked solution; 0: off
};

/// Judge tasks for the policy itself, made from its answers in the previous step
/// (run/context/derived/self_judging.hpp).
struct SelfJudgingSection {
  double share = 0.0;  ///< largest fraction of a step's prompts that are judge tasks; 0: off
  // The questions. pointwise shows one answer and asks for yes or no; pairwise shows a right and a
  // wrong answer and asks for A or B; reflection shows a wrong answer and asks for a better one. If
  // a question is empty, no tasks of its kind are made.
  std::string pointwise =
      "Question:\n{prompt}\n\nAnswer:\n{response}\n\nIs the answer right? Reply with yes or no.";
  std::string pairwise =
      "Question:\n{prompt}\n\nAnswer A:\n{first}\n\nAnswer B:\n{second}\n\nWhich answer is right? "
      "Reply with A or B.";
  std::string reflection =
      "Question:\n{prompt}\n\nAn earlier answer, which may be wrong:\n{response}\n\nReflect on it, "
      "then answer the question.";
  bool shuffle_labels = false;  ///< control experiment: the right verdict of every task is drawn at
                                ///< random
};

/// What the policy talks with (src/environment). Without a name or a command, answers are single
/// turns, unless the task has its own environment.
struct EnvironmentSection {
  std::string name;                     ///< a row of environment/environments.cpp, or tools
  std::vector<std::string> command;     ///< program and arguments that answer lines of JSON
  std::vector<std::string> components;  ///< names of the components that the program reports
  std::vector<std::string> kinds;       ///< names of the kinds of actions 1, 2, ... of the program
  std::vector<std::string> tools;       ///< rows of environment/tools.cpp, for the name tools
  std::string index;                    ///< file of lines that the tool `search` looks through
  std::string role = "auto";    ///< auto | user | tool: the role of what it says in the chat; auto:
                                ///< as the environment says
  std::int64_t processes = 4;   ///< processes of the program on each generation rank
  double timeout_s = 30;        ///< longest wait for an answer from a process [s]
  std::int64_t max_turns = 8;   ///< most policy turns in a rollout
  std::int64_t max_tokens = 0;  ///< most tokens after the prompt, sampled or not; 0: what the
                                ///< model's positions leave after the longest prompt
  bool sandbox = false;         ///< the program runs in the sandbox
  std::string forks;            ///< a row of run/generation/forks.cpp; empty: rollouts do not fork
  std::int64_t unforked = 0;  ///< rollouts of a group that are sampled from the beginning; 0: half
  std::string start_depth = "own";  ///< own | backward | success | random (start_states.hpp)
  std::int64_t start_every = 5;     ///< train steps of each depth
  double start_success = 0.5;       ///< share of right rollouts after which one action more is left
  std::int64_t turns_every = 0;     ///< train steps of each number of turns; 0: max_turns at once
};

/// Help with the task's prompts, for rounds that ask again with more of it.
struct HintSection {
  std::string source = "solution";  ///< solution (a beginning of the worked one) | row (hint_key)
  std::string hint_key = "hints";   ///< key of the list of hints in a row of task.file
  std::string as = "prompt";  ///< prompt (added to the question) | beginning (the answer starts
                              ///< with it)
  std::vector<double> shares{0.25, 0.5, 0.75};     ///< shares of the solution's lines, one per tier
  std::string text = "{prompt}\n\nHint:\n{hint}";  ///< the question with its help
  bool learns = false;                             ///< a given beginning also trains
};

/// Prompts made from the rollouts of a step and asked in its next round.
struct SecondPassSection {
  std::string kind;           ///< refinement | error | counterpart | pool; empty: there is none
  std::string of = "dead";    ///< dead (groups without a success) | failed | every (rollouts)
  double share = 1.0;         ///< largest share of the step's groups that are asked again
  std::int64_t rollouts = 1;  ///< per derived prompt
  std::string placement = "joins_parent";  ///< core/derivation.hpp; the default for kind error is
                                           ///< own_group
  std::string trained_on = "asked";        ///< asked | parent: the prompt after which they train
  /// How many of their rollouts train in a parent's group, the best first; 0: all.
  std::int64_t keep = 1;
  /// What {feedback} says: verdict | reference | reason | critique.
  std::string feedback = "verdict";
  std::string refinement =
      "Question:\n{prompt}\n\nAn answer:\n{response}\n\nFeedback:\n{feedback}\n\nAnswer again.";
  std::string error =
      "Question:\n{prompt}\n\nReference:\n{reference}\n\nAn answer:\n{response}\n\n"
      "Copy the first wrong line, then write the line that is right.";
  double buffer = 0.0;  ///< share of a step's prompts that continue histories of earlier steps
  std::int64_t buffer_size = 256;  ///< histories that are kept
  std::string numerics;            ///< numerics of a pool; empty: run.numerics
  double factor = 4.0;             ///< rollouts of a pool for each rollout that trains
};

/// Beginnings that the rollouts of a group get in turn.
struct OpeningSection {
  std::string as = "given";  ///< given (tokens of the answer) | prompt (added to the question)
  std::vector<std::string> texts;  ///< rollout i gets text i mod their number; empty: none
  std::string exit;                ///< what is appended where a path is cut, for serial groups
};

struct EvalSection {
  std::int64_t samples = 16;  ///< rollouts per held-out prompt
  std::int64_t pass_k = 8;
  std::int64_t every = 0;  ///< training steps between two validations; 0: never
  std::int64_t validation_samples = 8;
  std::int64_t bootstrap = 1000;  ///< resamples for the 95 % intervals
  bool before = true;             ///< whether the model is evaluated after the warm start
  bool after = true;
};

struct CheckpointSection {
  std::int64_t every = 20;  ///< steps between two checkpoints
  std::int64_t keep_last = 2;
  std::int64_t keep_every = 0;  ///< checkpoints of every step that is a multiple of this are never
                                ///< removed; 0: none
  std::string keep_best = "validation/pass_at_1";  ///< metric whose best checkpoint is kept; with a
                                                   ///< leading "-", the smallest value is the best;
                                                   ///< empty: none
  std::int64_t patience = 0;  ///< the training ends after this many validations without a new best
                              ///< of keep_best; 0: never
};

/// How code in responses is run, if the verifier runs code (src/sandbox). All limits are per test.
struct SandboxSection {
  std::int64_t cpu_s = 5;
  double wall_s = 20;
  std::string memory = "512M", output = "1M", files = "32M";
  std::int64_t processes = 16;
  std::int64_t workers = 2;
  bool allow_landlock = false;
};

struct ArchiveSection {
  std::int64_t pack_every = 40;  ///< steps per archive file; the shards are removed once the file
                                 ///< is verified
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
  EnvironmentSection environment;
  HintSection hints;
  SecondPassSection second_pass;
  OpeningSection openings;
  EvalSection eval;
  CheckpointSection checkpoint;
  ArchiveSection archive;
  SandboxSection sandbox;

  // The copies of some 300 members are compiled only once, in run_config_copies.cpp.
  RunConfig();
  RunConfig(const RunConfig& other);
  RunConfig(RunConfig&& other) noexcept;
  RunConfig& operator=(const RunConfig& other);
  RunConfig& operator=(RunConfig&& other) noexcept;
  ~RunConfig();
};

/// Makes the table of keys. The schema points into `config`, which must outlive it.
ConfigSchema bind(RunConfig& config);

/// Reads the settings of a run file without checking them.
RunConfig read_run_config(const std::filesystem::path& file);
/// The settings of a run file and of --set assignments, with all faults found so far. A setting
/// with a fault has its default.
struct GivenSettings {
  RunConfig config;
  Faults faults;
};

/// Reads a run file (an empty path gives all defaults) and the assignments, which take precedence,
/// and checks single keys. Throws InputError if the file cannot be opened.
GivenSettings gather_settings(const std::filesystem::path& file,
                              const std::vector<std::string>& assignments);
/// Returns the settings if nothing is wrong with them. Throws InputError if the file cannot be
/// opened, and one ConfigError that names everything that is wrong.
RunConfig load_run_config(const std::filesystem::path& file,
                          const std::vector<std::string>& assignments);

/// Checks that concern several keys, such as level bounds, budgets and head sizes.
void check(const RunConfig& config, Faults& faults);

/// Whether training steps change only some of the weights. The warm start and the value head always
/// train all of theirs.
inline bool masks_gradient(const RunConfig& config) {
  return !config.gradient_mask.after.empty() && config.train.steps > 0;
}

}  // namespace rollcall
