// What all stages of a rank share: settings, prompts, tokenizer, graders, layout of the stages,
// threads, and the newest policy.
#pragma once

#include "comm/stage_layout.hpp"
#include "comm/transport.hpp"
#include "comm/weight_transfer.hpp"
#include "core/run_config.hpp"
#include "io/shard_file.hpp"
#include "reward/verifier.hpp"
#include "run/context/gradient_mask.hpp"
#include "run/context/numerics.hpp"
#include "run/folder/grader_files.hpp"
#include "run/policy_store/policy_store.hpp"
#include "run/workers/micro_batch_workers.hpp"
#include "run/workers/step_cut.hpp"
#include "run/workers/worker_pool.hpp"
#include "sizing/memory.hpp"
#include "task/task.hpp"
#include "text/answer/answer_form.hpp"
#include "text/chat/prompt_format.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::run {

class LockFile;

/// What this rank has drawn since its start. The threads that draw add to it, and a thread that
/// shows progress reads it.
struct DrawCounts {
  std::atomic<std::int64_t> rollouts = 0, tokens = 0;
};

/// What only rank 0 knows of the run and its folder; empty on all other ranks.
struct RankZero {
  std::shared_ptr<const LockFile> lock{};  ///< the lock on the run folder
  std::vector<NumericsRecord> numerics{};  ///< one record for each stretch of the run, the last
                                           ///< from this start on
  std::vector<GraderFile> graders{};       ///< files of reward.command, hashed once for each start
  std::string judge_digest{};              ///< JudgeIdentity::digest of the judge or reward model;
                                           ///< empty where there is none
};

/// Every rank builds it from the run file. Only `store` changes later.
struct RunContext {
  RunConfig config;
  std::filesystem::path run_dir;
  comm::StageLayout layout;
  std::shared_ptr<const text::PromptFormat> format;
  std::shared_ptr<const text::Tokenizer> tokenizer;  ///< the tokenizer of `format`
  task::PromptSet prompts;
  /// The forms that task.forms names; plain where it names none.
  std::vector<const text::AnswerForm*> forms{&text::find_answer_form("plain")};
  /// [split][form and prompt][tokens] as the policy sees a prompt. Training prompts are there in
  /// all forms.
  std::array<std::vector<std::vector<std::int32_t>>, 3> prompt_tokens;
  std::vector<text::Supervised> examples;  ///< what supervised steps draw from; empty in a run
                                           ///< without such steps
  std::string examples_hash;               ///< hash of the examples in sft.file; empty without it
  std::optional<reward::Grader> grader;
  std::optional<reward::Grader> verdict_grader;  ///< grades the policy's verdicts on its own
                                                 ///< answers; only in a run with judge tasks
  MaskOrigin mask;  ///< which weights train, as rank 0 found it; empty where all of them do
  io::RunIdentity identity;
  RankZero rank_zero;
  std::unique_ptr<WorkerPool> workers;
  std::unique_ptr<MicroBatchWorkers> micro_batches;            ///< runs micro-batches on `workers`
  std::shared_ptr<StepCut> cut = std::make_shared<StepCut>();  ///< whether the plan that is carried
                                                               ///< out is cut short
  std::shared_ptr<DrawCounts> drawn = std::make_shared<DrawCounts>();
  std::unique_ptr<PolicyStore> store;
  std::shared_ptr<comm::Transport> transport;  ///< carries sums and weights between ranks
  sizing::RunModels models;
  bool sends_rollouts = false;  ///< scoring sends rollouts to rank 0, whose scheduler needs them
                                ///< (heard_rewards.hpp)
  std::string diversity;  ///< measure of how the answers of a group differ, which scoring reports
                          ///< (scheduling/diversity.hpp); empty: none
  sizing::MemoryUse memory;  ///< how this rank uses its memory, once fit_memory() has set it
};

/// The tokens of a prompt of the task as the policy sees it in a form
/// (run/context/question_forms.hpp says in which).
const std::vector<std::int32_t>& prompt_tokens(const RunContext& context, const Prompt& prompt,
                                               std::size_t form);
/// Digest of the held-out prompts in their order. Evaluations of two starts can be compared only if
/// it is the same, because they are compared prompt by prompt.
std::string heldout_digest(const std::vector<Prompt>& heldout);
/// Digest of everything that turns the texts of the task into tokens: prompt format and forms.
/// Empty where a built-in tokenizer reads the texts as they are.
std::string text_fingerprint(const RunContext& context);
Split split_of(Purpose purpose);
const char* purpose_name(Purpose purpose);
/// Whether the update reads rollouts of this purpose. Greedy answers are among them, as baselines.
inline bool is_trained_on(Purpose purpose) {
  return purpose == Purpose::train || purpose == Purpose::greedy;
}

std::string excerpt(const std::string& text);  ///< the beginning of the first line of a text, for
                                               ///< messages

/// The success that Prompt::prior expects of every prompt; empty when one prompt has none.
std::vector<float> predictions(const std::vector<Prompt>& prompts);

struct RankShape {
  int ranks = 1, threads = 1;
  bool weights = true;  ///< this rank reads the weights for its node
};

/// A context without weights: prompts, tokenizer, layout, shapes of the models, grader, and the
/// tokens of all texts. Its settings are the given ones with the resolved values of text.tokenizer,
/// text.template and train.micro_batch_tokens. Everything that is wrong joins `faults`; the context
/// is complete only if nothing is.
RunContext draft_job(const RunConfig& config, const RankShape& shape, Faults& faults);
/// Adds what a complete draft leaves open: the identity, without the version of the program, and
/// the initial weights, from model.path, run.init_from or the initializer. Throws ConfigError,
/// InputError, EnvironmentError.
void complete_job(RunContext& context, const RankShape& shape);
/// draft_job() and then complete_job(). Throws one error with everything that is wrong with the
/// draft, or the errors of complete_job().
RunContext make_context(const RunConfig& config, const RankShape& shape);
/// The largest lengths among the texts of a complete draft.
sizing::GivenTexts longest_of(const RunContext& context);
/// longest_of() for settings, from a draft that this function makes; throws the draft's errors.
sizing::GivenTexts longest_given(const RunConfig& config, const RankShape& shape);
/// Calls PolicyStore::open() with the context's threads: packs the first weights, once per node.
/// make_context() does not do this. Collective over the node.
void open_policy(RunContext& context, comm::Communicator& node);

/// Reserves the peak memory of a step (sizing::MemoryUse::step_bytes) before the first one, so that
/// a job that would run out of memory fails in its first seconds and not in its tenth hour. Throws
/// EnvironmentError.
void reserve_steps(const RunContext& context);

/// Divides this rank's memory: run.memory_limit, or what its node offers (`offered`: bytes,
/// [ranks]). Throws EnvironmentError where the run does not fit. Rank 0 calls it before anything is
/// written and throws where the run does not fit some rank.
void fit_memory(RunContext& context, int rank, const std::vector<std::uint64_t>& offered);

}  // namespace rollcall::run
