// What all pieces of a policy know of the prompts: table, recent outcomes, difficulty bins. Learned
// once a step, shared by the pieces.
#pragma once

#include "base/config.hpp"
#include "base/random.hpp"
#include "scheduling/prompts/bin_results.hpp"
#include "scheduling/prompts/difficulty_bins.hpp"
#include "scheduling/prompts/prompt_history.hpp"
#include "scheduling/prompts/prompt_map.hpp"
#include "scheduling/prompts/prompt_rows.hpp"
#include "scheduling/prompts/success_estimate.hpp"
#include "scheduling/scheduler.hpp"
#include "scheduling/trace/control.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <vector>

namespace rollcall::scheduling {

/// Where the groups of a step stand.
struct StepBins {
  std::vector<std::int64_t> prompts{};  ///< [bins] how many groups
  std::vector<std::size_t> of{};        ///< [groups] bin of each
};

class Knowledge {
 public:
  Knowledge(PromptTable prompts, std::uint64_t seed);
  Knowledge(const Knowledge&) = delete;  // the bins point to the history
  Knowledge& operator=(const Knowledge&) = delete;
  /// A piece that reads bins says so when it is made; history and bins are kept only where some
  /// piece does.
  void use_history() { uses_history_ = true; }
  void use_bins() { uses_history_ = uses_bins_ = true; }
  void use_signal() { uses_signal_ = true; }
  /// must_rank: a signal that cannot rank arms is refused, otherwise warned of.
  void use_arm_signal(bool must_rank) {
    uses_arm_signal_ = true, must_rank_ = must_rank_ || must_rank;
  }
  void use_success() { uses_success_ = true; }
  void use_pay() { uses_pay_ = true; }  ///< mean absolute advantages
  void use_outcomes() {
    uses_outcomes_ = true;
  }  ///< anything else of the reports: a policy that
     ///< learns has the knob `control`

  void bind(ConfigSchema& schema);  ///< prior_success; those of history, bins, signals and success
                                    ///< estimate, where they are used
  void start();                     ///< after the knobs are set
  std::vector<Need> needs() const;  ///< a prior, where prior_required says so
  std::vector<std::string> warnings() const;
  void learn(const std::vector<GroupReport>& reports);
  /// What the pieces learn of these reports: themselves, unless `control` says otherwise. Valid
  /// until the next call.
  const std::vector<GroupReport>& heard(const std::vector<GroupReport>& reports);
  /// Asks for everything known of the prompt before it is read: among 10^8 prompts each row is a
  /// cache miss, and misses asked for together are waited for once.
  void prefetch(PromptId prompt) const;

  const PromptTable& prompts() const { return prompts_; }
  std::uint64_t size() const { return prompts_.size(); }
  std::uint64_t seed() const { return seed_; }
  /// pass@k estimate of eq. 10 (arXiv:2601.19280): mean of the last outcomes; the prompt's prior,
  /// else prior_success, for a prompt without any.
  double pass_rate(PromptId prompt) const;
  /// Success rate of one rollout at `step`: the prompt's own fading results against its prior, or,
  /// where no value model gave one, its level's results.
  double success(std::uint64_t step, PromptId prompt) const;
  /// What a value model predicted, which no result changes; the success estimate where there is
  /// none.
  double predicted(std::uint64_t step, PromptId prompt) const;
  const PromptHistory& history() const { return history_; }
  const DifficultyBins& bins() const { return bins_; }
  bool has_bins() const { return uses_bins_; }
  const Signal& signal() const { return signal_; }  ///< one for all games of a policy
  /// Worth of a heard report's first n rollouts to the rollout game.
  double gain(const GroupReport& heard, std::size_t n) const {
    return control_.sign() * arm_signal_.gain(heard, n);
  }
  const ArmSignal& arm_signal() const { return arm_signal_; }
  /// By the bins the prompts have now, as heard. Only where bins are used.
  BinResults by_bin(const std::vector<GroupReport>& reports) const;
  /// The step learned last, by the bins its prompts had when it was decided.
  const BinResults& latest() const { return latest_; }
  /// of its reports, one each
  const std::vector<std::int32_t>& latest_bins() const { return latest_bins_; }
  StepBins step_bins(const std::vector<GroupPlan>& groups) const;
  /// Random numbers of one step: `use` keeps pieces apart.
  RandomStream random(std::uint64_t step, std::uint64_t use) const {
    return {seed_, RandomPurpose::schedule, step, 0, use};
  }

  nlohmann::json save() const;  ///< head() and the rows of all prompts
  void load(const nlohmann::json& state);
  static PromptRows rows_of(const nlohmann::json& state);  ///< of what save() returned
  nlohmann::json head() const;                             ///< what does not go by prompts
  /// Rows of the prompts that differ from the start, or that have changed since rows were taken
  /// last; takes note that they were taken.
  PromptRows take_rows(Rows which);
  void load(const nlohmann::json& head, const PromptRows& rows);
  /// A state whose prompts were others: histories and bins follow their prompts, members stand in a
  /// new order.
  void load_changed(const nlohmann::json& head, const PromptRows& rows, const PromptMap& map);
  /// gdro/population, budget, pass_rate, signal and arm_signal /<bin>
  std::vector<std::pair<std::string, double>> metrics() const;

 private:
  PromptTable prompts_;
  std::uint64_t seed_;
  bool uses_history_ = false, uses_bins_ = false, uses_signal_ = false, uses_success_ = false,
       uses_arm_signal_ = false, must_rank_ = false, uses_pay_ = false, uses_outcomes_ = false;
  std::int64_t window_ = 50;     // released launchers: 50 to 100
  bool prior_required_ = false;  // rows whose method is the value model
  EstimateKnobs estimate_;       // prior_success 0.5 is shared: a new prompt starts in the middle
  // "about 6 bins" were best in the paper's sweeps
  std::vector<double> inner_edges_ = {1.0 / 6, 2.0 / 6, 3.0 / 6, 4.0 / 6, 5.0 / 6};
  double margin_ = 0.03;           // hysteresis of the released launchers
  bool exclude_extremes_ = false;  // as two of the released launchers do
  Signal signal_;
  ArmSignal arm_signal_;
  Control control_;
  BinResults latest_;
  std::vector<std::int32_t> latest_bins_;
  std::vector<GroupReport> heard_;
  SuccessEstimate success_;    // state
  PromptHistory history_;      // state
  DifficultyBins bins_;        // state
  std::vector<bool> touched_;  // state: prompts whose history or bin differs from the start

  PromptRows all_rows() const;
  std::vector<std::int32_t> bins_of(const std::vector<GroupReport>& reports) const;
  HistoryRow history_row(std::uint32_t prompt) const;
  void note_change(std::uint32_t prompt);
  std::vector<bool> changed_;                // prompts that changed since rows were taken ...
  std::vector<std::uint32_t> changed_list_;  // ... and the same as a list
};

}  // namespace rollcall::scheduling
