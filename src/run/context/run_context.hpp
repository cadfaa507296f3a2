// The objects that all stages of a rank share: settings, texts, graders, layout of the stages,
// threads, and the newest policy. A part that needs only one of these takes only that one.
#pragma once

#include "comm/stage_layout.hpp"
#include "comm/transport.hpp"
#include "comm/weight_transfer.hpp"
#include "core/run_config.hpp"
#include "io/shard_file.hpp"
#include "run/context/gradient_mask.hpp"
#include "run/context/grading.hpp"
#include "run/context/numerics.hpp"
#include "run/context/run_texts.hpp"
#include "run/folder/grader_files.hpp"
#include "run/policy_store/policy_store.hpp"
#include "run/workers/run_threads.hpp"
#include "sizing/memory.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::run {

class LockFile;

/// What only rank 0 knows about the run and its folder. Empty on all other ranks.
struct RankZero {
  std::shared_ptr<const LockFile> lock{};  ///< the lock on the run folder
  std::vector<NumericsRecord> numerics{};  ///< one record for each stretch of the run, the last
                                           ///< from this start on
  std::vector<GraderFile> graders{};       ///< files of reward.command, hashed once for each start
  std::vector<GraderFile> environment{};   ///< the same of environment.command and
                                           ///< environment.index
  std::string judge_digest{};              ///< JudgeIdentity::digest of the judge or reward model;
                                           ///< empty where there is none
};

/// Every rank builds it from the run file. Only `store` changes later.
struct RunContext {
  RunConfig config;
  std::filesystem::path run_dir;
  comm::StageLayout layout;
  RunTexts texts;
  Grading grading;
  MaskOrigin mask;  ///< which weights train, as rank 0 found it; empty where all of them do
  io::RunIdentity identity;
  RankZero rank_zero;
  RunThreads threads;
  std::unique_ptr<PolicyStore> store;
  std::shared_ptr<comm::Transport> transport;  ///< carries sums and weights between ranks
  sizing::RunModels models;
  bool sends_rollouts = false;  ///< scoring sends rollouts to rank 0, whose scheduler needs them
                                ///< (heard_rewards.hpp)
  std::string diversity;  ///< measure of how the answers of a group differ, which scoring reports
                          ///< (scheduling/diversity.hpp); empty: none
  sizing::MemoryUse memory;  ///< how this rank uses its memory, once fit_memory() has set it
};

struct RankShape {
  int ranks = 1, threads = 1;
  bool weights = true;  ///< this rank reads the weights for its node
};

/// A context without weights: prompts, tokenizer, layout, shapes of the models, grader, and the
/// tokens of all texts. Its settings are the given ones with the resolved values of text.tokenizer,
/// text.template and train.micro_batch_tokens. Everything that is wrong is added to `faults`. The
/// context is complete only if nothing is wrong.
RunContext draft_job(const RunConfig& config, const RankShape& shape, Faults& faults);
/// The part of draft_job() that reads tokenizer and templates, and no prompts: adds what is wrong
/// with them, and with the environment and the forms in which prompts are asked.
void check_texts(const RunConfig& config, Faults& faults);
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

/// Reserves the peak memory of a step (`step_bytes`: sizing::MemoryUse) before the first one, so
/// that a job that would run out of memory fails in its first seconds and not in its tenth hour.
/// Throws EnvironmentError.
void reserve_steps(WorkerPool& pool, std::uint64_t step_bytes);

/// Divides this rank's memory: run.memory_limit, or what its node offers (`offered`: bytes,
/// [ranks]). Throws EnvironmentError where the run does not fit. Rank 0 calls it before anything is
/// written and throws where the run does not fit some rank.
void fit_memory(RunContext& context, int rank, const std::vector<std::uint64_t>& offered);

}  // namespace rollcall::run
