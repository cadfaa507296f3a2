// Everything that rank 0 needs to continue after a stop. Every checkpoint stores it as JSON.
#pragma once

#include "io/archive.hpp"
#include "io/checkpoint.hpp"
#include "report/evaluation.hpp"
#include "run/checkpoint/history.hpp"
#include "run/context/numerics.hpp"
#include "run/folder/grader_files.hpp"
#include "run/messages/messages.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::run {

/// The files of a round that are in shards/ and not yet in the archive, or the file that records
/// what a step trained on.
struct UnpackedFile {
  Purpose purpose = Purpose::train;
  std::uint64_t step = 0;
  ScoredFile files;
};

/// Whether the file records what its step trained on. Both of its names are then the same file. All
/// other files hold rollouts and their scores.
bool is_training(const UnpackedFile& file);
/// The order of files in a state. It is needed because notices of files arrive in any order.
bool by_step_and_path(const UnpackedFile& a, const UnpackedFile& b);

/// Seconds by stage over the whole run, resumed parts included. Overhead is everything outside
/// generation, scoring and update.
using StageSeconds = std::map<std::string, double>;

struct CoordinatorState {
  std::int64_t sft_steps = 0, train_steps = 0;  ///< steps done so far
  std::uint64_t policy_version = 0;
  std::int64_t metric_rows = 0;
  std::int64_t bad_steps = 0;   ///< bad steps in a row, up to now
  double grad_norm_mean = 0.0;  ///< running mean for the spike test
  std::string rollback_to;   ///< the last checkpoint that the settings asked for: one that a stop
                             ///< made does not count
  std::string weights_hash;  ///< hash of the run's first weights, for the archive (io::RunIdentity)
  std::uint64_t rollouts_total = 0;
  std::map<std::int32_t, std::int64_t> rollouts_per_level;
  std::optional<std::int64_t>
      groups_drawn;                  ///< groups of all train steps, also those that left their
                                     ///< step; nothing in states of an earlier build
  std::optional<double> best_value;  ///< the best value so far of the metric that
                                     ///< checkpoint.keep_best names; larger is better
  std::string best_metric;  ///< the metric of best_value as checkpoint.keep_best named it; empty in
                            ///< states of an earlier build
  std::string best_checkpoint;
  std::int64_t validations_since_best = 0;  ///< validations in a row without a new best; counted
                                            ///< where checkpoint.patience is set
  std::optional<std::vector<std::string>> kept;  ///< checkpoints that checkpoint.keep_every has
                                                 ///< named so far; nothing in states of an earlier
                                                 ///< build
  std::int64_t packed_steps = 0;                 ///< train steps in the archive
  std::string text_hash;      ///< hash of tokenizer and template (text_fingerprint) when the run
                              ///< began
  std::string examples_hash;  ///< hash of the examples in sft.file when the run began
  std::string judge_digest;   ///< JudgeIdentity::digest when the run began; empty in a run without
                              ///< a judge
  std::string mask_digest;    ///< MaskOrigin::digest when the run began; empty where all weights
                              ///< train
  std::string arithmetic;     ///< processor and libraries of the last start (arithmetic_of)
  std::vector<NumericsRecord>
      numerics;  ///< the numerics at the beginning and after each resume that changed them;
                 ///< empty in states of an earlier build
  std::string archive_digest;  ///< digest of the rollouts in train.from_archive when the run began
  std::string parent;  ///< JSON: where the run branched off, and with which other settings; empty
                       ///< in a run that is no branch
  std::string prompts_hash;  ///< hash of all prompts (task::PromptSet) as the last start found
                             ///< them; empty in states of an earlier build
  std::vector<GraderFile> graders;  ///< files of reward.command, as the last start found them
  std::vector<GraderFile> environment_files;  ///< those of environment.command and
                                              ///< environment.index likewise
  std::vector<DerivedPrompt> next;     ///< derived prompts that the next step asks, by ascending
                                       ///< number: judge tasks and continued histories
  std::int64_t actions_left = 1;       ///< that environment.start_depth success leaves of an
                                       ///< expert's way
  std::vector<History> histories;      ///< the buffer of [second_pass], ascending by answer
  std::vector<UnpackedFile> unpacked;  ///< files of scored rollouts that are not yet in the
                                       ///< archive; each is stored by the end of its step
  StageSeconds seconds;
  std::optional<std::vector<report::PromptOutcome>> before, after;
  std::string before_prompts, after_prompts;  ///< digests of the prompts of these evaluations
                                              ///< (heldout_digest); empty in states of an earlier
                                              ///< build
};

/// Whether an evaluation of an earlier start has enough samples per prompt for pass@k.
bool can_measure(const std::vector<report::PromptOutcome>& outcomes, std::int64_t k);

/// The archive files to make of `files`, which are not in the archive yet. Each has one purpose and
/// is named after its steps. No archive file spans one of `entries` or a missing training step.
std::vector<PackRequest> pack_requests(std::vector<UnpackedFile> files,
                                       const std::vector<io::ArchiveEntry>& entries);

std::string to_json(const CoordinatorState& state);
/// Reads what to_json() wrote. Throws StorageError naming `origin` when the text is not such a
/// state.
CoordinatorState parse_coordinator_state(const std::string& json, const std::string& origin);
/// The state in a checkpoint. Throws StorageError, also where the checkpoint has none.
CoordinatorState state_of(const io::StoredCheckpoint& checkpoint);

}  // namespace rollcall::run
