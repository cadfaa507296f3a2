// What every stage of a rank shares: the run file, the prompts, the tokenizer, the layout and the
// policy of the moment.
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

/// What this rank has drawn since its start: told of by the threads that draw, read by one that
/// shows progress.
struct DrawCounts {
  std::atomic<std::int64_t> rollouts = 0, tokens = 0;
};

/// Built alike on every rank from the run file; immutable but for `store`.
struct RunContext {
  RunConfig config;
  std::filesystem::path run_dir;
  comm::StageLayout layout;
  std::shared_ptr<const text::PromptFormat> format;
  std::shared_ptr<const text::Tokenizer> tokenizer;  ///< the format's
  task::PromptSet prompts;
  /// of task.forms; plain where it names none
  std::vector<const text::AnswerForm*> forms{&text::find_answer_form("plain")};
  /// [split][form, prompt id] as the policy sees it; all forms of training prompts
  std::array<std::vector<std::vector<std::int32_t>>, 3> prompt_tokens;
  std::vector<text::Supervised> examples;  ///< what supervised steps draw from; only where there
                                           ///< are such steps
  std::string examples_hash;               ///< of sft.file; empty where nothing is learnt from one
  std::optional<reward::Grader> grader;
  std::optional<reward::Grader> verdict_grader;  ///< of the policy's verdicts on its own answers;
                                                 ///< only where it is asked for them
  std::string judge_digest;  ///< of the model that judges beside it (JudgeIdentity), on rank 0;
                             ///< empty where none does
  MaskOrigin mask;           ///< of the weights that train, as rank 0 found it; empty where all do
  std::vector<NumericsRecord> numerics;  ///< of the run so far and from here on, on rank 0
  std::vector<GraderFile> graders;       ///< of reward.command, on rank 0: hashed once a start
  std::shared_ptr<const LockFile> lock;  ///< of the run folder, on rank 0
  io::RunIdentity identity;
  std::unique_ptr<WorkerPool> workers;
  std::unique_ptr<MicroBatchWorkers> micro_batches;            ///< on these workers
  std::shared_ptr<StepCut> cut = std::make_shared<StepCut>();  ///< of the work at hand
  std::shared_ptr<DrawCounts> drawn = std::make_shared<DrawCounts>();
  std::unique_ptr<PolicyStore> store;
  std::shared_ptr<comm::Transport> transport;  ///< of sums and weights between ranks
  sizing::RunModels models;
  bool sends_rollouts = false;  ///< scoring sends them along (heard_rewards.hpp)
  std::string diversity;        ///< measure of how a group's answers differ that scoring reports
                                ///< (scheduling/diversity.hpp); empty: none
  sizing::MemoryUse memory;     ///< of this rank, once fit_memory(job, ...) has set it
};

/// Tokens of one of the job's prompts as the policy sees it in a form
/// (run/context/question_forms.hpp says in which).
const std::vector<std::int32_t>& prompt_tokens(const RunContext& context, const Prompt& prompt,
                                               std::size_t form);
/// Digest of the held-out prompts in their order: evaluations of two starts are compared prompt by
/// prompt.
std::string heldout_digest(const RunContext& context);
/// Digest of what makes tokens of the task's texts: format and forms. Empty where they are the
/// texts themselves in a built-in tokenizer.
std::string text_fingerprint(const RunContext& context);
Split split_of(Purpose purpose);
const char* purpose_name(Purpose purpose);
/// The update sees these: greedy answers are baselines.
inline bool is_trained_on(Purpose purpose) {
  return purpose == Purpose::train || purpose == Purpose::greedy;
}

std::string excerpt(const std::string& text);  ///< the beginning of its first line, for messages

/// Prompt::prior of all of them; empty when one has none.
std::vector<float> predictions(const std::vector<Prompt>& prompts);

struct RankShape {
  int ranks = 1, threads = 1;
  bool weights = true;  ///< the rank that reads them for its node
};

/// A job without weights: prompts, tokenizer, layout, models' shapes, judge, and the tokens of all
/// texts, as far as settings can be relied on. Its settings are those given with what
/// text.tokenizer, text.template and train.micro_batch_tokens came to. What is wrong joins
/// `faults`, and the
/// job is whole where there is nothing.
RunContext draft_job(const RunConfig& config, const RankShape& shape, Faults& faults);
/// What a whole draft leaves open: identity, which names no binary yet, and initial weights, from
/// model.path, run.init_from or the initializer. Throws ConfigError, InputError, EnvironmentError.
void complete_job(RunContext& context, const RankShape& shape);
/// Both. Throws as they do, once for all that is wrong with a draft.
RunContext make_context(const RunConfig& config, const RankShape& shape);
/// The longest of what the texts of a whole draft come to.
sizing::GivenTexts longest_of(const RunContext& context);
/// The same of a run's draft, with its errors.
sizing::GivenTexts longest_given(const RunConfig& config, const RankShape& shape);
/// The policy, once a node: what make_context() leaves open. Collective.
void open_policy(RunContext& context, comm::Communicator& node);

/// Takes now what micro-batches and sampling take and give back, sizing::MemoryUse::step_bytes:
/// what a node has not got ends a job in its first seconds, not in its tenth hour, and what `plan`
/// says is taken however long the answers are. Throws EnvironmentError.
void reserve_steps(const RunContext& context);

/// Shares this rank's memory out: run.memory_limit, or what its node offers (`offered`: [ranks]).
/// Throws EnvironmentError where the run does not fit; rank 0, which asks before anything is
/// written, where it does not fit any rank.
void fit_memory(RunContext& context, int rank, const std::vector<std::uint64_t>& offered);

}  // namespace rollcall::run
