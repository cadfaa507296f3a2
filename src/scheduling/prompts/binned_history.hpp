// The recent outcomes of every prompt, and the difficulty bins that follow from them.
#pragma once

#include "base/text/config.hpp"
#include "core/plan.hpp"
#include "scheduling/prompts/change_list.hpp"
#include "scheduling/prompts/difficulty_bins.hpp"
#include "scheduling/prompts/prompt_history.hpp"
#include "scheduling/prompts/prompt_map.hpp"
#include "scheduling/prompts/prompt_rows.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace rollcall::scheduling {

/// The bins of a step's groups.
struct StepBins {
  std::vector<std::int64_t> prompts{};  ///< [bins] number of groups in each
  std::vector<std::size_t> of{};        ///< [groups] bin of each
};

/// History and bins take memory for every prompt, so they are kept only if a piece asks for them
/// when it is constructed.
class BinnedHistory {
 public:
  BinnedHistory() = default;
  BinnedHistory(const BinnedHistory&) = delete;  // the bins point to the history
  BinnedHistory& operator=(const BinnedHistory&) = delete;

  void use_history() { uses_history_ = true; }
  void use_bins() { uses_history_ = uses_bins_ = true; }
  bool is_used() const { return uses_history_; }
  bool has_bins() const { return uses_bins_; }
  void bind(ConfigSchema& schema);

  using PassRate = std::function<double(PromptId)>;
  /// Begins without outcomes, after the knobs are set, and puts every prompt into the bin of its
  /// pass rate. Throws ConfigError for edges that do not ascend.
  void start(std::uint64_t prompts, const PassRate& pass_rate);
  /// Estimate of pass@k by eq. 10 (arXiv:2601.19280): the share of the prompt's remembered groups
  /// that held a correct answer; `otherwise` if no group is remembered.
  double pass_rate(PromptId prompt, double otherwise) const;
  const DifficultyBins& bins() const { return bins_; }
  StepBins step_bins(const std::vector<GroupPlan>& groups) const;
  /// [reports] The bin in which each report's prompt is now.
  std::vector<std::int32_t> bins_of(const std::vector<GroupReport>& reports) const;

  void prefetch(PromptId prompt) const;
  void prefetch_places(const std::vector<GroupReport>& reports) const;
  /// Adds the reports' outcomes and moves their prompts to the bins of their new pass rates. Notes
  /// in `changes` which prompts have a different row now.
  void learn(const std::vector<GroupReport>& reports, const PassRate& pass_rate,
             ChangeList& changes);

  /// Rows of all prompts that differ from the start, ascending.
  std::vector<HistoryRow> rows() const;
  /// Rows of these prompts. The list is empty if no history is kept.
  std::vector<HistoryRow> rows(const std::vector<std::uint32_t>& prompts) const;
  /// Loads saved rows, after start(). Throws StorageError when they do not fit.
  void load(const std::vector<HistoryRow>& rows);
  /// Loads the rows of a state that was saved with other prompts. Histories and bins stay with
  /// their prompts, and the members of a bin get a new order.
  void load_changed(const std::vector<HistoryRow>& rows, const PromptMap& map);

 private:
  HistoryRow row(std::uint32_t prompt) const;

  bool uses_history_ = false, uses_bins_ = false;
  std::int64_t window_ = 50;  // groups; released launchers remember 50 to 100
  // "about 6 bins" were best in the paper's sweeps
  std::vector<double> inner_edges_ = {1.0 / 6, 2.0 / 6, 3.0 / 6, 4.0 / 6, 5.0 / 6};
  double margin_ = 0.03;           // hysteresis of the released launchers
  bool exclude_extremes_ = false;  // as two of the released launchers do
  PromptHistory history_;          // saved state
  DifficultyBins bins_;            // saved state
  std::vector<bool> touched_;  // saved state: [prompts] whose history or bin differs from the start
};

}  // namespace rollcall::scheduling
