// The online difficulty classifier of GDRO: bins over the estimated pass rate, with hysteresis, and
// the members of each bin.
#pragma once

#include "base/id.hpp"
#include "scheduling/prompts/prompt_history.hpp"

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace rollcall::scheduling {

/// Bin b holds estimates in [edge_b, edge_{b+1}), the last one its upper edge too
/// (arXiv:2601.19280, eq. 11). A prompt leaves its bin only when its estimate lies the margin past
/// the edge, or further. Where extremes are excluded, estimates of exactly 0 and 1 have one more
/// bin, the last, without a margin. Members are dense 32-bit ids: drawing one, and moving one, cost
/// O(1). They stand in blocks, so a list that grows is never copied: no step is slow because of it,
/// and no moment needs the memory of two lists.
class DifficultyBins {
 public:
  struct Place {
    std::uint32_t prompt = 0;
    std::uint8_t bin = 0;
    std::uint32_t slot = 0;
  };
  DifficultyBins() = default;
  /// `edges`: 0 = a_0 < ... < a_B = 1. `where` keeps each prompt's bin and must outlive this
  /// object; every prompt is then placed once, in ascending order.
  DifficultyBins(std::vector<double> edges, double margin, bool exclude_extremes,
                 PromptHistory& where);
  std::size_t size() const { return members_.size(); }
  std::int32_t of(PromptId prompt) const;
  void place(PromptId prompt, double estimate);  ///< without hysteresis: the start
  /// The prompt that moved, and the one that took its slot.
  using Moved = std::optional<std::array<std::uint32_t, 2>>;
  Moved update(PromptId prompt, double estimate);  ///< with it; whose places have changed, if any
  Moved put(PromptId prompt, std::int32_t bin);    ///< into a bin by name
  std::uint32_t slot(PromptId prompt) const { return slot_[prompt.value]; }
  void prefetch(PromptId prompt) const { __builtin_prefetch(&slot_[prompt.value], 1); }
  void prefetch_place(PromptId prompt) const {
    __builtin_prefetch(&members_[std::size_t(of(prompt))][slot_[prompt.value]], 1);
  }  ///< reads what prefetch() fetches
  /// Puts the named prompts where they were saved, over the start. False (and an unspecified state)
  /// when the places do not fit together.
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
  PromptHistory* history_ = nullptr;                // keeps each prompt's bin
  std::vector<std::deque<std::uint32_t>> members_;  // [bins] ids
  std::vector<std::uint32_t> slot_;                 // [prompts] place in its bin's list
};

}  // namespace rollcall::scheduling
