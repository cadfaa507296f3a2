// Training steps read from the archive of an earlier run. They replace generation and scoring in a
// run that trains only from an archive.
#pragma once

#include "core/rollout.hpp"
#include "core/run_config.hpp"
#include "method/method.hpp"
#include "model/engine/policy.hpp"
#include "run/context/run_texts.hpp"
#include "run/context/stored_prompts.hpp"
#include "run/step/step_batch.hpp"

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace rollcall::run {

class ArchivedSteps {
 public:
  /// Opens the run folder or HDF5 file that train.from_archive names. Throws InputError when it
  /// holds no training step, or rollouts that the tokenizer or the model of this run cannot have
  /// written: tokens that decode to another text, or that the model has no embeddings or positions
  /// for. `positions`: how many tokens the policy can read (ModelConfig::max_position_embeddings).
  /// `tells`: log once for each setting of which the stored rollouts differ from the run file.
  ArchivedSteps(const RunConfig& config, const RunTexts& texts, std::int64_t positions,
                bool tells = false);
  std::int64_t size() const { return std::int64_t(steps_.size()); }
  /// The rollouts of training step `step`, counted from 1. After the last archived step comes the
  /// first one again.
  StepBatch read(std::uint64_t step);
  float temperature() const { return temperature_; }  ///< that of the rollouts of the last read()

 private:
  void load(std::uint64_t archived);
  void check(const Group& group) const;
  /// The group's id in this run. The prompt is found by its content. The draw is the stored one,
  /// unless two archived prompts are the same prompt here.
  GroupId place(const io::ArchivedGroup& group);
  void tell(const io::ArchivedGroup& group, PromptId prompt);

  const RunConfig* config_;
  const RunTexts* texts_;
  std::int64_t positions_;
  bool tells_;
  StoredPrompts prompts_;
  std::filesystem::path source_;
  std::vector<std::uint64_t> steps_;                ///< training steps of the archive, ascending
  std::map<std::uint64_t, std::uint64_t> last_of_;  ///< first step of a file -> its last step
  std::map<std::uint64_t, StepBatch> loaded_;       ///< all steps of one file, by step
  std::set<GroupId> placed_;                        ///< ids of the groups in loaded_
  std::set<std::string> told_;
  float temperature_ = 1.0F;
};

/// A warning for a step in which tokens were drawn from a part of the vocabulary while log-probs
/// are over all of it. It names the consequence and the mean probability mass of that part. Empty
/// for other steps. It follows from the archive, not from [sampling] of this run file.
std::string truncated_draws_told(const StepBatch& step);

/// Throws ConfigError when the run file asks for something that the archive does not have, such as
/// greedy baselines. Logs settings of [sampling] that differ from the archive's. Reads the first
/// step.
void check_from_archive(const RunConfig& config, const RunTexts& texts, std::int64_t positions,
                        const method::Objective& objective);

/// [steps, ascending] how many rollouts each training step of train.from_archive has; empty in a
/// run without an archive to train from.
std::vector<std::int64_t> archived_rollouts(const RunConfig& config);
/// The digest of the rollouts in train.from_archive; empty in a run without one. Throws InputError,
/// StorageError.
std::string archive_digest(const RunConfig& config);
/// Throws InputError when these rollouts are not those that the run began with.
void check_same_archive(const RunConfig& config, const std::string& digest_at_start);

}  // namespace rollcall::run
