// Training steps as an earlier run's archive holds them: what training from an archive alone takes
// in place of generation and scoring.
#pragma once

#include "method/method.hpp"
#include "model/engine/policy.hpp"
#include "run/context/run_context.hpp"
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
  /// `run_or_file`: a run folder or one HDF5 file of a run. Throws InputError when it holds no
  /// training step, or rollouts that the tokenizer or the model of this job cannot have written:
  /// tokens that read otherwise, or more than the model has embeddings or positions for.
  /// `tells`: logs once each what of the stored rollouts is not as the run file has it, as it comes
  /// to them.
  explicit ArchivedSteps(const RunContext& context, bool tells = false);
  std::int64_t size() const { return std::int64_t(steps_.size()); }
  /// The rollouts of training step `step` (from 1); behind the last archived one the first follows
  /// again.
  StepBatch read(std::uint64_t step);
  float temperature() const {
    return temperature_;
  }  ///< at which the rollouts read last were
     ///< sampled

 private:
  void load(std::uint64_t archived);
  void check(const Group& group) const;
  GroupId place(const io::ArchivedGroup& group);  ///< in this run: by the prompt's content, its
                                                  ///< draw as stored unless two prompts here are
                                                  ///< one
  void tell(const io::ArchivedGroup& group, PromptId prompt);

  const RunContext* context_;
  bool tells_;
  StoredPrompts prompts_;
  std::filesystem::path source_;
  std::vector<std::uint64_t> steps_;                ///< ascending
  std::map<std::uint64_t, std::uint64_t> last_of_;  ///< first step of a file -> last
  std::map<std::uint64_t, StepBatch> loaded_;       ///< of one file
  std::set<GroupId> placed_;                        ///< groups of loaded_
  std::set<std::string> told_;
  float temperature_ = 1.0F;
};

/// Of a step whose tokens were drawn from a part of the vocabulary, though its log-probs are of all
/// of
/// it: what follows, with the mean mass of that part. Else empty. The archive tells, whatever the
/// run
/// file of today has in [sampling].
std::string truncated_draws_told(const StepBatch& step);

/// Throws ConfigError when the run file asks for what an archive cannot give: replay, greedy
/// baselines it does not hold. Names settings of [sampling] that are others than the archive's.
/// Reads the first step.
void check_from_archive(const RunContext& context, const method::Objective& objective);

/// Rollouts of each train step that train.from_archive holds, ascending; empty when it names none.
std::vector<std::int64_t> archived_rollouts(const RunConfig& config);
/// Of the rollouts that train.from_archive names; empty when it names none. Throws InputError,
/// StorageError.
std::string archive_digest(const RunConfig& config);
/// Throws InputError when they are others than those the run began with.
void check_same_archive(const RunConfig& config, const std::string& digest_at_start);

}  // namespace rollcall::run
