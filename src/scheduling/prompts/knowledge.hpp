// The knowledge about the prompts that all pieces of a scheduler share: the prompt table, recent
// outcomes with difficulty bins, and success estimates. It learns once per step.
#pragma once

#include "base/numbers/random.hpp"
#include "base/text/config.hpp"
#include "scheduling/learning_signals.hpp"
#include "scheduling/prompts/bin_results.hpp"
#include "scheduling/prompts/binned_history.hpp"
#include "scheduling/prompts/change_list.hpp"
#include "scheduling/prompts/prompt_map.hpp"
#include "scheduling/prompts/prompt_rows.hpp"
#include "scheduling/prompts/success_estimate.hpp"
#include "scheduling/scheduler.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rollcall::scheduling {

/// Pieces declare what they use when they are constructed (use_success(), and similar functions of
/// `history` and `signals`). Then come bind() and start(), and then the steps.
class Knowledge {
 public:
  Knowledge(PromptTable prompt_table, std::uint64_t run_seed);

  const PromptTable prompts;
  const std::uint64_t seed;
  LearningSignals signals;
  BinnedHistory history;

  void use_success() { uses_success_ = true; }
  /// Binds the knobs of everything that some piece uses.
  void bind(ConfigSchema& schema);
  /// Begins without any results, after the knobs are set.
  void start();
  std::vector<Need> needs() const;  ///< PromptTable::prior, if the knob prior_required is set
  std::uint64_t size() const { return prompts.size(); }

  /// Learns from the reports of a step, at its end.
  void learn(const std::vector<GroupReport>& reports);
  /// Returns what the pieces learn from: these reports themselves, unless `control` replaces them.
  /// Valid until the next call.
  const std::vector<GroupReport>& learned(const std::vector<GroupReport>& reports);
  /// Prefetches all memory that belongs to the prompt. Among 10^8 prompts every row is a cache
  /// miss, and misses that are requested together cost the wait of only one.
  void prefetch(PromptId prompt) const;

  /// BinnedHistory::pass_rate; for a prompt without outcomes its prior, or else prior_success.
  double pass_rate(PromptId prompt) const;
  /// Success rate of one rollout at `step`: the prompt's own fading results against its prior, or
  /// against its level's results if no value model gave a prior.
  double success(std::uint64_t step, PromptId prompt) const;
  /// The prediction of a value model, which results do not change, or the success estimate if there
  /// is no prediction.
  double predicted(std::uint64_t step, PromptId prompt) const;
  /// The learned results, by the prompts' current bins. It is available only if bins are used.
  BinResults by_bin(const std::vector<GroupReport>& reports) const;
  /// Results of the last step learned, by the bins that its prompts had when it was decided.
  const BinResults& latest() const { return latest_; }
  /// The random numbers of one step. `use` gives each piece its own.
  RandomStream random(std::uint64_t step, std::uint64_t use) const {
    return {seed, RandomPurpose::schedule, step, 0, use};
  }

  nlohmann::json save() const;  ///< head() and the rows of all prompts
  nlohmann::json head() const;  ///< the part of the state that is not per prompt
  /// Rows of the prompts that differ from the start, or of those that have changed since the last
  /// call. In both cases the list of changes is empty afterwards.
  PromptRows take_rows(Rows which);
  /// `head`: what head() or save() returned; `rows`: what take_rows() returned, or rows_of() of a
  /// saved state. Throws StorageError when they do not fit.
  void load(const nlohmann::json& head, const PromptRows& rows);
  /// Loads a state that was saved with other prompts. Histories and bins stay with their prompts.
  void load_changed(const nlohmann::json& head, const PromptRows& rows, const PromptMap& map);

 private:
  bool uses_success_ = false;
  bool prior_required_ = false;  // for rows whose method is the value model
  EstimateKnobs estimate_;       // prior_success = 0.5 is shared: a new prompt starts in the middle
  SuccessEstimate success_;      // saved state
  BinResults latest_;
  ChangeList changes_;
};

/// The rows in a state that Knowledge::save() returned.
PromptRows rows_of(const nlohmann::json& state);

/// Metrics of the last step learned: gdro/population, budget, pass_rate, signal and
/// arm_signal, each followed by /<bin>. A number that is not finite is left out.
std::vector<std::pair<std::string, double>> bin_metrics(const Knowledge& knowledge);

}  // namespace rollcall::scheduling
