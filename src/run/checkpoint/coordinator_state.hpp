// Everything rank 0 must know to go on after a stop: a value, saved as JSON in every checkpoint.
#pragma once

#include "io/archive.hpp"
#include "io/checkpoint.hpp"
#include "report/evaluation.hpp"
#include "run/context/numerics.hpp"
#include "run/folder/grader_files.hpp"
#include "run/messages/messages.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace rollcall::run {

/// A round's files that wait in shards/ for the archive, or what a step trained on.
struct UnpackedFile {
  Purpose purpose = Purpose::train;
  std::uint64_t step = 0;
  ScoredFile files;
};

/// Whether it says what its step trained on; both of its files are then one. All others are
/// rollouts and their scores.
bool is_training(const UnpackedFile& file);
/// The order in which a state keeps them, as notices come in any.
bool by_step_and_path(const UnpackedFile& a, const UnpackedFile& b);

/// Seconds by stage over the whole run, resumed parts included. Overhead is everything outside
/// generation, scoring and update.
using StageSeconds = std::map<std::string, double>;

struct CoordinatorState {
  std::int64_t sft_steps = 0, train_steps = 0;  ///< done so far
  std::uint64_t policy_version = 0;
  std::int64_t metric_rows = 0;
  std::int64_t bad_steps = 0;   ///< consecutive
  double grad_norm_mean = 0.0;  ///< running mean for the spike test
  std::string rollback_to;      ///< the last checkpoint that was due, which a stop does not change
  std::string weights_hash;     ///< of the first weights, for the archive (io::RunIdentity)
  std::uint64_t rollouts_total = 0;
  std::map<std::int32_t, std::int64_t> rollouts_per_level;
  std::optional<std::int64_t> groups_drawn;  ///< by train steps, left out or not; nothing in states
                                             ///< of an earlier build
  std::optional<double> best_value;  ///< of the metric that checkpoint.keep_best names, larger is
                                     ///< better
  std::string best_metric;  ///< what best_value is of, as checkpoint.keep_best named it; empty in
                            ///< states of an earlier build
  std::string best_checkpoint;
  std::optional<std::vector<std::string>> kept;  ///< checkpoints that checkpoint.keep_every has
                                                 ///< named so far; nothing in states of an earlier
                                                 ///< build
  std::int64_t packed_steps = 0;                 ///< train steps in the archive
  std::string text_hash;  ///< of tokenizer and template (PromptFormat::fingerprint), when the run
                          ///< began
  std::string examples_hash;  ///< of what sft.file names, when the run began
  std::string judge_digest;   ///< of the model that judges (JudgeIdentity), when the run began;
                              ///< empty where none does
  std::string mask_digest;  ///< of the gradient mask (MaskOrigin), when the run began; empty where
                            ///< all weights train
  std::string arithmetic;   ///< of the machine that did the last step (method::Library::arithmetic)
  std::vector<NumericsRecord> numerics;  ///< from the beginning on, one more where a resume changed
                                         ///< them; empty in states of an earlier build
  std::string archive_digest;            ///< of what train.from_archive names, when the run began
  std::string parent;  ///< JSON: where the run branched off, and with which other settings; empty
                       ///< in a run of its own
  std::string prompts_hash;  ///< of all prompts (task::PromptSet), as the last start found them;
                             ///< empty in states of an earlier build
  std::vector<GraderFile> graders;     ///< of reward.command, as the last start found them
  std::vector<Prompt> judge_tasks;     ///< that the next step asks, ascending
  std::vector<UnpackedFile> unpacked;  ///< scored, not yet in the archive; published by the end of
                                       ///< their step
  StageSeconds seconds;
  std::optional<std::vector<report::PromptOutcome>> before, after;
  std::string before_prompts, after_prompts;  ///< what these are of (heldout_digest); empty in
                                              ///< states of an earlier build
};

/// Whether an evaluation of an earlier start has the samples that a pass@k of now takes.
bool can_measure(const std::vector<report::PromptOutcome>& outcomes, std::int64_t k);

/// What to pack: archive files of one purpose each, named after their steps, and none that would
/// reach over one of `entries` or over a missing training step. `files` are none that the entries
/// hold.
std::vector<PackRequest> pack_requests(std::vector<UnpackedFile> files,
                                       const std::vector<io::ArchiveEntry>& entries);

std::string to_json(const CoordinatorState& state);
/// Throws StorageError naming `origin` when the text is not such a state.
CoordinatorState parse_coordinator_state(const std::string& json, const std::string& origin);
/// That of a checkpoint. Throws StorageError, also where it has none.
CoordinatorState state_of(const io::StoredCheckpoint& checkpoint);

}  // namespace rollcall::run
