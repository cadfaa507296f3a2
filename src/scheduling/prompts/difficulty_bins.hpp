// The online difficulty classifier of GDRO: bins of the estimated pass rate, with hysteresis, and
// the members of each bin.
#pragma once

#include "base/numbers/id.hpp"
#include "scheduling/prompts/prompt_history.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace rollcall::scheduling {

/// Bin b holds estimates in [edge_b, edge_{b+1}); the last bin includes its upper edge
/// (arXiv:2601.19280, eq. 11). A prompt leaves its bin only when its estimate is past the edge by
/// at least the margin. If extremes are excluded, estimates of exactly 0 and 1 go to an extra, last
/// bin without a margin. Members are dense 32-bit ids: drawing one and moving one cost O(1). They
/// are stored in blocks, so that a growing list is never copied. A copy would slow down a step and
/// need memory for two lists.
class DifficultyBins {
 public:
  struct Place {
    std::uint32_t prompt = 0;
    std::uint8_t bin = 0;
    std::uint32_t slot = 0;
  };
  DifficultyBins() = default;
  /// `edges`: 0 = a_0 < ... < a_B = 1. `where` stores each prompt's bin and must outlive this
  /// object. The caller then places every prompt once, in ascending order.
  DifficultyBins(std::vector<double> edges, double margin, bool exclude_extremes,
                 PromptHistory& where);
  std::size_t size() const { return members_.size(); }
  std::int32_t of(PromptId prompt) const;
  void place(PromptId prompt, double estimate);  ///< at the start, without hysteresis
  /// The prompt that moved, and the one that took its slot.
  using Moved = std::optional<std::array<std::uint32_t, 2>>;
  Moved update(PromptId prompt, double estimate);  ///< by a new estimate, with hysteresis; returns
                                                   ///< the prompts whose places have changed
  Moved put(PromptId prompt, std::int32_t bin);    ///< moves the prompt into bin `bin`
  std::uint32_t slot(PromptId prompt) const { return slot_[prompt.value]; }
  void prefetch(PromptId prompt) const { __builtin_prefetch(&slot_[prompt.value], 1); }
  void prefetch_place(PromptId prompt) const {
    __builtin_prefetch(&members_[std::size_t(of(prompt))][slot_[prompt.value]], 1);
  }  ///< reads what prefetch() fetches
  /// Moves these prompts from the start to their saved places. Returns false, with an unspecified
  /// state, when the places do not fit together.
  bool restore(const std::vector<Place>& places);
  const std::deque<std::uint32_t>& members(std::int32_t bin) const {
    return members_[std::size_t(bin)];
  }
  const std::vector<double>& edges() const { return edges_; }

 private:
  std::int32_t bin_of(double estimate) const;
  bool extreme(double estimate) const {
    return exclude_extremes_ && (estimate <= 0.0 || estimate >= 1.0);
  }
  std::array<std::uint32_t, 2> move(PromptId prompt, std::int32_t to);
  std::vector<double> edges_;
  double margin_ = 0.0;
  bool exclude_extremes_ = false;
  PromptHistory* history_ = nullptr;                // stores each prompt's bin
  std::vector<std::deque<std::uint32_t>> members_;  // [bins] ids of the bin's prompts
  std::vector<std::uint32_t> slot_;                 // [prompts] place in its bin's list
};

}  // namespace rollcall::scheduling
