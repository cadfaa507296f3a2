// Remembers for each prompt whether its recent groups had a correct answer, in a shift register of
// bits.
#pragma once

#include "base/numbers/id.hpp"

#include <cstdint>
#include <vector>

namespace rollcall::scheduling {

/// Each prompt has 16 bytes: 112 outcome bits, the newest lowest (the released GDRO launchers
/// remember up to 100), 8 bits for the number of outcomes, and 8 bits in which DifficultyBins
/// stores its bin.
class PromptHistory {
 public:
  static constexpr int kLongest = 112;
  struct Entry {
    std::uint32_t low = 0, middle = 0, upper = 0;
    std::uint16_t high = 0;
    std::uint8_t length = 0, bin = 0;
  };
  static_assert(sizeof(Entry) == 16);

  PromptHistory() = default;
  PromptHistory(std::uint64_t prompts, int window) : entries_(prompts), window_(window) {}
  void add(PromptId prompt, bool any_correct);
  /// Number of remembered outcomes, at most the window.
  int seen(PromptId prompt) const { return entries_[prompt.value].length; }
  int passed(PromptId prompt) const;  ///< how many of the remembered groups held a correct answer
  std::uint64_t size() const { return entries_.size(); }
  Entry& entry(PromptId prompt) { return entries_[prompt.value]; }
  const Entry& entry(PromptId prompt) const { return entries_[prompt.value]; }
  void prefetch(PromptId prompt) const { __builtin_prefetch(&entries_[prompt.value], 1); }

 private:
  std::vector<Entry> entries_;
  int window_ = kLongest;
};

}  // namespace rollcall::scheduling
